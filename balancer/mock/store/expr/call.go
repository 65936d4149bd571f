package store

import (
	"maps"
	"slices"
)

// function is an operator that only looks at the values of its arguments.
type function struct {
	least, most int // number of arguments; most < 0 for any number
	call        func(c *evaluation, args []value) (value, error)
}

// functions are the operators with arguments by position. The tables are put
// together from one for each topic.
var functions = merged(
	arithmeticFunctions, mathFunctions, comparisonFunctions, stringFunctions, arrayFunctions, setFunctions,
	objectFunctions, typeFunctions, conversionFunctions, bitFunctions,
)

// namedFunction is an operator with arguments by name. A missing required one,
// an unknown one and an argument that is no object fail with their own codes.
type namedFunction struct {
	args                         []string
	required                     int // the first so many of args
	notObject, unknown, notGiven int32
	call                         func(c *evaluation, args []value) (value, error)
	alone                        bool // {$op: x} is short for {$op: {first: x}}
	check                        func(arg value) error
}

var namedFunctions = merged(namedStringFunctions, namedConversionFunctions, namedDateFunctions)

func merged[V any](tables ...map[string]V) map[string]V {
	all := map[string]V{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

type callExpression struct {
	name string
	args []expression
	call func(c *evaluation, args []value) (value, error)
	// ends is one of endings; nil where all arguments are needed.
	ends  func(args []value) bool
	least int // how many arguments there are at least
}

func (e *callExpression) eval(c *evaluation) (value, error) {
	var room [4]value
	args := room[:0]
	size, held := 0, 0
	defer func() { c.work.release(int64(held)) }()
	for _, a := range e.args {
		if a == nil {
			args = append(args, absent)
			continue
		}
		v, err := a.eval(c)
		if err != nil {
			return value{}, err
		}
		args, size = append(args, v), size+len(v.Value)
		if more := size - held; more > largeArguments {
			held = size
			if err := c.work.hold(more); err != nil {
				return value{}, err
			}
		}
		if e.ends != nil && e.ends(args) {
			for len(args) < e.least {
				args = append(args, int32Value(0)) // nobody looks at it
			}
			break
		}
	}
	if err := c.work.handle(size); err != nil {
		return value{}, err
	}
	v, err := e.call(c, args)
	if err == nil {
		err = checkSize(len(v.Value))
	}
	if err == nil {
		err = c.work.handle(len(v.Value)) // the call stops when the work ends
	}
	return v, err
}

// largeArguments count to the memory of the command while a call has them.
const largeArguments = 1 << 20

// maxValueSize is how large a value may get between operators.
const maxValueSize = 64 << 20

func checkSize(n int) error {
	if n > maxValueSize {
		return fail(13548, "BufBuilder attempted to grow() to %d bytes, past the 64MB limit.", n)
	}
	return nil
}

func (c *exprCompiler) call(name string, f function, arg value, sc *scope) (expression, error) {
	args, err := c.arguments(name, f.least, f.most, arg, sc)
	if err != nil {
		return nil, err
	}
	of := func(args []expression) *callExpression {
		e := &callExpression{name: name, args: args, call: f.call, least: f.least}
		if len(args) > 1 { // a single one, in $mergeObjects, may be a list
			e.ends, e.least = endings[name], max(f.least, 2)
		}
		return e
	}
	if c.asIs {
		return of(args), nil
	}
	if args, err = c.regrouped(name, args, of, sc); err != nil {
		return nil, err
	}
	if err := checkConstants(name, args, sc); err != nil {
		return nil, err
	}
	return c.folded(of(args), args, sc)
}

func checkConstants(name string, args []expression, sc *scope) error {
	if check := constantChecks[name]; check != nil {
		return sc.constantFails(check(args))
	}
	return nil
}

// arguments compiles a list of arguments; what is not an array is the only one.
func (c *exprCompiler) arguments(name string, least, most int, arg value, sc *scope) ([]expression, error) {
	var args []expression
	var err error
	if isArray(arg) && name != "$toHashedIndexKey" { // that takes a list for its operand
		args, err = c.list(arg, sc)
	} else {
		args = make([]expression, 1)
		args[0], err = c.compile(arg, sc)
	}
	if err != nil {
		return nil, err
	}
	n := len(args)
	switch {
	case n >= least && (most < 0 || n <= most):
		return args, nil
	case name == "$setEquals":
		return nil, fail(17045, "$setEquals needs at least two arguments had: %d", n)
	case least == most:
		return nil, fail(16020, "Expression %s takes exactly %d arguments. %d were passed in.", name, least, n)
	case most < 0:
		return nil, fail(16020, "Expression %s takes at least %d arguments. %d were passed in.", name, least, n)
	}
	return nil, fail(28667, "Expression %s takes at least %d arguments, and at most %d, but %d were passed in.", name,
		least, most, n)
}

func (c *exprCompiler) callNamed(name string, f namedFunction, arg value, sc *scope) (expression, error) {
	if f.check != nil {
		if err := f.check(arg); err != nil {
			return nil, err
		}
	}
	if f.alone && (!isObject(arg) || isExpressionDoc(arg.Value)) {
		if isArray(arg) {
			list := items(arg)
			if len(list) != 1 {
				return nil, fail(40536, "%s accepts exactly one argument if given an array, but was given %d", name, len(list))
			}
			arg = list[0]
		}
		e, err := c.compile(arg, sc)
		if err != nil {
			return nil, err
		}
		args := make([]expression, len(f.args))
		args[0] = e
		return c.folded(&callExpression{args: args, call: f.call}, args, sc)
	}
	if !isObject(arg) {
		return nil, fail(f.notObject, "%s requires an object as an argument, found: %s", name, typeName(arg))
	}
	args := make([]expression, len(f.args))
	for key, v := range fields(arg.Value) {
		i := slices.Index(f.args, string(key))
		if i < 0 {
			return nil, fail(f.unknown, "%s found an unknown argument: %s", name, key)
		}
		e, err := c.compile(v, sc)
		if err != nil {
			return nil, err
		}
		args[i] = e
	}
	for i := range f.required {
		if args[i] == nil {
			return nil, fail(f.notGiven, "%s requires '%s' to be specified", name, f.args[i])
		}
	}
	if !c.asIs {
		if err := checkConstants(name, args, sc); err != nil {
			return nil, err
		}
	}
	return c.folded(&callExpression{args: args, call: f.call}, args, sc)
}

// Operators lists the operators of expressions, in order.
func Operators() []string {
	names := slices.Collect(maps.Keys(functions))
	names = slices.AppendSeq(names, maps.Keys(namedFunctions))
	names = slices.AppendSeq(names, maps.Keys((&exprCompiler{}).specialForms()))
	slices.Sort(names)
	return slices.Compact(names)
}
