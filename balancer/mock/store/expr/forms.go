package expr

import (
	"maps"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// ExpressionFunc is an expression implemented by a closure.
type ExpressionFunc func(c *Evaluation) (value.Value, error)

// Eval calls the function.
func (f ExpressionFunc) Eval(c *Evaluation) (value.Value, error) {
	v, err := f(c)
	if err == nil {
		err = c.Meter.Charge(1) // loops stop when the meter ends
	}
	return v, err
}

// rejectJavaScript rejects operators that need JavaScript, with the error of a server whose JavaScript
// engine is disabled.
func rejectJavaScript(string, value.Value, *Scope) (Expression, error) {
	return nil, servererr.NewCode(31264, "Cannot run server-side javascript without the javascript engine enabled")
}

// specialForms returns the operators of a language that do not simply evaluate all their arguments: they
// choose which arguments to evaluate, bind variables, or read a part of their specification literally.
func (c *Compiler) specialForms(l Language) map[string]operatorCompiler {
	forms := map[string]operatorCompiler{
		"$literal":      func(_ string, arg value.Value, _ *Scope) (Expression, error) { return Literal(arg), nil },
		"$const":        func(_ string, arg value.Value, _ *Scope) (Expression, error) { return Literal(arg), nil },
		"$expr":         func(_ string, arg value.Value, sc *Scope) (Expression, error) { return c.Compile(arg, sc) },
		"$and":          c.compileJunction,
		"$or":           c.compileJunction,
		"$not":          c.compileNot,
		"$cond":         c.compileCond,
		"$ifNull":       c.compileIfNull,
		"$switch":       c.compileSwitch,
		"$let":          c.compileLet,
		"$map":          c.compileMap,
		"$filter":       c.compileFilter,
		"$reduce":       c.compileReduce,
		"$sortArray":    c.compileSortArray,
		"$getField":     c.compileGetField,
		"$setField":     c.compileSetField,
		"$unsetField":   c.compileSetField,
		"$zip":          c.compileZip,
		"$rand":         compileRand,
		"$function":     rejectJavaScript,
		"$regexMatch":   c.compileRegex,
		"$regexFind":    c.compileRegex,
		"$regexFindAll": c.compileRegex,
	}
	for _, name := range []string{"$median", "$percentile"} {
		forms[name] = c.compileQuantileExpression
	}
	for name := range expressionAccumulators {
		forms[name] = c.compileAccumulate
	}
	for name := range nAccumulators {
		forms[name] = c.compileAccumulateN
	}
	if l.CurrentDate {
		forms["$currentDate"] = formWithoutArguments(func(c *Evaluation) value.Value {
			return value.Date(c.now().UnixMilli())
		})
	}
	if l.Operators83 {
		maps.Copy(forms, c.forms83())
	}
	return forms
}

// compileJunction compiles $and and $or. They stop at the first operand that determines the result.
func (c *Compiler) compileJunction(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.compileArguments(name, 0, -1, arg, sc)
	if err != nil {
		return nil, err
	}
	stopAt := name == "$or"
	for i := range args { // a deciding constant decides in any position
		if v, ok := constantAt(args, i); ok && !c.noFolding && value.IsTruthy(v) == stopAt {
			return Literal(value.Bool(stopAt)), nil
		}
	}
	return c.fold(ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		for _, a := range args {
			v, err := a.Eval(c)
			if err != nil {
				return value.Value{}, err
			}
			if value.IsTruthy(v) == stopAt {
				return value.Bool(stopAt), nil
			}
		}
		return value.Bool(!stopAt), nil
	}), args, sc)
}

func (c *Compiler) compileNot(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.compileArguments(name, 1, 1, arg, sc)
	if err != nil {
		return nil, err
	}
	return c.fold(ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		v, err := args[0].Eval(c)
		return value.Bool(!value.IsTruthy(v)), err
	}), args, sc)
}

// compileCond compiles $cond, {if, then, else} or an array of three.
func (c *Compiler) compileCond(name string, arg value.Value, sc *Scope) (Expression, error) {
	var args []Expression
	if value.IsObject(arg) {
		named, err := c.compileNamedArguments(name, arg, sc, NamedArgs{
			Args: []string{"if", "then", "else"}, UnknownCode: 17083, MissingCodes: []int32{17080, 17081, 17082},
		})
		if err != nil {
			return nil, err
		}
		args = named
	} else {
		list, err := c.compileArguments(name, 3, 3, arg, sc)
		if err != nil {
			return nil, err
		}
		args = list
	}
	if v, ok := constantAt(args, 0); ok && !c.noFolding {
		if value.IsTruthy(v) {
			return args[1], nil
		}
		return args[2], nil
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		v, err := args[0].Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		if value.IsTruthy(v) {
			return args[1].Eval(c)
		}
		return args[2].Eval(c)
	}), nil
}

// NamedArgs says which arguments an operator accepts and which codes its errors have.
type NamedArgs struct {
	Args          []string
	NotObjectCode int32
	UnknownCode   int32
	MissingCodes  []int32 // by argument; 0 or beyond the end for an optional one
}

// compileNamedArguments compiles named arguments; absent ones are nil.
func (c *Compiler) compileNamedArguments(
	name string,
	arg value.Value,
	sc *Scope,
	spec NamedArgs,
) ([]Expression, error) {
	raw, err := ReadNamedArgs(name, arg, spec)
	if err != nil {
		return nil, err
	}
	args := make([]Expression, len(raw))
	for i, v := range raw {
		if value.IsOmittedArgument(v) {
			continue
		}
		if args[i], err = c.Compile(v, sc); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// ReadNamedArgs reads named arguments without compiling them.
func ReadNamedArgs(name string, arg value.Value, spec NamedArgs) ([]value.Value, error) {
	if !value.IsObject(arg) {
		return nil, servererr.NewCode(spec.NotObjectCode, "%s only supports an object as its argument, not %s", name,
			value.TypeName(arg))
	}
	out := make([]value.Value, len(spec.Args))
	for i := range out {
		out[i] = value.OmittedArgument
	}
next:
	for key, v := range document.Fields(arg.Value) {
		for i, a := range spec.Args {
			if a == string(key) {
				out[i] = v
				continue next
			}
		}
		return nil, servererr.NewCode(spec.UnknownCode, "Unrecognized parameter to %s: %s", name, key)
	}
	for i, code := range spec.MissingCodes {
		if code != 0 && value.IsOmittedArgument(out[i]) {
			return nil, servererr.NewCode(code, "Missing '%s' parameter to %s", spec.Args[i], name)
		}
	}
	return out, nil
}

func (c *Compiler) compileIfNull(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.compileArguments(name, 0, -1, arg, sc)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, servererr.NewCode(1257300, "$ifNull needs at least two arguments, had: %d", len(args))
	}
	if v, ok := constantAt(args, 0); ok && !c.noFolding && !value.IsNullish(v) {
		return args[0], nil
	}
	return c.fold(ExpressionFunc(func(c *Evaluation) (v value.Value, err error) {
		for i, a := range args {
			v, err = a.Eval(c)
			if err != nil || i == len(args)-1 || !value.IsNullish(v) {
				break
			}
		}
		return v, err
	}), args, sc)
}
