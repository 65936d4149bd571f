package expr

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// The forms that bind variables.

func (c *Compiler) let(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := NamedValues(name, arg, Named{
		Args: []string{"vars", "in"}, NotObject: 16874, Unknown: 16875, Missing: []int32{16876, 16877},
	})
	if err != nil {
		return nil, err
	}
	if !value.IsObject(raw[0]) {
		return nil, servererr.New(10065, "invalid parameter: expected an object (vars)")
	}
	var names []string
	var exprs []Expression
	for key, v := range document.Fields(raw[0].Value) {
		if err := CheckVariable(string(key)); err != nil {
			return nil, err
		}
		e, err := c.Compile(v, sc)
		if err != nil {
			return nil, err
		}
		names, exprs = append(names, string(key)), append(exprs, e)
	}
	inner, slots := sc.With(names...)
	body, err := c.Compile(raw[1], inner)
	if err != nil {
		return nil, err
	}
	return Func(func(c *Evaluation) (value.Value, error) {
		vs, err := EvalAll(exprs, c)
		if err != nil {
			return value.Value{}, err
		}
		for i, slot := range slots {
			c.Set(slot, vs[i])
		}
		return body.Eval(c)
	}), nil
}

// variableName reads the optional 'as'.
func variableName(v value.Value) (string, error) {
	if value.IsAbsent(v) {
		return "this", nil
	}
	name := value.TextAt(v.Value)
	return name, CheckVariable(name)
}

// perItem compiles what is done with each item of a list: from the list, what is done,
// and the optional name of the variable that the item is in, whose slot it returns.
func (c *Compiler) perItem(raw []value.Value, sc *Scope) (list, each Expression, slot int, err error) {
	as, err := variableName(raw[2])
	if err != nil {
		return nil, nil, 0, err
	}
	if list, err = c.Compile(raw[0], sc); err != nil {
		return nil, nil, 0, err
	}
	inner, slots := sc.With(as)
	each, err = c.Compile(raw[1], inner)
	return list, each, slots[0], err
}

func (c *Compiler) mapForm(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := NamedValues(name, arg, Named{
		Args: []string{"input", "in", "as"}, NotObject: 16878, Unknown: 16879, Missing: []int32{16880, 16882},
	})
	if err != nil {
		return nil, err
	}
	input, body, slot, err := c.perItem(raw, sc)
	if err != nil {
		return nil, err
	}
	return Func(func(c *Evaluation) (value.Value, error) {
		in, err := input.Eval(c)
		if err != nil || value.IsNullish(in) {
			return value.Null(), err
		}
		if !value.IsArray(in) {
			return value.Value{}, servererr.Of(16883, "input to $map must be an array not %s", value.TypeName(in))
		}
		list := c.Meter.Items(in)
		size := 0
		for i, v := range list {
			c.Set(slot, v)
			if list[i], err = body.Eval(c); err != nil {
				return value.Value{}, err
			}
			size += len(list[i].Value)
			if err := checkSize(size); err != nil {
				return value.Value{}, err
			}
		}
		return document.Array(list), nil
	}), nil
}

func (c *Compiler) filter(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := NamedValues(name, arg, Named{
		Args: []string{"input", "cond", "as", "limit"}, NotObject: 28646, Unknown: 28647, Missing: []int32{28648, 28650},
	})
	if err != nil {
		return nil, err
	}
	input, cond, slot, err := c.perItem(raw, sc)
	if err != nil {
		return nil, err
	}
	var limit Expression
	if !value.IsAbsent(raw[3]) {
		if limit, err = c.Compile(raw[3], sc); err != nil {
			return nil, err
		}
	}
	return Func(func(c *Evaluation) (value.Value, error) {
		in, err := input.Eval(c)
		if err != nil || value.IsNullish(in) {
			return value.Null(), err
		}
		if !value.IsArray(in) {
			return value.Value{}, servererr.Of(28651, "input to $filter must be an array not %s", value.TypeName(in))
		}
		if document.IsEmpty(in.Value) { // before the limit is looked at
			return in, nil
		}
		most, err := filterLimit(limit, c)
		if err != nil {
			return value.Value{}, err
		}
		var kept []value.Value
		for _, v := range c.Meter.Fields(in.Value) {
			if most >= 0 && len(kept) == most {
				break
			}
			c.Set(slot, v)
			ok, err := cond.Eval(c)
			if err != nil {
				return value.Value{}, err
			}
			if value.Truthy(ok) {
				kept = append(kept, v)
			}
		}
		return document.Array(kept), nil
	}), nil
}

// filterLimit is -1 for no limit.
func filterLimit(limit Expression, c *Evaluation) (int, error) {
	if limit == nil {
		return -1, nil
	}
	v, err := limit.Eval(c)
	if err != nil || value.IsNullish(v) {
		return -1, err
	}
	n, ok := value.WholeInt32(v)
	if !ok {
		return 0, servererr.Of(327391, "$filter: limit must be represented as a 32-bit integral value: %s", v)
	}
	if n < 1 {
		return 0, servererr.Of(327392, "$filter: limit must be greater than 0: %d", n)
	}
	return n, nil
}

func (c *Compiler) reduce(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := NamedValues(name, arg, Named{
		Args: []string{"input", "initialValue", "in"}, NotObject: 40075, Unknown: 40076,
		Missing: []int32{40077, 40078, 40079},
	})
	if err != nil {
		return nil, err
	}
	input, err := c.Compile(raw[0], sc)
	if err != nil {
		return nil, err
	}
	initial, err := c.Compile(raw[1], sc)
	if err != nil {
		return nil, err
	}
	inner, slots := sc.With("this", "value")
	body, err := c.Compile(raw[2], inner)
	if err != nil {
		return nil, err
	}
	return Func(func(c *Evaluation) (value.Value, error) {
		in, err := input.Eval(c)
		if err != nil || value.IsNullish(in) {
			return value.Null(), err
		}
		if !value.IsArray(in) {
			return value.Value{}, servererr.Of(40080, "$reduce requires that 'input' be an array, found: %s", in)
		}
		acc, err := initial.Eval(c)
		for _, v := range c.Meter.Fields(in.Value) {
			if err != nil {
				break
			}
			c.Set(slots[0], v)
			c.Set(slots[1], acc)
			acc, err = body.Eval(c)
		}
		return acc, err
	}), nil
}
