package expr

import (
	"slices"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// The operators that bind variables.

func (c *Compiler) compileLet(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := ReadNamedArgs(name, arg, NamedArgs{
		Args: []string{"vars", "in"}, NotObjectCode: 16874, UnknownCode: 16875, MissingCodes: []int32{16876, 16877},
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
	inner, slots := sc.WithVariables(names...)
	body, err := c.Compile(raw[1], inner)
	if err != nil {
		return nil, err
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
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

// parseVariableName reads the optional argument as.
func parseVariableName(v value.Value) (string, error) {
	if value.IsOmittedArgument(v) {
		return "this", nil
	}
	name := value.TextAt(v.Value)
	return name, CheckVariable(name)
}

// itemSlots are the slots of the variables of an array element: the element, further variables
// ($$value), and last the index, if the language has it.
type itemSlots struct {
	slots    []int
	hasIndex bool
}

// bindItem returns a scope with the variables of an array element. The name of the index is IDX unless
// arrayIndexAs sets another. arrayIndexAs is the last element of raw and may be absent. Two variables
// with the same name fail with duplicateCode.
func bindItem(sc *Scope, names []string, raw []value.Value, duplicateCode int32) (*Scope, itemSlots, error) {
	s := itemSlots{hasIndex: sc.Language.Operators83}
	if s.hasIndex {
		as := raw[len(raw)-1]
		name := value.TextAt(as.Value)
		switch {
		case value.IsOmittedArgument(as):
			name = "IDX"
		case slices.Contains(names, name):
			return nil, s, servererr.NewCode(duplicateCode, "the variable %s is defined twice", name)
		default:
			if err := CheckVariable(name); err != nil {
				return nil, s, err
			}
		}
		names = append(names, name)
	}
	inner, slots := sc.WithVariables(names...)
	s.slots = slots
	return inner, s, nil
}

// setItem sets the variables.
func (s itemSlots) setItem(c *Evaluation, at int, vs ...value.Value) {
	if s.hasIndex {
		vs = append(vs, value.Int32(int32(at)))
	}
	for i, v := range vs {
		c.Set(s.slots[i], v)
	}
}

// withIndexArgument adds the argument arrayIndexAs if the language has it.
func withIndexArgument(sc *Scope, names ...string) []string {
	if sc.Language.Operators83 {
		return append(names, "arrayIndexAs")
	}
	return names
}

// compilePerItem compiles an array expression and the expression that is evaluated for each element. raw
// is the array, the expression, and the optional name of the element's variable.
func (c *Compiler) compilePerItem(
	raw []value.Value,
	sc *Scope,
	duplicateCode int32,
) (list, each Expression, s itemSlots, err error) {
	as, err := parseVariableName(raw[2])
	if err != nil {
		return nil, nil, s, err
	}
	if list, err = c.Compile(raw[0], sc); err != nil {
		return nil, nil, s, err
	}
	inner, s, err := bindItem(sc, []string{as}, raw, duplicateCode)
	if err != nil {
		return nil, nil, s, err
	}
	each, err = c.Compile(raw[1], inner)
	return list, each, s, err
}

func (c *Compiler) compileMap(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := ReadNamedArgs(name, arg, NamedArgs{
		Args: withIndexArgument(sc, "input", "in", "as"), NotObjectCode: 16878, UnknownCode: 16879,
		MissingCodes: []int32{16880, 16882},
	})
	if err != nil {
		return nil, err
	}
	input, body, slots, err := c.compilePerItem(raw, sc, 9375801)
	if err != nil {
		return nil, err
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		in, err := input.Eval(c)
		if err != nil || value.IsNullish(in) {
			return value.Null(), err
		}
		if !value.IsArray(in) {
			return value.Value{}, servererr.NewCode(16883, "input to $map must be an array not %s", value.TypeName(in))
		}
		list := c.Meter.Items(in)
		size := 0
		for i, v := range list {
			slots.setItem(c, i, v)
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

func (c *Compiler) compileFilter(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := ReadNamedArgs(name, arg, NamedArgs{
		Args: withIndexArgument(sc, "input", "cond", "as", "limit"), NotObjectCode: 28646, UnknownCode: 28647,
		MissingCodes: []int32{28648, 28650},
	})
	if err != nil {
		return nil, err
	}
	input, cond, slots, err := c.compilePerItem(raw, sc, 9375802)
	if err != nil {
		return nil, err
	}
	var limit Expression
	if !value.IsOmittedArgument(raw[3]) {
		if limit, err = c.Compile(raw[3], sc); err != nil {
			return nil, err
		}
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		in, err := input.Eval(c)
		if err != nil || value.IsNullish(in) {
			return value.Null(), err
		}
		if !value.IsArray(in) {
			return value.Value{}, servererr.NewCode(28651, "input to $filter must be an array not %s", value.TypeName(in))
		}
		if document.IsEmpty(in.Value) { // before the limit is evaluated
			return in, nil
		}
		maxItems, err := evalFilterLimit(limit, c)
		if err != nil {
			return value.Value{}, err
		}
		var kept []value.Value
		at := -1
		for _, v := range c.Meter.Fields(in.Value) {
			if maxItems >= 0 && len(kept) == maxItems {
				break
			}
			at++
			slots.setItem(c, at, v)
			ok, err := cond.Eval(c)
			if err != nil {
				return value.Value{}, err
			}
			if value.IsTruthy(ok) {
				kept = append(kept, v)
			}
		}
		return document.Array(kept), nil
	}), nil
}

// evalFilterLimit evaluates the limit of $filter; -1 means no limit.
func evalFilterLimit(limit Expression, c *Evaluation) (int, error) {
	if limit == nil {
		return -1, nil
	}
	v, err := limit.Eval(c)
	if err != nil || value.IsNullish(v) {
		return -1, err
	}
	n, ok := value.WholeInt32(v)
	if !ok {
		return 0, servererr.NewCode(327391, "$filter: limit must be represented as a 32-bit integral value: %s", v)
	}
	if n < 1 {
		return 0, servererr.NewCode(327392, "$filter: limit must be greater than 0: %d", n)
	}
	return n, nil
}

func (c *Compiler) compileReduce(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := ReadNamedArgs(name, arg, NamedArgs{
		Args: withIndexArgument(sc, "input", "initialValue", "in"), NotObjectCode: 40075, UnknownCode: 40076,
		MissingCodes: []int32{40077, 40078, 40079},
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
	inner, slots, err := bindItem(sc, []string{"this", "value"}, raw, 9298401)
	if err != nil {
		return nil, err
	}
	body, err := c.Compile(raw[2], inner)
	if err != nil {
		return nil, err
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		in, err := input.Eval(c)
		if err != nil || value.IsNullish(in) {
			return value.Null(), err
		}
		if !value.IsArray(in) {
			return value.Value{}, servererr.NewCode(40080, "$reduce requires that 'input' be an array, found: %s", in)
		}
		acc, err := initial.Eval(c)
		at := -1
		for _, v := range c.Meter.Fields(in.Value) {
			if err != nil {
				break
			}
			at++
			slots.setItem(c, at, v, acc)
			acc, err = body.Eval(c)
		}
		return acc, err
	}), nil
}
