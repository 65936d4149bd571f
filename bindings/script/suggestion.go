package script

import "github.com/dop251/goja/ast"

// suggestion returns a suggestion for a misspelled method, to append to the message.
func (s messageClarifier) suggestion(callee ast.Expression) string {
	dot, ok := withoutOptional(callee).(*ast.DotExpression)
	if !ok || s.suggestMethod == nil {
		return ""
	}
	return s.suggestMethod(expressionText(dot.Left), dot.Identifier.Name.String())
}
