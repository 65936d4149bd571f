package script

import (
	"regexp"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"shardsh/bindings/values"
)

// appender is the hidden global that stands for text += "more".
const appender = "__append"

// appendsText finds programs that may add a literal text to what a variable holds.
var appendsText = regexp.MustCompile("\\+=[^;\n]*[\"'`]")

// appendCheaply has texts that a program puts together piece by piece grow in
// place: the engine copies the whole text for each piece.
func appendCheaply(tree *ast.Program) {
	if !appendsText.MatchString(tree.File.Source()) {
		return
	}
	walk(tree, func(n ast.Node) {
		x, ok := n.(*ast.AssignExpression)
		if !ok || x.Operator != token.PLUS || !isText(x.Right) {
			return
		}
		if variable, simple := x.Left.(*ast.Identifier); simple {
			x.Right = hiddenCall(appender, x.Right.Idx0(), variable, x.Right)
			x.Operator = token.ASSIGN
		}
	})
}

// defineAppend defines what stands for +=.
func defineAppend(w *values.Realm) {
	rt := w.Runtime()
	var sum goja.Callable // left + right for what is not two texts; nil before the first
	Define(rt.GlobalObject(), appender, rt.ToValue(func(call goja.FunctionCall) goja.Value {
		left, right := call.Argument(0), call.Argument(1)
		if v := w.Memory.Append(rt, left, right); v != nil {
			return v
		}
		a, isText := left.(goja.String)
		if b, ok := right.(goja.String); ok && isText {
			return a.Concat(b)
		}
		if sum == nil {
			f, err := rt.RunString("(left, right) => left + right")
			throwAgain(err)
			sum, _ = goja.AssertFunction(f)
		}
		total, err := sum(goja.Undefined(), left, right)
		throwAgain(err)
		return total
	}))
}

// throwAgain passes on what JavaScript threw, as it is.
func throwAgain(err error) {
	if err != nil {
		panic(err)
	}
}
