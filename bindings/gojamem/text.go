package gojamem

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// minGrowingText is from which length on a text grows in place.
const minGrowingText = 512

// growingText is a text with room behind it. Texts that were handed out are its
// beginnings, which nobody changes: only the longest of them grows where it stands.
type growingText struct {
	buf         []byte
	wholeBuffer goja.String // all of the buffer as it was when it was made: plain ASCII
}

// growingTexts are the texts that grew last, the latest first: two that a script appends
// to in turns both grow in place.
type growingTexts [2]growingText

// Append returns left + right for texts; nil if goja has to do it.
func (m *Memory) Append(rt *goja.Runtime, left, right goja.Value) goja.Value {
	if !m.IsKnown() {
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

// find returns the place of the text that is all of a growing one; less than 0 for none.
func (g *growingTexts) find(text string) int {
	for i, t := range g {
		if len(t.buf) == len(text) && unsafe.SliceData(t.buf) == unsafe.StringData(text) {
			return i
		}
	}
	return -1
}

// reallocate copies a text to a larger buffer, with room to double.
func (t *growingText) reallocate(rt *goja.Runtime, text string, more int) {
	all := make([]byte, 2*(len(text)+more))
	t.buf = all[:copy(all, text)]
	t.wholeBuffer = rt.ToValue(unsafe.String(unsafe.SliceData(all), len(all))).(goja.String)
}

// asciiOf returns a text without copying it. It returns false if goja holds the text in
// another form because it is not ASCII.
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
