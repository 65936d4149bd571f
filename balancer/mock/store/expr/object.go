package expr

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

var objectFunctions = map[string]function{
	"$mergeObjects": {0, -1, mergeObjects},
}

func mergeObjects(c *Evaluation, args []value.Value) (value.Value, error) {
	if len(args) == 1 && value.IsArray(args[0]) {
		args = c.Meter.Items(args[0])
	}
	return accumulateAll(c.Meter, newMergedObject(), args)
}

// compileGetField compiles $getField: {field, input}, or a field name of the current document.
func (c *Compiler) compileGetField(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw := []value.Value{arg, value.OmittedArgument}
	if value.IsObject(arg) && !document.IsExpression(arg.Value) {
		var err error
		raw, err = ReadNamedArgs(name, arg, NamedArgs{Args: []string{"field", "input"}, UnknownCode: 3041701,
			MissingCodes: []int32{3041702, 3041703}})
		if err != nil {
			return nil, err
		}
	}
	key, err := c.compileFieldName(name, raw[0], sc, 5654600, 3041704)
	if err != nil {
		return nil, err
	}
	var input Expression = Root{}
	if slot, ok := sc.slot("CURRENT"); ok {
		input = variable(slot)
	}
	if !value.IsOmittedArgument(raw[1]) {
		if input, err = c.compileUnfolded(raw[1], sc); err != nil {
			return nil, err
		}
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		k, err := key.Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		if !value.IsString(k) {
			return value.Value{}, servererr.NewCode(3041704, "$getField requires 'field' to evaluate to type String, but got %s",
				value.TypeName(k))
		}
		in, err := input.Eval(c)
		switch {
		case err != nil:
			return value.Value{}, err
		case value.IsObject(in):
			return document.Lookup(in.Value, value.TextAt(k.Value)), nil
		case value.IsNullish(in) && !value.IsMissing(in):
			return value.Null(), nil
		}
		return value.Value{}, nil
	}), nil
}

// compileFieldName compiles a field name. It may be computed, but must not be a field path.
func (c *Compiler) compileFieldName(
	op string,
	v value.Value,
	sc *Scope,
	pathCode, typeCode int32,
) (Expression, error) {
	e, err := c.Compile(v, sc)
	if err != nil {
		return nil, err
	}
	if _, isPath := e.(Path); isPath {
		return nil, servererr.NewCode(pathCode,
			"'%s' is a field path reference which is not allowed in this context. Did you mean {$literal: '%s'}?",
			value.TextAt(v.Value), value.TextAt(v.Value))
	}
	if l, ok := e.(Literal); ok && !value.IsString(value.Value(l)) {
		return nil, servererr.NewCode(typeCode, "%s requires 'field' to evaluate to type String, but got %s", op,
			value.TypeName(value.Value(l)))
	}
	return e, nil
}

// compileSetField compiles $setField and $unsetField.
func (c *Compiler) compileSetField(name string, arg value.Value, sc *Scope) (Expression, error) {
	spec := NamedArgs{Args: []string{"field", "input", "value"}, NotObjectCode: 4161100, UnknownCode: 4161101,
		MissingCodes: []int32{4161102, 4161109, 4161103}}
	if name == "$unsetField" {
		spec.Args, spec.MissingCodes = spec.Args[:2], spec.MissingCodes[:2]
	}
	raw, err := ReadNamedArgs(name, arg, spec)
	if err != nil {
		return nil, err
	}
	key, err := c.compileFieldName(name, raw[0], sc, 4161108, 4161107)
	if err != nil {
		return nil, err
	}
	l, ok := key.(Literal)
	if !ok {
		return nil, servererr.NewCode(4161106, "%s requires 'field' to evaluate to a constant", name)
	}
	input, err := c.compileUnfolded(raw[1], sc)
	if err != nil {
		return nil, err
	}
	var set Expression = Literal{}
	if name == "$setField" {
		if set, err = c.compileUnfolded(raw[2], sc); err != nil {
			return nil, err
		}
	}
	field := value.TextAt(l.Value)
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		in, err := input.Eval(c)
		if err != nil || value.IsNullish(in) {
			return value.Null(), err
		}
		if !value.IsObject(in) {
			return value.Value{}, servererr.NewCode(4161105, "%s requires 'input' to evaluate to type Object", name)
		}
		v, err := set.Eval(c)
		return value.Object(document.WithField(in.Value, field, v)), err
	}), nil
}
