package values

import (
	"strings"

	"shardsh/bindings/plaintext"
)

// style is the role of a piece of text, which determines its colour (rules/04-values-and-language
// §3.7).
type style uint8

const (
	styleNone style = iota
	styleNumber
	styleBigInt
	styleBoolean
	styleString
	styleSymbol
	styleNull
	styleUndefined
	styleRegExp
	styleSpecial
	styleDate
	styleErrorName
	styleLabel
)

// codesOf returns the SGR codes before and after a text.
func codesOf(s style) (on, off string) {
	switch s {
	case styleNumber, styleBigInt, styleBoolean:
		return "33", "39"
	case styleString, styleSymbol:
		return "32", "39"
	case styleNull:
		return "1", "22"
	case styleUndefined:
		return "90", "39"
	case styleRegExp:
		return "31", "39"
	case styleSpecial:
		return "36", "39"
	case styleDate:
		return "35", "39"
	case styleErrorName:
		return "1;31", "0"
	case styleLabel:
		return "1;33", "0"
	default:
		return "", ""
	}
}

// paint returns a text in its colour. It escapes the control characters of the text.
func (in *inspector) paint(s style, text string) string {
	text = plaintext.EscapeText(text)
	if !in.o.Color {
		return text
	}
	on, off := codesOf(s)
	if on == "" {
		return text
	}
	return "\x1b[" + on + "m" + text + "\x1b[" + off + "m"
}

// stripColor removes SGR codes.
func stripColor(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}
