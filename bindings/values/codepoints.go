package values

import (
	"unicode/utf16"

	"github.com/dop251/goja"
)

// codePoints returns the characters of a JavaScript string; a lone surrogate is kept.
func codePoints(s goja.String) []rune {
	n := s.Length()
	out := make([]rune, 0, n)
	for i := 0; i < n; i++ {
		r := rune(s.CharAt(i))
		if utf16.IsSurrogate(r) && i+1 < n {
			if pair := utf16.DecodeRune(r, rune(s.CharAt(i+1))); pair != '\uFFFD' {
				r = pair
				i++
			}
		}
		out = append(out, r)
	}
	return out
}
