package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// expressionText formats a callee as V8 does in its messages.
func expressionText(x ast.Expression) string {
	switch x := x.(type) {
	case *ast.Identifier:
		return x.Name.String()
	case *ast.ThisExpression:
		return "this"
	case *ast.SuperExpression:
		return "super"
	case *ast.NullLiteral:
		return "null"
	case *ast.NumberLiteral:
		return x.Literal
	case *ast.BooleanLiteral:
		return x.Literal
	case *ast.StringLiteral:
		return `"` + x.Value.String() + `"`
	case *ast.DotExpression:
		return receiverText(x.Left, ".") + x.Identifier.Name.String()
	case *ast.PrivateDotExpression:
		return receiverText(x.Left, ".") + "#" + x.Identifier.Name.String()
	case *ast.BracketExpression:
		if key, ok := x.Member.(*ast.StringLiteral); ok {
			return receiverText(x.Left, ".") + key.Value.String()
		}
		return receiverText(x.Left, "") + "[" + expressionText(x.Member) + "]"
	case *ast.CallExpression:
		return expressionText(x.Callee) + "(...)"
	case *ast.OptionalChain:
		return expressionText(x.Expression)
	case *ast.Optional:
		return expressionText(x.Expression)
	case *ast.UnaryExpression:
		if x.Operator == token.VOID {
			return "(void " + expressionText(x.Operand) + ")"
		}
	case *ast.BinaryExpression:
		return "(" + expressionText(x.Left) + " " + x.Operator.String() + " " + expressionText(x.Right) + ")"
	}
	return "(intermediate value)"
}

func receiverText(x ast.Expression, dot string) string {
	if o, ok := x.(*ast.Optional); ok {
		return expressionText(o.Expression) + "?."
	}
	return expressionText(x) + dot
}
