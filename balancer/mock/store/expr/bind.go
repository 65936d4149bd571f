package store

// The forms that bind variables.

func (c *exprCompiler) let(name string, arg value, sc *scope) (expression, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"vars", "in"}, notObject: 16874, unknown: 16875, missing: []int32{16876, 16877},
	})
	if err != nil {
		return nil, err
	}
	if !isObject(raw[0]) {
		return nil, serverError(10065, "invalid parameter: expected an object (vars)")
	}
	var names []string
	var exprs []expression
	for key, v := range fields(raw[0].Value) {
		if err := checkVariable(string(key)); err != nil {
			return nil, err
		}
		e, err := c.compile(v, sc)
		if err != nil {
			return nil, err
		}
		names, exprs = append(names, string(key)), append(exprs, e)
	}
	inner, slots := sc.with(names...)
	body, err := c.compile(raw[1], inner)
	if err != nil {
		return nil, err
	}
	return evalFunc(func(c *evaluation) (value, error) {
		vs, err := evalAll(exprs, c)
		if err != nil {
			return value{}, err
		}
		for i, slot := range slots {
			c.set(slot, vs[i])
		}
		return body.eval(c)
	}), nil
}

// variableName reads the optional 'as'.
func variableName(v value) (string, error) {
	if isAbsent(v) {
		return "this", nil
	}
	name := textAt(v.Value)
	return name, checkVariable(name)
}

func (c *exprCompiler) mapForm(name string, arg value, sc *scope) (expression, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"input", "in", "as"}, notObject: 16878, unknown: 16879, missing: []int32{16880, 16882},
	})
	if err != nil {
		return nil, err
	}
	as, err := variableName(raw[2])
	if err != nil {
		return nil, err
	}
	input, err := c.compile(raw[0], sc)
	if err != nil {
		return nil, err
	}
	inner, slots := sc.with(as)
	body, err := c.compile(raw[1], inner)
	if err != nil {
		return nil, err
	}
	return evalFunc(func(c *evaluation) (value, error) {
		in, err := input.eval(c)
		if err != nil || isNullish(in) {
			return nullValue(), err
		}
		if !isArray(in) {
			return value{}, fail(16883, "input to $map must be an array not %s", typeName(in))
		}
		list := c.work.items(in)
		size := 0
		for i, v := range list {
			c.set(slots[0], v)
			if list[i], err = body.eval(c); err != nil {
				return value{}, err
			}
			size += len(list[i].Value)
			if err := checkSize(size); err != nil {
				return value{}, err
			}
		}
		return arrayOf(list), nil
	}), nil
}

func (c *exprCompiler) filter(name string, arg value, sc *scope) (expression, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"input", "cond", "as", "limit"}, notObject: 28646, unknown: 28647, missing: []int32{28648, 28650},
	})
	if err != nil {
		return nil, err
	}
	as, err := variableName(raw[2])
	if err != nil {
		return nil, err
	}
	input, err := c.compile(raw[0], sc)
	if err != nil {
		return nil, err
	}
	inner, slots := sc.with(as)
	cond, err := c.compile(raw[1], inner)
	if err != nil {
		return nil, err
	}
	var limit expression
	if !isAbsent(raw[3]) {
		if limit, err = c.compile(raw[3], sc); err != nil {
			return nil, err
		}
	}
	return evalFunc(func(c *evaluation) (value, error) {
		in, err := input.eval(c)
		if err != nil || isNullish(in) {
			return nullValue(), err
		}
		if !isArray(in) {
			return value{}, fail(28651, "input to $filter must be an array not %s", typeName(in))
		}
		if isEmpty(in.Value) { // before the limit is looked at
			return in, nil
		}
		most, err := filterLimit(limit, c)
		if err != nil {
			return value{}, err
		}
		var kept []value
		for _, v := range c.work.fields(in.Value) {
			if most >= 0 && len(kept) == most {
				break
			}
			c.set(slots[0], v)
			ok, err := cond.eval(c)
			if err != nil {
				return value{}, err
			}
			if truthy(ok) {
				kept = append(kept, v)
			}
		}
		return arrayOf(kept), nil
	}), nil
}

// filterLimit is -1 for no limit.
func filterLimit(limit expression, c *evaluation) (int, error) {
	if limit == nil {
		return -1, nil
	}
	v, err := limit.eval(c)
	if err != nil || isNullish(v) {
		return -1, err
	}
	n, ok := wholeInt32(v)
	if !ok {
		return 0, fail(327391, "$filter: limit must be represented as a 32-bit integral value: %s", v)
	}
	if n < 1 {
		return 0, fail(327392, "$filter: limit must be greater than 0: %d", n)
	}
	return n, nil
}

func (c *exprCompiler) reduce(name string, arg value, sc *scope) (expression, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"input", "initialValue", "in"}, notObject: 40075, unknown: 40076,
		missing: []int32{40077, 40078, 40079},
	})
	if err != nil {
		return nil, err
	}
	input, err := c.compile(raw[0], sc)
	if err != nil {
		return nil, err
	}
	initial, err := c.compile(raw[1], sc)
	if err != nil {
		return nil, err
	}
	inner, slots := sc.with("this", "value")
	body, err := c.compile(raw[2], inner)
	if err != nil {
		return nil, err
	}
	return evalFunc(func(c *evaluation) (value, error) {
		in, err := input.eval(c)
		if err != nil || isNullish(in) {
			return nullValue(), err
		}
		if !isArray(in) {
			return value{}, fail(40080, "$reduce requires that 'input' be an array, found: %s", in)
		}
		acc, err := initial.eval(c)
		for _, v := range c.work.fields(in.Value) {
			if err != nil {
				break
			}
			c.set(slots[0], v)
			c.set(slots[1], acc)
			acc, err = body.eval(c)
		}
		return acc, err
	}), nil
}
