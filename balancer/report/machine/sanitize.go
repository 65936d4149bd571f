package machine

import "strings"

// Sanitize replaces characters that a terminal would interpret rather than print: control characters,
// line separators, direction marks. Machine formats have no escapes for them that all readers
// understand.
func Sanitize(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e,
			r >= 0x2066 && r <= 0x2069, r == 0xfffe, r == 0xffff:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
