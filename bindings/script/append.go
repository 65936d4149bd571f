package script

import (
	"reflect"
	"regexp"
	"unsafe"

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

// longText is from which length on a text grows in place.
const longText = 512

// growing is a text with room behind it. Texts that were handed out are its
// beginnings, which nobody changes: only the longest of them grows where it stands.
type growing struct {
	buf  []byte
	room goja.String // all of the buffer, as it was when it was made: plain ASCII
}

// texts that grow at the same time do so in place as long as they are no more.
const growingAtOnce = 2

// grown is what an Engine knows of texts that grow, the latest first.
type grown [growingAtOnce]growing

// add returns left + right; nil when that is for the engine to do.
func (g *grown) add(rt *goja.Runtime, left, right goja.Value) goja.Value {
	text, ok := asciiOf(left)
	if !ok || len(text) < longText {
		return nil
	}
	more, ok := asciiOf(right)
	if !ok || !isASCII(more) {
		return nil
	}
	i := g.find(text)
	if i < 0 {
		if !isASCII(text) {
			return nil
		}
		i = len(g) - 1
		g[i] = growing{}
	}
	if t := &g[i]; len(t.buf) == 0 || len(t.buf)+len(more) > cap(t.buf) {
		t.move(rt, text, len(more))
	}
	t := g[i]
	t.buf = append(t.buf, more...)
	copy(g[1:], g[:i])
	g[0] = t
	return t.room.Substring(0, len(t.buf))
}

// find returns the place of the text that is all of a growing one; less than 0 for
// none.
func (g *grown) find(text string) int {
	for i, t := range g {
		if len(t.buf) == len(text) && unsafe.SliceData(t.buf) == unsafe.StringData(text) {
			return i
		}
	}
	return -1
}

// move gives a text new room, for so much more and as much again as it has.
func (t *growing) move(rt *goja.Runtime, text string, more int) {
	all := make([]byte, 2*(len(text)+more))
	t.buf = all[:copy(all, text)]
	t.room = rt.ToValue(unsafe.String(unsafe.SliceData(all), len(all))).(goja.String)
}

// asciiOf returns a text without copying it, unless the engine holds it in another
// form because it is no ASCII.
func asciiOf(v goja.Value) (string, bool) {
	text, ok := v.(goja.String)
	if !ok || reflect.TypeOf(text).Kind() == reflect.Slice {
		return "", false
	}
	return text.String(), true
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// defineAppend defines what stands for +=.
func (s *Engine) defineAppend() {
	var texts grown
	Define(s.Runtime.GlobalObject(), appender, s.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		left, right := call.Argument(0), call.Argument(1)
		if v := texts.add(s.Runtime, left, right); v != nil {
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
