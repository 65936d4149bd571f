package script

import (
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// prepareTree rewrites the parts of a program for which the engine would misbehave or report too
// little. Every syntax tree is prepared before it is compiled.
func prepareTree(tree *ast.Program) {
	clarifyCatches(tree)
	keepDigitsInText(tree)
	appendInPlace(tree)
	if strings.Contains(tree.File.Source(), evalName) {
		guardEvals(tree)
		nameClasses(tree)
	}
	guardBigInts(tree)
	guardExecs(tree)
}

// hiddenCall returns a call of a hidden global, at the position of the expression that it replaces.
func hiddenCall(name string, at file.Idx, args ...ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{Callee: identifier(name, at), LeftParenthesis: at, RightParenthesis: at, ArgumentList: args}
}
