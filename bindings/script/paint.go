package script

import "shardsh/bindings/plaintext"

// The colours of words around values (rules/04-values-and-language §3.7).
const (
	HeadingColor = "1;33"
	NameColor    = "1"
	DimColor     = "2"
)

// Paint returns a text in a colour, if colours are allowed. It escapes the control characters of the
// text.
func (o *Output) Paint(color, text string) string {
	return plaintext.Paint(o.color, color, plaintext.EscapeText(text))
}
