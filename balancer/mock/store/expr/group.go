package expr

import "slices"

// grouping is which operands of an operator may be taken together. The server does so
// before it runs a command (ExpressionNary::optimize): operands that are calls of the
// same operator give way to their own operands, and constants side by side are computed.
type grouping uint8

const (
	apart    grouping = iota
	leading           // from the left only: where a sum overflows or is rounded shows
	anywhere          // in the order in which they are
	anyOrder          // the constants all together, behind the others
)

var groupings = map[string]grouping{
	"$add": leading, "$multiply": leading, "$concat": anywhere, "$concatArrays": anywhere,
	"$setUnion": anyOrder, "$setIntersection": anyOrder, "$bitAnd": anyOrder, "$bitOr": anyOrder, "$bitXor": anyOrder,
}

// regrouped returns the operands that an operator has then.
func (c *Compiler) regrouped(name string, args []Expression, call func([]Expression) *callExpression, sc *Scope,
) ([]Expression, error) {
	how := groupings[name]
	if how == apart {
		return args, nil
	}
	args = flattened(name, args, how)
	if how == anyOrder {
		args = constantsLast(args)
	}
	var list []Expression
	for i := 0; i < len(args); {
		n := constantsFrom(args[i:])
		if n < 2 || n == len(args) || how == leading && i > 0 {
			list = append(list, args[i])
			i++
			continue
		}
		group, err := c.folded(call(args[i:i+n]), args[i:i+n], sc)
		if err != nil {
			return nil, err
		}
		list = append(list, group)
		i += n
	}
	return list, nil
}

func constantsFrom(args []Expression) int {
	n := slices.IndexFunc(args, isVariable)
	if n < 0 {
		return len(args)
	}
	return n
}

// flattened puts the operands of calls of the same operator in their places.
func flattened(name string, args []Expression, how grouping) []Expression {
	var list []Expression
	for i, a := range args {
		if inner, ok := a.(*callExpression); ok && inner.name == name && (how != leading || i == 0) {
			list = append(list, inner.args...)
			continue
		}
		list = append(list, a)
	}
	return list
}

// constantsLast puts the constants after the other arguments.
func constantsLast(args []Expression) []Expression {
	var list, constants []Expression
	for _, a := range args {
		if IsConstant(a) {
			constants = append(constants, a)
			continue
		}
		list = append(list, a)
	}
	return append(list, constants...)
}
