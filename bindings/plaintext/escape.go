package plaintext

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Strings from a cluster may contain characters that terminals interpret rather than show: escape
// sequences, and marks that change the direction of text. All output of the shell itself is escaped
// here; the output of a script's print() is not.

// IsControl reports whether terminals interpret a character: control characters except the line feed
// and the tab, line separators, direction marks.
func IsControl(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	}
	return r <= 0x9f || r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e ||
		r >= 0x2066 && r <= 0x2069
}

// escaper is a method of escaping control characters.
type escaper struct {
	// writeEscaped writes an escaped character, and writeRawByte a byte that is not valid UTF-8.
	writeEscaped func(b *strings.Builder, r rune)
	writeRawByte func(b *strings.Builder, c byte)
	// needsEscape reports whether a character has to be escaped.
	needsEscape func(r rune) bool
	// keepStyles preserves the shell's own colours.
	keepStyles bool
}

const hex = "0123456789ABCDEF"

func writeHexByte(b *strings.Builder, c byte) {
	b.WriteString(`\x` + string(hex[c>>4]) + string(hex[c&15]))
}

func writeUnicodeEscape(b *strings.Builder, r rune) {
	b.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(hex[r>>shift&15])
	}
}

// writeRuneEscape writes \x1B or \u202E, in the syntax of JavaScript.
func writeRuneEscape(b *strings.Builder, r rune) {
	if r <= 0xff {
		writeHexByte(b, byte(r))
		return
	}
	writeUnicodeEscape(b, r)
}

var (
	textEscaper   = escaper{writeEscaped: writeRuneEscape, writeRawByte: writeHexByte, needsEscape: IsControl}
	styledEscaper = escaper{writeEscaped: writeRuneEscape, writeRawByte: writeHexByte, needsEscape: IsControl,
		keepStyles: true}
	lineEscaper = escaper{
		writeEscaped: writeShortEscape,
		writeRawByte: writeHexByte,
		needsEscape:  func(r rune) bool { return IsControl(r) || r < 0x20 },
	}
	jsonEscaper = escaper{
		writeEscaped: writeUnicodeEscape,
		writeRawByte: func(b *strings.Builder, _ byte) { writeUnicodeEscape(b, utf8.RuneError) },
		needsEscape:  IsControl,
	}
)

// writeShortEscape works like writeRuneEscape, but uses the short escapes of characters that a line can't contain.
func writeShortEscape(b *strings.Builder, r rune) {
	switch r {
	case '\n':
		b.WriteString(`\n`)
	case '\t':
		b.WriteString(`\t`)
	default:
		writeRuneEscape(b, r)
	}
}

// EscapeText escapes the control characters and the invalid UTF-8 of a text.
func EscapeText(text string) string { return textEscaper.escape(text) }

// EscapeLine works like EscapeText, for text within a line such as a name in a table.
func EscapeLine(text string) string { return lineEscaper.escape(text) }

// EscapeStyled works like EscapeText, for text that the shell has coloured. It preserves the shell's own
// colours and escapes all other sequences.
func EscapeStyled(text string) string { return styledEscaper.escape(text) }

// EscapeJSON works like EscapeText, for JSON. It does not change the meaning of the JSON.
func EscapeJSON(text string) string { return jsonEscaper.escape(text) }

func (e escaper) escape(text string) string {
	i := e.nextToEscape(text)
	if i < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	for ; i >= 0; i = e.nextToEscape(text) {
		b.WriteString(text[:i])
		text = text[i:]
		r, size := utf8.DecodeRuneInString(text)
		switch style := styleAt(text); {
		case e.keepStyles && style > 0:
			b.WriteString(text[:style])
			size = style
		case r == utf8.RuneError && size == 1:
			e.writeRawByte(&b, text[0])
		default:
			e.writeEscaped(&b, r)
		}
		text = text[size:]
	}
	b.WriteString(text)
	return b.String()
}

// nextToEscape returns the index of the first character to escape; -1 without one.
func (e escaper) nextToEscape(text string) int {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if (c < 0x20 || c == 0x7f) && e.needsEscape(rune(c)) {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || e.needsEscape(r) {
			return i
		}
		i += size
	}
	return -1
}

// ownStyles are the styles that the shell writes.
var ownStyles = []string{
	"0", "1", "2", "22", "31", "32", "33", "34", "35", "36", "39", "90", "1;31", "1;33",
	"97;44", "30;43", "30;42", "97;45", "30;46", "97;41", // backgrounds
}

// styleAt returns the length of one of the shell's styles at the beginning of a text; 0 without one.
func styleAt(text string) int {
	rest, found := strings.CutPrefix(text, "\x1b[")
	if !found {
		return 0
	}
	code, _, ended := strings.Cut(rest[:min(len(rest), 6)], "m")
	if !ended || !slices.Contains(ownStyles, code) {
		return 0
	}
	return len("\x1b[m") + len(code)
}

// Writer escapes control characters in its input.
type Writer struct {
	out         io.Writer
	escape      func(string) string
	partialRune []byte // the incomplete character at the end of the last write
}

// NewWriter returns a Writer for text.
func NewWriter(to io.Writer) *Writer { return &Writer{out: to, escape: EscapeText} }

// NewJSONWriter returns a Writer for JSON.
func NewJSONWriter(to io.Writer) *Writer { return &Writer{out: to, escape: EscapeJSON} }

// Write writes complete characters; an incomplete one at the end waits for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	data := append(w.partialRune, p...)
	end := len(data)
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		if utf8.RuneStart(data[len(data)-back]) {
			if !utf8.FullRune(data[len(data)-back:]) {
				end = len(data) - back
			}
			break
		}
	}
	text := string(data[:end])
	w.partialRune = append([]byte(nil), data[end:]...)
	if _, err := io.WriteString(w.out, w.escape(text)); err != nil {
		return 0, err
	}
	return len(p), nil
}
