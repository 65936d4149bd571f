package expr

import (
	"maps"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// Func is an expression made of a closure.
type Func func(c *Evaluation) (value.Value, error)

// Eval calls the function.
func (f Func) Eval(c *Evaluation) (value.Value, error) {
	v, err := f(c)
	if err == nil {
		err = c.Meter.Step(1) // loops stop when the work ends
	}
	return v, err
}

// noJavaScript refuses what runs in the server's own JavaScript, as a server
// does where that is switched off.
func noJavaScript(string, value.Value, *Scope) (Expression, error) {
	return nil, servererr.Of(31264, "Cannot run server-side javascript without the javascript engine enabled")
}

// specialForms returns the operators that do not simply look at all their
// arguments: they choose which to evaluate, bind variables, or read a part of
// their specification as it stands.
func (c *Compiler) specialForms() map[string]operatorCompiler {
	forms := map[string]operatorCompiler{
		"$literal": func(_ string, arg value.Value, _ *Scope) (Expression, error) { return Literal(arg), nil },
		"$const":   func(_ string, arg value.Value, _ *Scope) (Expression, error) { return Literal(arg), nil },
		"$expr":    func(_ string, arg value.Value, sc *Scope) (Expression, error) { return c.Compile(arg, sc) },
		"$and":     c.junction, "$or": c.junction, "$not": c.negation,
		"$cond": c.cond, "$ifNull": c.ifNull, "$switch": c.switchForm,
		"$let": c.let, "$map": c.mapForm, "$filter": c.filter, "$reduce": c.reduce,
		"$sortArray": c.sortArray, "$getField": c.getField, "$setField": c.setField, "$unsetField": c.setField,
		"$zip":        c.zip,
		"$rand":       compileRand,
		"$function":   noJavaScript,
		"$regexMatch": c.regex, "$regexFind": c.regex, "$regexFindAll": c.regex,
	}
	for _, name := range []string{"$median", "$percentile"} {
		forms[name] = c.quantileOf
	}
	for name := range listAccumulators {
		forms[name] = c.accumulate
	}
	for name := range countAccumulators {
		forms[name] = c.accumulateN
	}
	maps.Copy(forms, c.newForms())
	return forms
}

// junction is $and and $or: they stop at the first operand that decides.
func (c *Compiler) junction(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.arguments(name, 0, -1, arg, sc)
	if err != nil {
		return nil, err
	}
	stopAt := name == "$or"
	for i := range args { // one that decides does so wherever it stands
		if v, ok := constantAt(args, i); ok && !c.asIs && value.Truthy(v) == stopAt {
			return Literal(value.Bool(stopAt)), nil
		}
	}
	return c.folded(Func(func(c *Evaluation) (value.Value, error) {
		for _, a := range args {
			v, err := a.Eval(c)
			if err != nil {
				return value.Value{}, err
			}
			if value.Truthy(v) == stopAt {
				return value.Bool(stopAt), nil
			}
		}
		return value.Bool(!stopAt), nil
	}), args, sc)
}

func (c *Compiler) negation(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.arguments(name, 1, 1, arg, sc)
	if err != nil {
		return nil, err
	}
	return c.folded(Func(func(c *Evaluation) (value.Value, error) {
		v, err := args[0].Eval(c)
		return value.Bool(!value.Truthy(v)), err
	}), args, sc)
}

// cond takes {if, then, else} or a list of three.
func (c *Compiler) cond(name string, arg value.Value, sc *Scope) (Expression, error) {
	var args []Expression
	if value.IsObject(arg) {
		named, err := c.named(name, arg, sc, Named{
			Args: []string{"if", "then", "else"}, Unknown: 17083, Missing: []int32{17080, 17081, 17082},
		})
		if err != nil {
			return nil, err
		}
		args = named
	} else {
		list, err := c.arguments(name, 3, 3, arg, sc)
		if err != nil {
			return nil, err
		}
		args = list
	}
	if v, ok := constantAt(args, 0); ok && !c.asIs {
		if value.Truthy(v) {
			return args[1], nil
		}
		return args[2], nil
	}
	return Func(func(c *Evaluation) (value.Value, error) {
		v, err := args[0].Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		if value.Truthy(v) {
			return args[1].Eval(c)
		}
		return args[2].Eval(c)
	}), nil
}

// Named says which arguments a form takes and which codes its errors have.
type Named struct {
	Args      []string
	NotObject int32
	Unknown   int32
	Missing   []int32 // for each argument; beyond its end and for 0 optional
}

// named compiles the arguments of a form; those not given are nil.
func (c *Compiler) named(name string, arg value.Value, sc *Scope, spec Named) ([]Expression, error) {
	raw, err := NamedValues(name, arg, spec)
	if err != nil {
		return nil, err
	}
	args := make([]Expression, len(raw))
	for i, v := range raw {
		if value.IsAbsent(v) {
			continue
		}
		if args[i], err = c.Compile(v, sc); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// NamedValues reads the arguments of a form without compiling them.
func NamedValues(name string, arg value.Value, spec Named) ([]value.Value, error) {
	if !value.IsObject(arg) {
		return nil, servererr.Of(spec.NotObject, "%s only supports an object as its argument, not %s", name,
			value.TypeName(arg))
	}
	out := make([]value.Value, len(spec.Args))
	for i := range out {
		out[i] = value.Absent
	}
next:
	for key, v := range document.Fields(arg.Value) {
		for i, a := range spec.Args {
			if a == string(key) {
				out[i] = v
				continue next
			}
		}
		return nil, servererr.Of(spec.Unknown, "Unrecognized parameter to %s: %s", name, key)
	}
	for i, code := range spec.Missing {
		if code != 0 && value.IsAbsent(out[i]) {
			return nil, servererr.Of(code, "Missing '%s' parameter to %s", spec.Args[i], name)
		}
	}
	return out, nil
}

func (c *Compiler) ifNull(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.arguments(name, 0, -1, arg, sc)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, servererr.Of(1257300, "$ifNull needs at least two arguments, had: %d", len(args))
	}
	if v, ok := constantAt(args, 0); ok && !c.asIs && !value.IsNullish(v) {
		return args[0], nil
	}
	return c.folded(Func(func(c *Evaluation) (v value.Value, err error) {
		for i, a := range args {
			v, err = a.Eval(c)
			if err != nil || i == len(args)-1 || !value.IsNullish(v) {
				break
			}
		}
		return v, err
	}), args, sc)
}
