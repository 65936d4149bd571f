package terminal

import (
	"fmt"
	"strings"
	"unicode"
)

// liner edits a single line. In a pasted or recalled input, these marks replace the characters that a line
// cannot contain, so that the input can be edited and keeps its lines. An invisible variation selector tells
// them from a ⏎ or ⇥ that was typed.
const (
	lineBreak = "⏎\ufe0e"
	tabMark   = "⇥\ufe0e"
)

var (
	markReplacer   = strings.NewReplacer("\r\n", lineBreak, "\n", lineBreak, "\r", lineBreak, "\t", tabMark)
	unmarkReplacer = strings.NewReplacer(lineBreak, "\n", tabMark, "\t")
)

// maxUnfoldedColumns is the maximum length of a line that is shown unfolded: liner cannot edit a line
// that does not fit on the screen.
const maxUnfoldedColumns = 1200

// inputFolding replaces long inputs by short marks.
type inputFolding struct {
	blocks map[string]string // blocks by mark
	marks  map[string]string // marks by block
}

// fold returns an input as a single line of printable characters.
func (f *inputFolding) fold(input string) string {
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, markReplacer.Replace(input))
	if len(line) <= maxUnfoldedColumns {
		return line
	}
	if mark, ok := f.marks[input]; ok {
		return mark
	}
	lines := strings.Count(line, lineBreak) + 1
	start := []rune(strings.TrimSpace(strings.NewReplacer(lineBreak, " ", tabMark, " ").Replace(line[:200])))
	mark := fmt.Sprintf("⟦%d: %s… (%d lines, %d characters)⟧", len(f.blocks)+1, string(start[:min(40, len(start))]),
		lines, len([]rune(input)))
	if f.blocks == nil {
		f.blocks, f.marks = make(map[string]string), make(map[string]string)
	}
	f.blocks[mark], f.marks[input] = unmarkReplacer.Replace(line), mark
	return mark
}

// unfold returns the input for a line that may contain marks. It drops line ends at the end, which a
// copied block often has.
func (f *inputFolding) unfold(line string) string {
	line = unmarkReplacer.Replace(line)
	for mark, block := range f.blocks {
		line = strings.ReplaceAll(line, mark, block)
	}
	return strings.TrimRight(line, "\n")
}
