package store

// switchBranch is one of $switch.
type switchBranch struct{ when, then operand }

// operand is compiled, and failed is what its constants have failed with: nobody
// hears of that where the operand goes.
type operand struct {
	expression
	failed error
}

func (c *exprCompiler) operand(v value, sc *scope) (o operand, err error) {
	apart := *sc
	apart.early = new(error)
	o.expression, err = c.compile(v, &apart)
	o.failed = *apart.early
	return o, err
}

func (c *exprCompiler) switchForm(name string, arg value, sc *scope) (expression, error) {
	raw, err := namedValues(name, arg, namedSpec{args: []string{"branches", "default"}, notObject: 40060, unknown: 40067})
	if err != nil {
		return nil, err
	}
	branches, err := c.branches(raw[0], sc)
	if err != nil {
		return nil, err
	}
	var otherwise expression
	if !isAbsent(raw[1]) {
		if otherwise, err = c.compile(raw[1], sc); err != nil {
			return nil, err
		}
	}
	if !c.asIs {
		if branches, otherwise, err = decided(branches, otherwise, sc); err != nil || len(branches) == 0 && otherwise != nil {
			return otherwise, err
		}
	}
	return evalFunc(func(c *evaluation) (value, error) {
		for _, b := range branches {
			v, err := b.when.eval(c)
			if err != nil {
				return value{}, err
			}
			if truthy(v) {
				return b.then.eval(c)
			}
		}
		if otherwise == nil {
			return value{}, fail(40066, "$switch could not find a matching branch for an input, and no default was specified.")
		}
		return otherwise.eval(c)
	}), nil
}

func (c *exprCompiler) branches(list value, sc *scope) ([]switchBranch, error) {
	if !isAbsent(list) && !isArray(list) {
		return nil, fail(40061, "$switch expected an array for 'branches', found: %s", typeName(list))
	}
	var branches []switchBranch
	for _, v := range fields(list.Value) {
		raw, err := namedValues("$switch", v, namedSpec{
			args: []string{"case", "then"}, notObject: 40062, unknown: 40063, missing: []int32{40064, 40065},
		})
		if err != nil {
			return nil, err
		}
		var b switchBranch
		if b.when, err = c.operand(raw[0], sc); err != nil {
			return nil, err
		}
		if b.then, err = c.operand(raw[1], sc); err != nil {
			return nil, err
		}
		branches = append(branches, b)
	}
	if len(branches) == 0 {
		return nil, fail(40068, "$switch requires at least one branch.")
	}
	return branches, nil
}

// decided leaves out branches whose case is a constant: one that is false goes, one
// that is true is what otherwise happens, and none after it is looked at.
func decided(branches []switchBranch, otherwise expression, sc *scope) ([]switchBranch, expression, error) {
	var left []switchBranch
	for _, b := range branches {
		if err := sc.constantFails(b.when.failed); err != nil {
			return nil, nil, err
		}
		when, constant := b.when.expression.(literal)
		if constant && !truthy(value(when)) {
			continue
		}
		if err := sc.constantFails(b.then.failed); err != nil {
			return nil, nil, err
		}
		if constant {
			return left, b.then.expression, nil
		}
		left = append(left, b)
	}
	if len(left) == 0 && otherwise == nil {
		return nil, nil, sc.constantFails(fail(40069,
			"Cannot execute a switch statement where all the cases evaluate to false without a default."))
	}
	return left, otherwise, nil
}
