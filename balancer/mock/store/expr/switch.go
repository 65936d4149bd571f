package expr

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// switchBranch is a branch of $switch.
type switchBranch struct{ condition, result switchOperand }

// switchOperand is a compiled case or result, with the error of its constant folding, which
// is dropped if the branch is eliminated.
type switchOperand struct {
	Expression
	constantErr error
}

func (c *Compiler) compileSwitchOperand(v value.Value, sc *Scope) (o switchOperand, err error) {
	apart := *sc
	apart.deferredErr = new(error)
	o.Expression, err = c.Compile(v, &apart)
	o.constantErr = *apart.deferredErr
	return o, err
}

func (c *Compiler) compileSwitch(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := ReadNamedArgs(name, arg,
		NamedArgs{Args: []string{"branches", "default"}, NotObjectCode: 40060, UnknownCode: 40067})
	if err != nil {
		return nil, err
	}
	branches, err := c.compileBranches(raw[0], sc)
	if err != nil {
		return nil, err
	}
	var otherwise Expression
	if !value.IsOmittedArgument(raw[1]) {
		if otherwise, err = c.Compile(raw[1], sc); err != nil {
			return nil, err
		}
	}
	if !c.noFolding {
		if branches, otherwise, err = foldConstantCases(branches, otherwise, sc); err != nil ||
			len(branches) == 0 && otherwise != nil {
			return otherwise, err
		}
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		for _, b := range branches {
			v, err := b.condition.Eval(c)
			if err != nil {
				return value.Value{}, err
			}
			if value.IsTruthy(v) {
				return b.result.Eval(c)
			}
		}
		if otherwise == nil {
			return value.Value{}, servererr.NewCode(40066,
				"$switch could not find a matching branch for an input, and no default was specified.")
		}
		return otherwise.Eval(c)
	}), nil
}

func (c *Compiler) compileBranches(list value.Value, sc *Scope) ([]switchBranch, error) {
	if !value.IsOmittedArgument(list) && !value.IsArray(list) {
		return nil, servererr.NewCode(40061, "$switch expected an array for 'branches', found: %s", value.TypeName(list))
	}
	var branches []switchBranch
	for _, v := range document.Fields(list.Value) {
		raw, err := ReadNamedArgs("$switch", v, NamedArgs{
			Args: []string{"case", "then"}, NotObjectCode: 40062, UnknownCode: 40063, MissingCodes: []int32{40064, 40065},
		})
		if err != nil {
			return nil, err
		}
		var b switchBranch
		if b.condition, err = c.compileSwitchOperand(raw[0], sc); err != nil {
			return nil, err
		}
		if b.result, err = c.compileSwitchOperand(raw[1], sc); err != nil {
			return nil, err
		}
		branches = append(branches, b)
	}
	if len(branches) == 0 {
		return nil, servererr.NewCode(40068, "$switch requires at least one branch.")
	}
	return branches, nil
}

// foldConstantCases removes branches with a constant case. A branch whose case is false is dropped. A
// branch whose case is true becomes the default, and all later branches are dropped.
func foldConstantCases(branches []switchBranch, otherwise Expression, sc *Scope) ([]switchBranch, Expression, error) {
	var left []switchBranch
	for _, b := range branches {
		if err := sc.reportConstantErr(b.condition.constantErr); err != nil {
			return nil, nil, err
		}
		when, constant := b.condition.Expression.(Literal)
		if constant && !value.IsTruthy(value.Value(when)) {
			continue
		}
		if err := sc.reportConstantErr(b.result.constantErr); err != nil {
			return nil, nil, err
		}
		if constant {
			return left, b.result.Expression, nil
		}
		left = append(left, b)
	}
	if len(left) == 0 && otherwise == nil {
		return nil, nil, sc.reportConstantErr(servererr.NewCode(40069,
			"Cannot execute a switch statement where all the cases evaluate to false without a default."))
	}
	return left, otherwise, nil
}
