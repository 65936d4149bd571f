package script

import (
	"regexp"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// textGlobal is the hidden global that converts the operand of a string concatenation.
const textGlobal = "__text"

// mayAddText finds programs that may concatenate something with a string literal.
var mayAddText = regexp.MustCompile("[\"'`]\\s*\\+|\\+\\s*[\"'`]")

// keepDigitsInText makes "text" + x keep all digits of a number that a JavaScript number cannot hold,
// such as a hashed bound. The engine does not tell an object whether it is an operand of a
// concatenation or of arithmetic, where it has to be a number.
func keepDigitsInText(tree *ast.Program) {
	if !mayAddText.MatchString(tree.File.Source()) {
		return
	}
	walk(tree, func(n ast.Node) {
		sum, ok := n.(*ast.BinaryExpression)
		if !ok || sum.Operator != token.PLUS {
			return
		}
		switch {
		case isText(sum.Left):
			sum.Right = wrapInTextGlobal(sum.Right)
		case isText(sum.Right):
			sum.Left = wrapInTextGlobal(sum.Left)
		}
	})
}

// isText reports whether an expression is certainly a string.
func isText(x ast.Expression) bool {
	switch x := x.(type) {
	case *ast.StringLiteral:
		return true
	case *ast.TemplateLiteral:
		return x.Tag == nil
	case *ast.UnaryExpression:
		return x.Operator == token.TYPEOF
	case *ast.BinaryExpression:
		return x.Operator == token.PLUS && (isText(x.Left) || isText(x.Right))
	}
	return false
}

// textFunctions returns functions that return strings, which need no conversion.
func textFunctions() []string {
	return []string{
		"String", "tojson", "tojsononeline", "toString", "toISOString", "toFixed", "join", "padStart", "padEnd",
		"stringify", "toHexString", "__text",
	}
}

// wrapInTextGlobal wraps an operand in a call of the hidden global if the operand may be a Long or
// Decimal128.
func wrapInTextGlobal(x ast.Expression) ast.Expression {
	switch x := x.(type) {
	case *ast.StringLiteral, *ast.TemplateLiteral, *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		return x
	case *ast.UnaryExpression:
		return x
	case *ast.BinaryExpression:
		if x.Operator != token.PLUS && x.Operator != token.LOGICAL_OR && x.Operator != token.LOGICAL_AND &&
			x.Operator != token.COALESCE || isText(x) {
			return x
		}
	case *ast.CallExpression:
		if slices.Contains(textFunctions(), calledName(x.Callee)) {
			return x
		}
	}
	at := x.Idx0()
	return &ast.CallExpression{
		Callee: identifier(textGlobal, at), LeftParenthesis: at, RightParenthesis: x.Idx1(),
		ArgumentList: []ast.Expression{x},
	}
}

// calledName returns the last name of a callee.
func calledName(callee ast.Expression) string {
	switch callee := callee.(type) {
	case *ast.Identifier:
		return callee.Name.String()
	case *ast.DotExpression:
		return callee.Identifier.Name.String()
	}
	return ""
}
