package script

import (
	"regexp"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
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
func (s *Engine) defineAppend() {
	Define(s.Runtime.GlobalObject(), appender, s.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		left, right := call.Argument(0), call.Argument(1)
		if v := s.World.Memory.Append(s.Runtime, left, right); v != nil {
			return v
		}
		a, isText := left.(goja.String)
		if b, ok := right.(goja.String); ok && isText {
			return a.Concat(b)
		}
		return s.sum(left, right)
	}))
}

// sum is left + right for what is no two texts.
func (s *Engine) sum(left, right goja.Value) goja.Value {
	v := s.Cached(appender, func() *goja.Object {
		f, err := s.Runtime.RunString("(left, right) => left + right")
		if err != nil {
			s.Rethrow(err)
		}
		return f.(*goja.Object)
	})
	add, _ := goja.AssertFunction(v)
	total, err := add(goja.Undefined(), left, right)
	if err != nil {
		s.Rethrow(err)
	}
	return total
}
