package expr

import "slices"

// regrouping says which operands of an operator may be combined. The server does so
// before it runs a command (ExpressionNary::optimize): operands that are calls of the
// same operator are replaced by their operands, and adjacent constants are folded.
type regrouping uint8

const (
	noRegrouping    regrouping = iota
	regroupLeading             // only from the left: overflow and rounding depend on the order
	regroupAdjacent            // adjacent operands, without reordering
	regroupAll                 // all constants together, moved behind the other operands
)

var regroupings = map[string]regrouping{
	"$add":             regroupLeading,
	"$multiply":        regroupLeading,
	"$concat":          regroupAdjacent,
	"$concatArrays":    regroupAdjacent,
	"$setUnion":        regroupAll,
	"$setIntersection": regroupAll,
	"$bitAnd":          regroupAll,
	"$bitOr":           regroupAll,
	"$bitXor":          regroupAll,
}

// regroup returns the operands of an operator after regrouping.
func (c *Compiler) regroup(name string, args []Expression, call func([]Expression) *callExpression, sc *Scope,
) ([]Expression, error) {
	how := regroupings[name]
	if how == noRegrouping {
		return args, nil
	}
	args = flattenOperands(name, args, how)
	if how == regroupAll {
		args = moveConstantsLast(args)
	}
	var list []Expression
	for i := 0; i < len(args); {
		n := countLeadingConstants(args[i:])
		if n < 2 || n == len(args) || how == regroupLeading && i > 0 {
			list = append(list, args[i])
			i++
			continue
		}
		group, err := c.fold(call(args[i:i+n]), args[i:i+n], sc)
		if err != nil {
			return nil, err
		}
		list = append(list, group)
		i += n
	}
	return list, nil
}

func countLeadingConstants(args []Expression) int {
	n := slices.IndexFunc(args, isVariable)
	if n < 0 {
		return len(args)
	}
	return n
}

// flattenOperands replaces calls of the same operator by their operands.
func flattenOperands(name string, args []Expression, how regrouping) []Expression {
	var list []Expression
	for i, a := range args {
		if inner, ok := a.(*callExpression); ok && inner.name == name && (how != regroupLeading || i == 0) {
			list = append(list, inner.args...)
			continue
		}
		list = append(list, a)
	}
	return list
}

// moveConstantsLast moves the constants behind the other arguments.
func moveConstantsLast(args []Expression) []Expression {
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
