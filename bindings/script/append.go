package script

import (
	"regexp"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"shardsh/bindings/values"
)

// appendGlobal is the hidden global that implements text += "more".
const appendGlobal = "__append"

// mayAppendText finds programs that may append a string literal to a variable.
var mayAppendText = regexp.MustCompile("\\+=[^;\n]*[\"'`]")

// appendInPlace makes strings grow in place that a program builds by appending: the engine would copy
// the whole string each time.
func appendInPlace(tree *ast.Program) {
	if !mayAppendText.MatchString(tree.File.Source()) {
		return
	}
	walk(tree, func(n ast.Node) {
		x, ok := n.(*ast.AssignExpression)
		if !ok || x.Operator != token.PLUS || !isText(x.Right) {
			return
		}
		if variable, simple := x.Left.(*ast.Identifier); simple {
			x.Right = hiddenCall(appendGlobal, x.Right.Idx0(), variable, x.Right)
			x.Operator = token.ASSIGN
		}
	})
}

// defineAppend defines the hidden function that implements +=.
func defineAppend(w *values.Realm) {
	rt := w.Runtime()
	var sum goja.Callable // left + right for operands that are not both strings; nil before its first use
	Define(rt.GlobalObject(), appendGlobal, rt.ToValue(func(call goja.FunctionCall) goja.Value {
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
			panicOnError(err)
			sum, _ = goja.AssertFunction(f)
		}
		total, err := sum(goja.Undefined(), left, right)
		panicOnError(err)
		return total
	}))
}

// panicOnError panics with the error that JavaScript threw.
func panicOnError(err error) {
	if err != nil {
		panic(err)
	}
}
