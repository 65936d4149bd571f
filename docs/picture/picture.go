// Package picture draws what a terminal shows as an SVG, for the README. A test in
// cmd/shardsh (readme_linux_test.go) makes session.svg anew from a session with the
// program, and compares.
package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"shardsh/repl/ptytest"
)

// What a character takes, and what is around the text.
const (
	fontSize = 14
	wide     = 8.4 // of a character: 0.6 of the font's size, in most fonts
	high     = 19.0
	margin   = 18.0
	titleBar = 34.0
)

// colours are those of codes of terminals, on light paper and on dark.
var colours = []struct{ code, light, dark string }{
	{"30", "#1f2328", "#1f2328"}, {"31", "#b62324", "#ff7b72"}, {"32", "#116329", "#7ee787"},
	{"33", "#8a4b00", "#e3b341"}, {"34", "#0550ae", "#79c0ff"}, {"35", "#7a3bd0", "#d2a8ff"},
	{"36", "#126e7a", "#56d4dd"}, {"37", "#57606a", "#b1bac4"}, {"90", "#6e7781", "#8b949e"},
	{"97", "#ffffff", "#ffffff"},
	{"41", "#cf222e", "#cf222e"}, {"42", "#4ac26b", "#4ac26b"}, {"43", "#d4a72c", "#d4a72c"},
	{"44", "#0969da", "#1f6feb"}, {"45", "#8250df", "#8957e5"}, {"46", "#39c5cf", "#39c5cf"},
}

// style is what a viewer chooses light or dark by. The text has the font that is
// there; how wide it is, each run of characters says.
func style() string {
	var b strings.Builder
	fmt.Fprintf(&b, "text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\","+
		"\"Liberation Mono\",monospace;white-space:pre;fill:#1f2328}.b{font-weight:bold}.i{font-style:italic}"+
		".paper{fill:#ffffff;stroke:#d0d7de}.title{fill:#6e7781}.dot{fill:#d0d7de}\n", fontSize)
	for _, c := range colours {
		fmt.Fprintf(&b, ".c%s{fill:%s}", c.code, c.light)
	}
	b.WriteString("\n@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117;stroke:#30363d}" +
		".title{fill:#8b949e}.dot{fill:#30363d}")
	for _, c := range colours {
		if c.dark != c.light {
			fmt.Fprintf(&b, ".c%s{fill:%s}", c.code, c.dark)
		}
	}
	return b.String() + "}"
}

// Draw returns the picture of a terminal with so many columns. The title is above it,
// the description for who can't see it.
func Draw(title, description string, columns int, rows [][]ptytest.Run) []byte {
	width, height := float64(columns)*wide+2*margin, titleBar+float64(len(rows))*high+margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `, width, height)
	fmt.Fprintf(&b, `width="%.0f" height="%.0f" role="img">`, width, height)
	fmt.Fprintf(&b, "\n<title>%s</title>\n<style>%s</style>\n", escaped(description), style())
	fmt.Fprintf(&b, `<rect class="paper" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="9"/>`, width-1, height-1)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle class="dot" cx="%d" cy="17" r="5.5"/>`, 20+18*i)
	}
	fmt.Fprintf(&b, "\n<text class=\"title\" x=\"%.0f\" y=\"22\" text-anchor=\"middle\">%s</text>\n",
		width/2, escaped(title))
	for i, row := range rows {
		for _, run := range row {
			drawRun(&b, titleBar+float64(i)*high, run)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// drawRun draws characters of one style: what is behind them first.
func drawRun(b *bytes.Buffer, top float64, run ptytest.Run) {
	left, width := margin+float64(run.Column)*wide, float64(run.Width)*wide
	var classes []string
	for code := range strings.SplitSeq(run.Style, ";") {
		switch {
		case code == "1":
			classes = append(classes, "b")
		case code == "3":
			classes = append(classes, "i")
		case strings.HasPrefix(code, "4"):
			fmt.Fprintf(b, `<rect class="c%s" x="%.1f" y="%.1f" width="%.1f" height="%.0f"/>`, code, left, top, width, high)
		case code != "":
			classes = append(classes, "c"+code)
		}
	}
	if strings.TrimSpace(run.Text) != "" {
		class := ""
		if len(classes) > 0 {
			class = fmt.Sprintf(` class="%s"`, strings.Join(classes, " "))
		}
		fmt.Fprintf(b, `<text%s x="%.1f" y="%.1f" textLength="%.1f" `, class, left, top+high-5, width)
		fmt.Fprintf(b, `lengthAdjust="spacingAndGlyphs" xml:space="preserve">%s</text>`, escaped(run.Text))
	}
	b.WriteByte('\n')
}

// escaped is a text as XML has it.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}
