// Package findings formats findings of package diagnosis, and plans, as text for the shell, pipes and
// files.
package findings

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"shardsh/balancer/diagnosis"
	"shardsh/bindings/plaintext"
)

// Width is the width of lines. Commands and words are never broken, so that they can be copied; a
// longer one gets its own line.
const Width = 80

// indent is the column at which the text of a finding begins, after its severity.
const indent = 12

// ChunkText returns the answer about one chunk, with the verdict for each shard as its recipient.
func ChunkText(a diagnosis.ChunkAnswer) string {
	var p page
	p.writeWrapped(0, sentence(a.Headline()))
	p.writeHeading("Chunk")
	p.writeWrapped(2, fmt.Sprintf("%s to %s on %s", humanize.Literal(a.Pattern.Bound(a.Chunk.Min)),
		humanize.Literal(a.Pattern.Bound(a.Chunk.Max)), a.Chunk.Shard))
	if len(a.Decisions) > 0 {
		p.writeHeading("Decided about it")
	}
	for _, d := range a.Decisions {
		p.writeWrapped(2, fmt.Sprintf("%s (%s)", d.Text(), d.Code))
	}
	p.writeHeading("As recipients")
	p.writeVerdicts(a.Verdicts)
	if !a.Healthy() {
		p.WriteString("\n")
		p.writeWrapped(0, sentence("The collection: "+a.Answer.Headline()))
		p.writeFindings("Because", a.Causes, a.Time)
	}
	return p.String()
}

// page collects lines.
type page struct{ strings.Builder }

func (p *page) writeHeading(text string) { p.WriteString("\n" + text + "\n") }

// writeLine writes a line of any width.
func (p *page) writeLine(column int, text string) {
	p.WriteString(strings.Repeat(" ", column) + plaintext.EscapeLine(text) + "\n")
}

// writeWrapped writes a text on as many lines as needed, each beginning at a column.
func (p *page) writeWrapped(column int, text string) {
	for _, line := range wrapText(text, Width-column) {
		p.writeLine(column, line)
	}
}

func wrapText(text string, width int) []string {
	return plaintext.WrapAtSpaces(plaintext.EscapeLine(text), width)
}

func (p *page) writeFindings(title string, list []diagnosis.Finding, now time.Time) {
	if len(list) == 0 {
		return
	}
	p.writeHeading(title)
	for _, f := range list {
		p.writeFinding(f, now)
	}
}

// maxAdvisories is the maximum number of known server bugs that are named.
const maxAdvisories = 3

// writeAdvisories writes the worst known server bugs, and how many more there are.
func (p *page) writeAdvisories(list []diagnosis.Finding, most int) {
	if len(list) == 0 {
		return
	}
	p.writeHeading("Known faults of these servers")
	for _, f := range list[:min(len(list), most)] {
		p.writeLabelled(f.Severity.String(), f.Sentence)
	}
	if more := len(list) - most; more > 0 {
		p.writeWrapped(indent, fmt.Sprintf("and %d more: shardsh check --rules advisories --json", more))
	}
}

// writeLabelled writes a label and an indented text.
func (p *page) writeLabelled(word, text string) {
	for i, line := range wrapText(text, Width-indent) {
		head := ""
		if i == 0 {
			head = "  " + word
		}
		p.writeLine(0, fmt.Sprintf("%-*s%s", indent, head, line))
	}
}

// writeFinding writes a finding: sentence, numbers, start time and remedy.
func (p *page) writeFinding(f diagnosis.Finding, now time.Time) {
	p.writeLabelled(f.Severity.String(), fmt.Sprintf("%s (%s)", f.Sentence, f.Code))
	if len(f.Numbers) > 0 {
		p.writeWrapped(indent, numbersText(f.Numbers))
	}
	if !f.Since.IsZero() {
		p.writeWrapped(indent, "since "+timeText(f.Since, now.Sub(f.Since), "%s ago"))
	}
	p.writeRemedy(f, now)
}

// writeRemedy writes who has to act, and how, with the commands if there are any.
func (p *page) writeRemedy(f diagnosis.Finding, now time.Time) {
	who := f.Actor.String() + ": "
	switch n := len(f.Commands); {
	case n == 1:
		p.writeLine(indent, who+f.Commands[0])
	case n > 1:
		p.writeLine(indent, strings.TrimSpace(who))
		for _, command := range f.Commands {
			p.writeLine(indent+2, command)
		}
	default:
		p.writeWrapped(indent, who+diagnosis.DefinitionOf(f.Code).Remedy)
	}
	for i, command := range f.InsteadOfWaiting {
		if i == 0 {
			p.writeLine(indent, "or:")
		}
		p.writeLine(indent+2, command)
	}
	if !f.BalancerActsAt.IsZero() {
		p.writeWrapped(indent, "by itself at "+timeText(f.BalancerActsAt, f.BalancerActsAt.Sub(now), "in %s"))
	}
}

// numbersText formats the numbers of a finding.
func numbersText(list []diagnosis.Number) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = splitCamelCase(n.Name) + " " + n.Text()
	}
	return strings.Join(parts, ", ")
}

// splitCamelCase converts the name of a number to words: failedRounds is "failed rounds".
func splitCamelCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// timeText formats a time with its distance from now.
func timeText(t time.Time, distance time.Duration, form string) string {
	text := t.UTC().Format(time.RFC3339)
	if distance < 0 {
		return text
	}
	return text + " (" + fmt.Sprintf(form, humanize.Duration(distance)) + ")"
}

func (p *page) writeVerdicts(list []diagnosis.RecipientVerdict) {
	width := 0
	for _, v := range list {
		width = max(width, twwidth.Width(plaintext.EscapeLine(string(v.Shard))))
	}
	for _, v := range list {
		mark := "no "
		if v.CanReceive {
			mark = "yes"
		}
		name := plaintext.EscapeLine(string(v.Shard))
		p.writeLine(2, name+strings.Repeat(" ", width-twwidth.Width(name))+"  "+mark+"  "+v.Reason)
	}
}

// sentence appends a full stop. It does not capitalize, because the text may begin with a name.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }
