package store

var objectFunctions = map[string]function{
	"$mergeObjects": {0, -1, mergeObjects},
}

func mergeObjects(c *evaluation, args []value) (value, error) {
	if len(args) == 1 && isArray(args[0]) {
		args = c.work.items(args[0])
	}
	return gather(c.work, newMergedObject(), args)
}

// getField takes {field, input} or a field name alone, of the current document
// then.
func (c *exprCompiler) getField(name string, arg value, sc *scope) (expression, error) {
	raw := []value{arg, absent}
	if isObject(arg) && !isExpressionDoc(arg.Value) {
		var err error
		raw, err = namedValues(name, arg, namedSpec{args: []string{"field", "input"}, unknown: 3041701,
			missing: []int32{3041702, 3041703}})
		if err != nil {
			return nil, err
		}
	}
	key, err := c.fieldName(name, raw[0], sc, 5654600, 5654601, 3041704)
	if err != nil {
		return nil, err
	}
	var input expression = rootVariable{}
	if slot, ok := sc.slot("CURRENT"); ok {
		input = variable(slot)
	}
	if !isAbsent(raw[1]) {
		if input, err = c.untouched(raw[1], sc); err != nil {
			return nil, err
		}
	}
	return evalFunc(func(c *evaluation) (value, error) {
		k, err := key.eval(c)
		if err != nil {
			return value{}, err
		}
		if !isString(k) {
			return value{}, fail(3041704, "$getField requires 'field' to evaluate to type String, but got %s", typeName(k))
		}
		in, err := input.eval(c)
		switch {
		case err != nil:
			return value{}, err
		case isObject(in):
			return lookup(in.Value, textAt(k.Value)), nil
		case isNullish(in) && !isMissing(in):
			return nullValue(), nil
		}
		return value{}, nil
	}), nil
}

// fieldName compiles a field name, which may not be a path into the document
// but may be computed.
func (c *exprCompiler) fieldName(op string, v value, sc *scope, pathCode, _, typeCode int32) (expression, error) {
	e, err := c.compile(v, sc)
	if err != nil {
		return nil, err
	}
	if _, isPath := e.(pathExpression); isPath {
		return nil, fail(pathCode,
			"'%s' is a field path reference which is not allowed in this context. Did you mean {$literal: '%s'}?",
			textAt(v.Value), textAt(v.Value))
	}
	if l, ok := e.(literal); ok && !isString(value(l)) {
		return nil, fail(typeCode, "%s requires 'field' to evaluate to type String, but got %s", op, typeName(value(l)))
	}
	return e, nil
}

// setField is $setField and $unsetField.
func (c *exprCompiler) setField(name string, arg value, sc *scope) (expression, error) {
	spec := namedSpec{args: []string{"field", "input", "value"}, notObject: 4161100, unknown: 4161101,
		missing: []int32{4161102, 4161109, 4161103}}
	if name == "$unsetField" {
		spec.args, spec.missing = spec.args[:2], spec.missing[:2]
	}
	raw, err := namedValues(name, arg, spec)
	if err != nil {
		return nil, err
	}
	key, err := c.fieldName(name, raw[0], sc, 4161108, 4161106, 4161107)
	if err != nil {
		return nil, err
	}
	l, ok := key.(literal)
	if !ok {
		return nil, fail(4161106, "%s requires 'field' to evaluate to a constant", name)
	}
	input, err := c.untouched(raw[1], sc)
	if err != nil {
		return nil, err
	}
	var set expression = literal{}
	if name == "$setField" {
		if set, err = c.untouched(raw[2], sc); err != nil {
			return nil, err
		}
	}
	field := textAt(l.Value)
	return evalFunc(func(c *evaluation) (value, error) {
		in, err := input.eval(c)
		if err != nil || isNullish(in) {
			return nullValue(), err
		}
		if !isObject(in) {
			return value{}, fail(4161105, "%s requires 'input' to evaluate to type Object", name)
		}
		v, err := set.eval(c)
		return objectValue(withField(in.Value, field, v)), err
	}), nil
}
