package watch

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"shardsh/bindings/plaintext"
)

// style is the style of a text: the parameters of an escape sequence.
type style string

const (
	plain  style = ""
	bold   style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
	dim    style = "90"
)

// span is a text in one style. It is padded to width on the left or right; 0 is the width of the text.
type span struct {
	text  string
	style style
	width int
	right bool
}

// line is the content of a line on the screen.
type line []span

// newSpan returns a span of any text; control characters are escaped.
func newSpan(text string, s style) span { return span{text: plaintext.EscapeLine(text), style: s} }

// cell returns a span for a column, truncated if it is too wide.
func cell(text string, width int, s style) span {
	return span{text: clip(plaintext.EscapeLine(text), width), style: s, width: width}
}

// rightCell works like cell, but right-aligned.
func rightCell(text string, width int, s style) span {
	c := cell(text, width, s)
	c.right = true
	return c
}

// clip truncates a text that is too wide, and marks the truncation.
func clip(text string, width int) string {
	if twwidth.Width(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return plaintext.Truncate(text, width-1) + "…"
}

// String returns the text of a span with its padding.
func (s span) String() string {
	pad := strings.Repeat(" ", max(0, s.width-twwidth.Width(s.text)))
	if s.right {
		return pad + s.text
	}
	return s.text + pad
}

// render returns a line, limited to the width of the screen.
func (l line) render(width int, color bool) string {
	var b strings.Builder
	left := width
	for _, s := range l {
		text := clip(s.String(), left)
		left -= twwidth.Width(text)
		b.WriteString(plaintext.Paint(color, string(s.style), text))
	}
	if color {
		return b.String()
	}
	return strings.TrimRight(b.String(), " ")
}

// barRunes are bars narrower than a cell.
var barRunes = []rune(" ▏▎▍▌▋▊▉")

// bar returns a bar that shows n as a fraction of a whole.
func bar(n, of int64, width int, s style) span {
	if of <= 0 || n < 0 {
		return span{width: width}
	}
	parts := int(float64(width*8)*float64(n)/float64(of) + 0.5)
	text := strings.Repeat("█", parts/8)
	if rest := parts % 8; rest > 0 {
		text += string(barRunes[rest])
	} else if parts == 0 && n > 0 {
		text = string(barRunes[1])
	}
	return span{text: text, style: s, width: width}
}
