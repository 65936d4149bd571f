package values

import (
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// string formats a string inside a value: quoted, truncated at the limit, split at its line ends if it
// is long (rules/04-values-and-language §3.2, rule 2).
func (in *inspector) string(s goja.String, single bool) string {
	text, trailer := s.String(), ""
	length := s.Length()
	if limit := in.o.MaxString; in.serverDepth == 0 && length > limit {
		s = s.Substring(0, limit)
		text = s.String()
		trailer = "... " + countText(length-limit, "more character")
		length = limit
	}
	if strings.ContainsRune(text, utf8.RuneError) {
		return in.paint(styleString, quoteRunes(codePoints(s))) + trailer
	}
	if single || in.o.Compact == CompactFull || length <= 16 || length <= in.o.Width-in.indent-4 ||
		!strings.Contains(text, "\n") {
		return in.paint(styleString, quoteString(text)) + trailer
	}
	var parts []string
	for line := range strings.SplitAfterSeq(text, "\n") {
		if line != "" {
			parts = append(parts, in.paint(styleString, quoteString(line)))
		}
	}
	return strings.Join(parts, " +\n"+strings.Repeat(" ", in.indent+2)) + trailer
}

func quoteString(s string) string {
	if isPlain(s) {
		return "'" + s + "'"
	}
	return quoteRunes([]rune(s))
}

// isPlain reports whether s needs neither an escape nor another quote.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '\'' || c == '\\' || c >= 0x7F {
			return false
		}
	}
	return true
}

// quoteRunes chooses the quote that needs no escape, and escapes invisible characters.
func quoteRunes(runes []rune) string {
	quote := '\''
	if has := func(r rune) bool { return strings.ContainsRune(string(runes), r) }; has('\'') {
		switch {
		case !has('"'):
			quote = '"'
		case !has('`') && !strings.Contains(string(runes), "${"):
			quote = '`'
		}
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range runes {
		writeEscaped(&b, r, quote)
	}
	b.WriteRune(quote)
	return b.String()
}

const upperHex = "0123456789ABCDEF"

func writeEscaped(b *strings.Builder, r, quote rune) {
	if i := strings.IndexRune("\b\t\n\f\r\\", r); i >= 0 {
		b.WriteByte('\\')
		b.WriteByte(`btnfr\`[i])
		return
	}
	switch {
	case r == '\'' && quote == '\'':
		b.WriteString(`\'`)
	case r < 0x20 || r >= 0x7F && r <= 0x9F:
		b.WriteString(`\x`)
		b.WriteByte(upperHex[r>>4])
		b.WriteByte(upperHex[r&15])
	case r >= 0xD800 && r <= 0xDFFF, plaintext.IsControl(r):
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(lowerHex[r>>shift&15])
		}
	default:
		b.WriteRune(r)
	}
}
