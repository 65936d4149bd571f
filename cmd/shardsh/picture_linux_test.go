package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"shardsh/repl/ptytest"
)

// The size of the font, of a character, and of what is around the text of a picture.
const (
	fontSize   = 14
	charWidth  = 8.4 // 0.6 of the font's size, in most fonts
	charHeight = 19.0
	margin     = 18.0
	titleBar   = 34.0
)

// screenColours are those of codes of terminals, on light paper and on dark.
var screenColours = []struct{ code, light, dark string }{
	{"30", "#1f2328", "#1f2328"}, {"31", "#b62324", "#ff7b72"}, {"32", "#116329", "#7ee787"},
	{"33", "#8a4b00", "#e3b341"}, {"34", "#0550ae", "#79c0ff"}, {"35", "#7a3bd0", "#d2a8ff"},
	{"36", "#126e7a", "#56d4dd"}, {"37", "#57606a", "#b1bac4"}, {"90", "#6e7781", "#8b949e"},
	{"97", "#ffffff", "#ffffff"},
	{"41", "#cf222e", "#cf222e"}, {"42", "#4ac26b", "#4ac26b"}, {"43", "#d4a72c", "#d4a72c"},
	{"44", "#0969da", "#1f6feb"}, {"45", "#8250df", "#8957e5"}, {"46", "#39c5cf", "#39c5cf"},
}

// svgStyle is what a viewer chooses light or dark by. The text has the font that is
// there; how wide it is, each run of characters says.
func svgStyle() string {
	var b strings.Builder
	fmt.Fprintf(&b, "text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\","+
		"\"Liberation Mono\",monospace;white-space:pre;fill:#1f2328}.b{font-weight:bold}.i{font-style:italic}"+
		".paper{fill:#ffffff;stroke:#d0d7de}.title{fill:#6e7781}.dot{fill:#d0d7de}\n", fontSize)
	for _, c := range screenColours {
		fmt.Fprintf(&b, ".c%s{fill:%s}", c.code, c.light)
	}
	b.WriteString("\n@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117;stroke:#30363d}" +
		".title{fill:#8b949e}.dot{fill:#30363d}")
	for _, c := range screenColours {
		if c.dark != c.light {
			fmt.Fprintf(&b, ".c%s{fill:%s}", c.code, c.dark)
		}
	}
	return b.String() + "}"
}

// drawScreen returns the picture of a terminal as an SVG. The title is above it, the
// description for readers that cannot see it.
func drawScreen(title, description string, columns int, rows [][]ptytest.StyledText) []byte {
	width, height := float64(columns)*charWidth+2*margin, titleBar+float64(len(rows))*charHeight+margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `, width, height)
	fmt.Fprintf(&b, `width="%.0f" height="%.0f" role="img">`, width, height)
	fmt.Fprintf(&b, "\n<title>%s</title>\n<style>%s</style>\n", xmlText(description), svgStyle())
	fmt.Fprintf(&b, `<rect class="paper" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="9"/>`, width-1, height-1)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle class="dot" cx="%d" cy="17" r="5.5"/>`, 20+18*i)
	}
	fmt.Fprintf(&b, "\n<text class=\"title\" x=\"%.0f\" y=\"22\" text-anchor=\"middle\">%s</text>\n",
		width/2, xmlText(title))
	for i, row := range rows {
		for _, run := range row {
			drawRun(&b, titleBar+float64(i)*charHeight, run)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// drawRun draws characters of one style: what is behind them first.
func drawRun(b *bytes.Buffer, top float64, run ptytest.StyledText) {
	left, width := margin+float64(run.Column)*charWidth, float64(run.Width)*charWidth
	var classes []string
	for code := range strings.SplitSeq(run.Style, ";") {
		switch {
		case code == "1":
			classes = append(classes, "b")
		case code == "3":
			classes = append(classes, "i")
		case strings.HasPrefix(code, "4"):
			fmt.Fprintf(b, `<rect class="c%s" x="%.1f" y="%.1f" width="%.1f" height="%.0f"/>`, code, left, top, width, charHeight)
		case code != "":
			classes = append(classes, "c"+code)
		}
	}
	if strings.TrimSpace(run.Text) != "" {
		class := ""
		if len(classes) > 0 {
			class = fmt.Sprintf(` class="%s"`, strings.Join(classes, " "))
		}
		fmt.Fprintf(b, `<text%s x="%.1f" y="%.1f" textLength="%.1f" `, class, left, top+charHeight-5, width)
		fmt.Fprintf(b, `lengthAdjust="spacingAndGlyphs" xml:space="preserve">%s</text>`, xmlText(run.Text))
	}
	b.WriteByte('\n')
}

// xmlText escapes a text for XML.
func xmlText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}
