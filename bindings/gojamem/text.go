package gojamem

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// minGrowingText is the minimum length of a string that grows in place.
const minGrowingText = 512

// growingText is a string in a buffer with spare capacity. Strings that were returned earlier are
// prefixes of the buffer, which never change. Only the longest string grows in place.
type growingText struct {
	buf         []byte
	wholeBuffer goja.String // the whole buffer as a string: plain ASCII
}

// growingTexts holds the two strings that grew last, the latest first, so that a script can append to
// two strings in turn.
type growingTexts [2]growingText

// Append returns left + right for strings; nil if goja has to concatenate them.
func (m *Memory) Append(rt *goja.Runtime, left, right goja.Value) goja.Value {
	if !m.CanRead() {
		return nil
	}
	text, ok := asciiOf(left)
	if !ok || len(text) < minGrowingText {
		return nil
	}
	more, ok := asciiOf(right)
	if !ok || !isASCII(more) {
		return nil
	}
	g := &m.texts
	i := g.find(text)
	if i < 0 {
		if !isASCII(text) {
			return nil
		}
		i = len(g) - 1
		g[i] = growingText{}
	}
	if t := &g[i]; len(t.buf) == 0 || len(t.buf)+len(more) > cap(t.buf) {
		t.reallocate(rt, text, len(more))
	}
	t := g[i]
	t.buf = append(t.buf, more...)
	copy(g[1:], g[:i])
	g[0] = t
	return t.wholeBuffer.Substring(0, len(t.buf))
}

// find returns the index of the growingText whose string is text; negative for none.
func (g *growingTexts) find(text string) int {
	for i, t := range g {
		if len(t.buf) == len(text) && unsafe.SliceData(t.buf) == unsafe.StringData(text) {
			return i
		}
	}
	return -1
}

// reallocate copies a string to a larger buffer that has room to double.
func (t *growingText) reallocate(rt *goja.Runtime, text string, more int) {
	all := make([]byte, 2*(len(text)+more))
	t.buf = all[:copy(all, text)]
	t.wholeBuffer = rt.ToValue(unsafe.String(unsafe.SliceData(all), len(all))).(goja.String)
}

// asciiOf returns a string without copying it. It returns false if goja stores the string in another
// form because it is not ASCII.
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
