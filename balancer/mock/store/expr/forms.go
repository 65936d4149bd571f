package store

// evalFunc is an expression made of a closure.
type evalFunc func(c *evaluation) (value, error)

func (f evalFunc) eval(c *evaluation) (value, error) {
	v, err := f(c)
	if err == nil {
		err = c.work.step(1) // loops stop when the work ends
	}
	return v, err
}

// noJavaScript refuses what runs in the server's own JavaScript, as a server
// does where that is switched off.
func noJavaScript(string, value, *scope) (expression, error) {
	return nil, fail(31264, "Cannot run server-side javascript without the javascript engine enabled")
}

// specialForms returns the operators that do not simply look at all their
// arguments: they choose which to evaluate, bind variables, or read a part of
// their specification as it stands.
func (c *exprCompiler) specialForms() map[string]operatorCompiler {
	forms := map[string]operatorCompiler{
		"$literal": func(_ string, arg value, _ *scope) (expression, error) { return literal(arg), nil },
		"$const":   func(_ string, arg value, _ *scope) (expression, error) { return literal(arg), nil },
		"$expr":    func(_ string, arg value, sc *scope) (expression, error) { return c.compile(arg, sc) },
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
	return forms
}

// junction is $and and $or: they stop at the first operand that decides.
func (c *exprCompiler) junction(name string, arg value, sc *scope) (expression, error) {
	args, err := c.arguments(name, 0, -1, arg, sc)
	if err != nil {
		return nil, err
	}
	stopAt := name == "$or"
	for i := range args { // one that decides does so wherever it stands
		if v, ok := constantAt(args, i); ok && !c.asIs && truthy(v) == stopAt {
			return literal(boolValue(stopAt)), nil
		}
	}
	return c.folded(evalFunc(func(c *evaluation) (value, error) {
		for _, a := range args {
			v, err := a.eval(c)
			if err != nil {
				return value{}, err
			}
			if truthy(v) == stopAt {
				return boolValue(stopAt), nil
			}
		}
		return boolValue(!stopAt), nil
	}), args, sc)
}

func (c *exprCompiler) negation(name string, arg value, sc *scope) (expression, error) {
	args, err := c.arguments(name, 1, 1, arg, sc)
	if err != nil {
		return nil, err
	}
	return c.folded(evalFunc(func(c *evaluation) (value, error) {
		v, err := args[0].eval(c)
		return boolValue(!truthy(v)), err
	}), args, sc)
}

// cond takes {if, then, else} or a list of three.
func (c *exprCompiler) cond(name string, arg value, sc *scope) (expression, error) {
	var args []expression
	if isObject(arg) {
		named, err := c.named(name, arg, sc, namedSpec{
			args: []string{"if", "then", "else"}, unknown: 17083, missing: []int32{17080, 17081, 17082},
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
		if truthy(v) {
			return args[1], nil
		}
		return args[2], nil
	}
	return evalFunc(func(c *evaluation) (value, error) {
		v, err := args[0].eval(c)
		if err != nil {
			return value{}, err
		}
		if truthy(v) {
			return args[1].eval(c)
		}
		return args[2].eval(c)
	}), nil
}

// namedSpec says which arguments a form takes and which codes its errors have.
type namedSpec struct {
	args      []string
	notObject int32
	unknown   int32
	missing   []int32 // for each argument; beyond its end and for 0 optional
}

// named compiles the arguments of a form; those not given are nil.
func (c *exprCompiler) named(name string, arg value, sc *scope, spec namedSpec) ([]expression, error) {
	raw, err := namedValues(name, arg, spec)
	if err != nil {
		return nil, err
	}
	args := make([]expression, len(raw))
	for i, v := range raw {
		if isAbsent(v) {
			continue
		}
		if args[i], err = c.compile(v, sc); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// namedValues reads the arguments of a form without compiling them.
func namedValues(name string, arg value, spec namedSpec) ([]value, error) {
	if !isObject(arg) {
		return nil, fail(spec.notObject, "%s only supports an object as its argument, not %s", name, typeName(arg))
	}
	out := make([]value, len(spec.args))
	for i := range out {
		out[i] = absent
	}
next:
	for key, v := range fields(arg.Value) {
		for i, a := range spec.args {
			if a == string(key) {
				out[i] = v
				continue next
			}
		}
		return nil, fail(spec.unknown, "Unrecognized parameter to %s: %s", name, key)
	}
	for i, code := range spec.missing {
		if code != 0 && isAbsent(out[i]) {
			return nil, fail(code, "Missing '%s' parameter to %s", spec.args[i], name)
		}
	}
	return out, nil
}

func (c *exprCompiler) ifNull(name string, arg value, sc *scope) (expression, error) {
	args, err := c.arguments(name, 0, -1, arg, sc)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, fail(1257300, "$ifNull needs at least two arguments, had: %d", len(args))
	}
	if v, ok := constantAt(args, 0); ok && !c.asIs && !isNullish(v) {
		return args[0], nil
	}
	return c.folded(evalFunc(func(c *evaluation) (v value, err error) {
		for i, a := range args {
			v, err = a.eval(c)
			if err != nil || i == len(args)-1 || !isNullish(v) {
				break
			}
		}
		return v, err
	}), args, sc)
}
