package script

import (
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// prepareTree rewrites a program where the engine would misbehave or report too
// little: every tree comes by here before it is compiled.
func prepareTree(tree *ast.Program) {
	clarifyCatches(tree)
	concatenateExactly(tree)
	appendCheaply(tree)
	if strings.Contains(tree.File.Source(), evalName) {
		checkEvals(tree)
		nameClasses(tree)
	}
	checkBigInts(tree)
	timeExecs(tree)
}

// hiddenCall is a call of one of the hidden globals, at the place of what it
// stands for.
func hiddenCall(name string, at file.Idx, args ...ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{Callee: identifier(name, at), LeftParenthesis: at, RightParenthesis: at, ArgumentList: args}
}
