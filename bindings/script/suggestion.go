package script

import "github.com/dop251/goja/ast"

// suggestion asks, behind the message, for the method that was meant.
func (s messageClarifier) suggestion(callee ast.Expression) string {
	dot, ok := withoutOptional(callee).(*ast.DotExpression)
	if !ok || s.suggestMethod == nil {
		return ""
	}
	return s.suggestMethod(expressionText(dot.Left), dot.Identifier.Name.String())
}
