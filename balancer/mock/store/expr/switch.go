package expr

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// switchBranch is one of $switch.
type switchBranch struct{ when, then operand }

// operand is compiled, and failed is what its constants have failed with: nobody
// hears of that where the operand goes.
type operand struct {
	Expression
	failed error
}

func (c *Compiler) operand(v value.Value, sc *Scope) (o operand, err error) {
	apart := *sc
	apart.early = new(error)
	o.Expression, err = c.Compile(v, &apart)
	o.failed = *apart.early
	return o, err
}

func (c *Compiler) switchForm(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := NamedValues(name, arg, Named{Args: []string{"branches", "default"}, NotObject: 40060, Unknown: 40067})
	if err != nil {
		return nil, err
	}
	branches, err := c.branches(raw[0], sc)
	if err != nil {
		return nil, err
	}
	var otherwise Expression
	if !value.IsAbsent(raw[1]) {
		if otherwise, err = c.Compile(raw[1], sc); err != nil {
			return nil, err
		}
	}
	if !c.asIs {
		if branches, otherwise, err = decided(branches, otherwise, sc); err != nil || len(branches) == 0 && otherwise != nil {
			return otherwise, err
		}
	}
	return Func(func(c *Evaluation) (value.Value, error) {
		for _, b := range branches {
			v, err := b.when.Eval(c)
			if err != nil {
				return value.Value{}, err
			}
			if value.Truthy(v) {
				return b.then.Eval(c)
			}
		}
		if otherwise == nil {
			return value.Value{}, servererr.Of(40066,
				"$switch could not find a matching branch for an input, and no default was specified.")
		}
		return otherwise.Eval(c)
	}), nil
}

func (c *Compiler) branches(list value.Value, sc *Scope) ([]switchBranch, error) {
	if !value.IsAbsent(list) && !value.IsArray(list) {
		return nil, servererr.Of(40061, "$switch expected an array for 'branches', found: %s", value.TypeName(list))
	}
	var branches []switchBranch
	for _, v := range document.Fields(list.Value) {
		raw, err := NamedValues("$switch", v, Named{
			Args: []string{"case", "then"}, NotObject: 40062, Unknown: 40063, Missing: []int32{40064, 40065},
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
		return nil, servererr.Of(40068, "$switch requires at least one branch.")
	}
	return branches, nil
}

// decided leaves out branches whose case is a constant: one that is false goes, one
// that is true is what otherwise happens, and none after it is looked at.
func decided(branches []switchBranch, otherwise Expression, sc *Scope) ([]switchBranch, Expression, error) {
	var left []switchBranch
	for _, b := range branches {
		if err := sc.constantFails(b.when.failed); err != nil {
			return nil, nil, err
		}
		when, constant := b.when.Expression.(Literal)
		if constant && !value.Truthy(value.Value(when)) {
			continue
		}
		if err := sc.constantFails(b.then.failed); err != nil {
			return nil, nil, err
		}
		if constant {
			return left, b.then.Expression, nil
		}
		left = append(left, b)
	}
	if len(left) == 0 && otherwise == nil {
		return nil, nil, sc.constantFails(servererr.Of(40069,
			"Cannot execute a switch statement where all the cases evaluate to false without a default."))
	}
	return left, otherwise, nil
}
