package expr

import (
	"maps"
	"slices"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// function is an operator that only looks at the values of its arguments.
type function struct {
	least, most int // number of arguments; most < 0 for any number
	call        func(c *Evaluation, args []value.Value) (value.Value, error)
}

// functions are the operators with arguments by position. The tables are put
// together from one for each topic.
var functions = merged(
	arithmeticFunctions, mathFunctions, comparisonFunctions, stringFunctions, arrayFunctions, setFunctions,
	objectFunctions, typeFunctions, conversionFunctions, bitFunctions,
)

// namedFunction is an operator with arguments by name. A missing required one,
// an unknown one and an argument that is not an object fail with their own codes.
type namedFunction struct {
	args                         []string
	required                     int // the first so many of args
	notObject, unknown, notGiven int32
	call                         func(c *Evaluation, args []value.Value) (value.Value, error)
	alone                        bool // {$op: x} is short for {$op: {first: x}}
	check                        func(arg value.Value) error
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
	args []Expression
	call func(c *Evaluation, args []value.Value) (value.Value, error)
	// ends is one of endings; nil where all arguments are needed.
	ends  func(args []value.Value) bool
	least int // how many arguments there are at least
}

func (e *callExpression) Eval(c *Evaluation) (value.Value, error) {
	var room [4]value.Value
	args := room[:0]
	size, held := 0, 0
	defer func() { c.Meter.Release(int64(held)) }()
	for _, a := range e.args {
		if a == nil {
			args = append(args, value.Absent)
			continue
		}
		v, err := a.Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		args, size = append(args, v), size+len(v.Value)
		if more := size - held; more > largeArguments {
			held = size
			if err := c.Meter.Hold(more); err != nil {
				return value.Value{}, err
			}
		}
		if e.ends != nil && e.ends(args) {
			for len(args) < e.least {
				args = append(args, value.Int32(0)) // nobody looks at it
			}
			break
		}
	}
	if err := c.Meter.Handle(size); err != nil {
		return value.Value{}, err
	}
	v, err := e.call(c, args)
	if err == nil {
		err = checkSize(len(v.Value))
	}
	if err == nil {
		err = c.Meter.Handle(len(v.Value)) // the call stops when the work ends
	}
	return v, err
}

// largeArguments count to the memory of the command while a call has them.
const largeArguments = 1 << 20

// maxValueSize is how large a value may get between operators.
const maxValueSize = 64 << 20

func checkSize(n int) error {
	if n > maxValueSize {
		return servererr.Of(13548, "BufBuilder attempted to grow() to %d bytes, past the 64MB limit.", n)
	}
	return nil
}

func (c *Compiler) call(name string, f function, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.arguments(name, f.least, f.most, arg, sc)
	if err != nil {
		return nil, err
	}
	of := func(args []Expression) *callExpression {
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

func checkConstants(name string, args []Expression, sc *Scope) error {
	if check := constantChecks[name]; check != nil {
		return sc.constantFails(check(args))
	}
	return nil
}

// arguments compiles a list of arguments; what is not an array is the only one.
func (c *Compiler) arguments(name string, least, most int, arg value.Value, sc *Scope) ([]Expression, error) {
	var args []Expression
	var err error
	if value.IsArray(arg) && name != "$toHashedIndexKey" { // that takes a list for its operand
		args, err = c.List(arg, sc)
	} else {
		args = make([]Expression, 1)
		args[0], err = c.Compile(arg, sc)
	}
	if err != nil {
		return nil, err
	}
	n := len(args)
	switch {
	case n >= least && (most < 0 || n <= most):
		return args, nil
	case name == "$setEquals":
		return nil, servererr.Of(17045, "$setEquals needs at least two arguments had: %d", n)
	case least == most:
		return nil, servererr.Of(16020, "Expression %s takes exactly %d arguments. %d were passed in.", name, least, n)
	case most < 0:
		return nil, servererr.Of(16020, "Expression %s takes at least %d arguments. %d were passed in.", name, least, n)
	}
	return nil, servererr.Of(28667, "Expression %s takes at least %d arguments, and at most %d, but %d were passed in.",
		name,
		least, most, n)
}

func (c *Compiler) callNamed(name string, f namedFunction, arg value.Value, sc *Scope) (Expression, error) {
	if f.check != nil {
		if err := f.check(arg); err != nil {
			return nil, err
		}
	}
	if f.alone && (!value.IsObject(arg) || document.IsExpression(arg.Value)) {
		if value.IsArray(arg) {
			list := document.Items(arg)
			if len(list) != 1 {
				return nil, servererr.Of(40536, "%s accepts exactly one argument if given an array, but was given %d", name,
					len(list))
			}
			arg = list[0]
		}
		e, err := c.Compile(arg, sc)
		if err != nil {
			return nil, err
		}
		args := make([]Expression, len(f.args))
		args[0] = e
		return c.folded(&callExpression{args: args, call: f.call}, args, sc)
	}
	if !value.IsObject(arg) {
		return nil, servererr.Of(f.notObject, "%s requires an object as an argument, found: %s", name, value.TypeName(arg))
	}
	names := sc.Language.arguments(name, f.args)
	args := make([]Expression, len(names))
	for key, v := range document.Fields(arg.Value) {
		i := slices.Index(names, string(key))
		if i < 0 {
			return nil, servererr.Of(f.unknown, "%s found an unknown argument: %s", name, key)
		}
		e, err := c.Compile(v, sc)
		if err != nil {
			return nil, err
		}
		args[i] = e
	}
	for i := range f.required {
		if args[i] == nil {
			return nil, servererr.Of(f.notGiven, "%s requires '%s' to be specified", name, f.args[i])
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
	names = slices.AppendSeq(names, maps.Keys((&Compiler{}).specialForms()))
	slices.Sort(names)
	return slices.Compact(names)
}
