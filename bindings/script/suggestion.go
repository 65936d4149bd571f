package script

import "github.com/dop251/goja/ast"

// suggestion asks, behind the message, for the method that was meant.
func (s wording) suggestion(callee ast.Expression) string {
	dot, ok := bare(callee).(*ast.DotExpression)
	if !ok || s.suggest == nil {
		return ""
	}
	return s.suggest(expressionText(dot.Left), dot.Identifier.Name.String())
}
