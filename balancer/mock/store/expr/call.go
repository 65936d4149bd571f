package expr

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// function is an operator whose result depends only on the values of its positional arguments.
type function struct {
	minArgs, maxArgs int // number of arguments; negative maxArgs for any number
	call             func(c *Evaluation, args []value.Value) (value.Value, error)
}

// functions are the operators with positional arguments, merged from one table for each topic.
var functions = mergeTables(
	arithmeticFunctions, mathFunctions, comparisonFunctions, stringFunctions, arrayFunctions, setFunctions,
	objectFunctions, typeFunctions, conversionFunctions, bitFunctions,
)

// namedFunction is an operator with named arguments. A missing required argument, an unknown argument
// and an argument that is not an object have their own error codes.
type namedFunction struct {
	args                                    []string
	required                                int // the number of args, from the first, that are required
	notObjectCode, unknownCode, missingCode int32
	call                                    func(c *Evaluation, args []value.Value) (value.Value, error)
	hasShortForm                            bool // {$op: x} is short for {$op: {first: x}}
	checkArg                                func(arg value.Value) error
}

var namedFunctions = mergeTables(namedStringFunctions, namedConversionFunctions, namedDateFunctions)

func mergeTables[V any](tables ...map[string]V) map[string]V {
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
	// shortCircuits is the operator's entry in shortCircuitByOperator; nil if all arguments are needed.
	shortCircuits func(args []value.Value) bool
	minArgs       int // the minimum number of arguments of call
	// deferredArgs are placeholders for onError and onNull, at their places among the arguments; nil for none. Such an
	// argument is evaluated only if call returns its placeholder.
	deferredArgs []value.Value
}

// deferredArgType is the type of a placeholder, whose content is the argument's index.
const deferredArgType bson.Type = 0xf1

func (e *callExpression) Eval(c *Evaluation) (value.Value, error) {
	var buf [4]value.Value
	args := buf[:0]
	size, charged := 0, 0
	defer func() { c.Meter.Release(int64(charged)) }()
	for i, a := range e.args {
		if a == nil {
			args = append(args, value.OmittedArgument)
			continue
		}
		if e.deferredArgs != nil && e.deferredArgs[i].Type == deferredArgType {
			args = append(args, e.deferredArgs[i])
			continue
		}
		v, err := a.Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		args, size = append(args, v), size+len(v.Value)
		if more := size - charged; more > minChargedArgumentBytes {
			charged = size
			if err := c.Meter.Hold(more); err != nil {
				return value.Value{}, err
			}
		}
		if e.shortCircuits != nil && e.shortCircuits(args) {
			for len(args) < e.minArgs {
				args = append(args, value.Int32(0)) // a placeholder that call does not use
			}
			break
		}
	}
	if err := c.Meter.ChargeBytes(size); err != nil {
		return value.Value{}, err
	}
	v, err := e.call(c, args)
	if err == nil && v.Type == deferredArgType {
		return e.args[v.Value[0]].Eval(c)
	}
	if err == nil {
		err = checkSize(len(v.Value))
	}
	if err == nil {
		err = c.Meter.ChargeBytes(len(v.Value)) // call stops early if the meter has ended
	}
	return v, err
}

// minChargedArgumentBytes is the size, in bytes, from which arguments are charged to the command's memory
// during a call.
const minChargedArgumentBytes = 1 << 20

// maxValueSize is the maximum size of an intermediate value.
const maxValueSize = 64 << 20

func checkSize(n int) error {
	if n > maxValueSize {
		return servererr.NewCode(13548, "BufBuilder attempted to grow() to %d bytes, past the 64MB limit.", n)
	}
	return nil
}

func (c *Compiler) compileCall(name string, f function, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.compileArguments(name, f.minArgs, f.maxArgs, arg, sc)
	if err != nil {
		return nil, err
	}
	newCall := func(args []Expression) *callExpression {
		e := &callExpression{name: name, args: args, call: f.call, minArgs: f.minArgs}
		if len(args) > 1 { // a single argument of $mergeObjects may be an array
			e.shortCircuits, e.minArgs = shortCircuitByOperator[name], max(f.minArgs, 2)
		}
		return e
	}
	if c.noFolding {
		return newCall(args), nil
	}
	if args, err = c.regroup(name, args, newCall, sc); err != nil {
		return nil, err
	}
	if err := checkConstants(name, args, sc); err != nil {
		return nil, err
	}
	return c.fold(newCall(args), args, sc)
}

func checkConstants(name string, args []Expression, sc *Scope) error {
	if check := constantChecks[name]; check != nil {
		return sc.reportConstantErr(check(args))
	}
	return nil
}

// compileArguments compiles an array of arguments. Any other value is a single argument.
func (c *Compiler) compileArguments(name string, minArgs, maxArgs int, arg value.Value, sc *Scope) ([]Expression,
	error) {
	var args []Expression
	var err error
	if value.IsArray(arg) && name != "$toHashedIndexKey" { // $toHashedIndexKey takes an array as its operand
		args, err = c.CompileList(arg, sc)
	} else {
		args = make([]Expression, 1)
		args[0], err = c.Compile(arg, sc)
	}
	if err != nil {
		return nil, err
	}
	n := len(args)
	switch {
	case n >= minArgs && (maxArgs < 0 || n <= maxArgs):
		return args, nil
	case name == "$setEquals":
		return nil, servererr.NewCode(17045, "$setEquals needs at least two arguments had: %d", n)
	case minArgs == maxArgs:
		return nil, servererr.NewCode(16020, "Expression %s takes exactly %d arguments. %d were passed in.", name, minArgs, n)
	case maxArgs < 0:
		return nil, servererr.NewCode(16020, "Expression %s takes at least %d arguments. %d were passed in.", name,
			minArgs, n)
	}
	return nil, servererr.NewCode(28667,
		"Expression %s takes at least %d arguments, and at most %d, but %d were passed in.", name, minArgs, maxArgs, n)
}

func (c *Compiler) compileNamedCall(name string, f namedFunction, arg value.Value, sc *Scope) (Expression, error) {
	if f.checkArg != nil {
		if err := f.checkArg(arg); err != nil {
			return nil, err
		}
	}
	if f.hasShortForm && (!value.IsObject(arg) || document.IsExpression(arg.Value)) {
		if value.IsArray(arg) {
			list := document.Items(arg)
			if len(list) != 1 {
				return nil, servererr.NewCode(40536, "%s accepts exactly one argument if given an array, but was given %d", name,
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
		return c.fold(&callExpression{args: args, call: f.call}, args, sc)
	}
	if !value.IsObject(arg) {
		return nil, servererr.NewCode(f.notObjectCode, "%s requires an object as an argument, found: %s", name,
			value.TypeName(arg))
	}
	names := sc.Language.argumentNames(name, f.args)
	args := make([]Expression, len(names))
	for key, v := range document.Fields(arg.Value) {
		i := slices.Index(names, string(key))
		if i < 0 {
			return nil, servererr.NewCode(f.unknownCode, "%s found an unknown argument: %s", name, key)
		}
		e, err := c.Compile(v, sc)
		if err != nil {
			return nil, err
		}
		args[i] = e
	}
	for i := range f.required {
		if args[i] == nil {
			return nil, servererr.NewCode(f.missingCode, "%s requires '%s' to be specified", name, f.args[i])
		}
	}
	if !c.noFolding {
		if err := checkConstants(name, args, sc); err != nil {
			return nil, err
		}
	}
	e := &callExpression{args: args, call: f.call}
	for i, name := range names {
		if args[i] != nil && (name == "onError" || name == "onNull") {
			if e.deferredArgs == nil {
				e.deferredArgs = make([]value.Value, len(args))
			}
			e.deferredArgs[i] = value.Value{Type: deferredArgType, Value: []byte{byte(i)}}
		}
	}
	return c.fold(e, args, sc)
}

// OperatorNames returns the sorted names of the expression operators.
func OperatorNames() []string {
	names := slices.Collect(maps.Keys(functions))
	names = slices.AppendSeq(names, maps.Keys(namedFunctions))
	names = slices.AppendSeq(names, maps.Keys((&Compiler{}).specialForms(Language{CurrentDate: true, Operators83: true})))
	slices.Sort(names)
	return slices.Compact(names)
}
