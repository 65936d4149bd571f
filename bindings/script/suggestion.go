package script

import "github.com/dop251/goja/ast"

// suggestion returns a suggestion for a misspelled method, to append to the message.
func (c messageClarifier) suggestion(callee ast.Expression) string {
	dot, ok := withoutOptional(callee).(*ast.DotExpression)
	if !ok || c.suggestMethod == nil {
		return ""
	}
	return c.suggestMethod(expressionText(dot.Left), dot.Identifier.Name.String())
}
