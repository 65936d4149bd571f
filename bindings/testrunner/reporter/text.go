// Package reporter formats the results of tests: as text for humans, as JUnit XML for CI, as JSON for
// programs.
package reporter

import (
	"fmt"
	"io"
	"strings"
	"time"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/testrunner"
)

// Text writes the results of tests for humans, file by file.
type Text struct {
	To    io.Writer
	Color bool
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

func (x Text) paint(color, text string) string {
	return plaintext.Paint(x.Color, color, text)
}

// marks are the signs before a test.
var marks = map[testrunner.Status]struct{ sign, color string }{
	testrunner.Passed: {"✓", green}, testrunner.Failed: {"✗", red}, testrunner.Skipped: {"-", dim},
	testrunner.Todo:   {"…", yellow},
	testrunner.Listed: {" ", ""},
}

// WriteFile writes the tests of one file.
func (x Text) WriteFile(f testrunner.FileResult) {
	var b strings.Builder
	b.WriteString(plaintext.EscapeLine(f.Path) + "\n")
	x.writeOutput(&b, f.Output, "  ")
	if f.Problem != nil {
		b.WriteString("  " + x.paint(red, "✗ the file could not be run") + "\n")
		x.writeProblem(&b, *f.Problem)
	}
	var within []string
	for _, t := range f.Tests {
		x.writeSuites(&b, within, t.Suites)
		within = t.Suites
		x.writeTest(&b, t)
	}
	_, _ = io.WriteString(x.To, b.String())
}

// writeSuites writes the descriptions of the suites that begin before a test.
func (x Text) writeSuites(b *strings.Builder, before, now []string) {
	same := true
	for i, name := range now {
		same = same && i < len(before) && before[i] == name
		if !same {
			b.WriteString(indent(i+1) + plaintext.EscapeLine(name) + "\n")
		}
	}
}

func indent(n int) string { return strings.Repeat("  ", n) }

// slowTest is the duration from which the duration of a test is shown.
const slowTest = 100 * time.Millisecond

func (x Text) writeTest(b *strings.Builder, t testrunner.Result) {
	m := marks[t.Status]
	b.WriteString(indent(len(t.Suites)+1) + x.paint(m.color, m.sign) + " " + plaintext.EscapeLine(t.Name))
	var notes []string
	if t.Release != "" {
		notes = append(notes, t.Release)
	}
	if t.Faults > 0 {
		notes = append(notes, fmt.Sprintf("%d faults", t.Faults))
	}
	if t.Status == testrunner.Failed && t.Seed != 0 {
		notes = append(notes, fmt.Sprintf("seed %d", t.Seed))
	}
	if t.Took >= slowTest {
		notes = append(notes, durationText(t.Took))
	}
	if len(notes) > 0 {
		b.WriteString(x.paint(dim, " ("+strings.Join(notes, ", ")+")"))
	}
	b.WriteByte('\n')
	for _, p := range t.Problems {
		x.writeProblem(b, p)
	}
	x.writeOutput(b, t.Output, indent(len(t.Suites)+2)+"| ")
}

// writeProblem writes a problem, with a coloured diff and its position.
func (x Text) writeProblem(b *strings.Builder, p testrunner.Problem) {
	const left = "      "
	b.WriteByte('\n')
	if p.During != "" {
		b.WriteString(left + x.paint(red, plaintext.EscapeLine(p.During)+":") + "\n")
	}
	for line := range strings.Lines(p.Text) {
		line = strings.TrimRight(plaintext.EscapeStyled(line), "\n")
		switch {
		case line == "":
			b.WriteByte('\n')
			continue
		case strings.HasPrefix(line, "+ "):
			line = x.paint(red, line)
		case strings.HasPrefix(line, "- "):
			line = x.paint(green, line)
		}
		b.WriteString(left + line + "\n")
	}
	if p.At != "" {
		b.WriteString(left + x.paint(dim, "at "+plaintext.EscapeLine(p.At)) + "\n")
		if p.Line != "" {
			b.WriteString(left + "    " + plaintext.EscapeLine(strings.ReplaceAll(p.Line, "\t", " ")) + "\n")
			b.WriteString(left + "    " + strings.Repeat(" ", max(0, p.Column-1)) + "^\n")
		}
	}
	b.WriteByte('\n')
}

// writeOutput writes the output of a test.
func (x Text) writeOutput(b *strings.Builder, text, margin string) {
	for line := range strings.Lines(text) {
		b.WriteString(margin + plaintext.EscapeStyled(strings.TrimRight(line, "\n")) + "\n")
	}
}

// WriteSummary writes the counts. Scripts may parse the last line.
func (x Text) WriteSummary(r testrunner.Report) {
	var b strings.Builder
	b.WriteByte('\n')
	if r.Stopped {
		b.WriteString(x.paint(yellow, "stopped before the end") + "\n")
	}
	x.writeSnapshots(&b, r.Snapshots)
	x.writeCoverage(&b, r.Coverage)
	if n, todo := r.Counts[testrunner.Skipped], r.Counts[testrunner.Todo]; n+todo > 0 {
		b.WriteString(fmt.Sprintf("%d skipped, %d todo\n", n, todo))
	}
	b.WriteString(x.paint(dim, "in "+durationText(r.Took)) + "\n")
	passed := fmt.Sprintf("%d passed", r.Counts[testrunner.Passed])
	failed := fmt.Sprintf("%d failed", r.Counts[testrunner.Failed])
	if r.Counts[testrunner.Failed] > 0 {
		failed = x.paint(red, failed)
	} else {
		passed = x.paint(green, passed)
	}
	b.WriteString(passed + ", " + failed + "\n")
	_, _ = io.WriteString(x.To, b.String())
}

func (x Text) writeSnapshots(b *strings.Builder, c testrunner.SnapshotCounts) {
	for _, n := range []struct {
		count int
		text  string
	}{
		{c.Written, "written"}, {c.Updated, "updated"}, {c.Removed, "removed"},
		{c.Obsolete, "obsolete: --update-snapshots takes them out"},
	} {
		if n.count > 0 {
			fmt.Fprintf(b, "snapshots: %d %s\n", n.count, n.text)
		}
	}
}

// writeCoverage writes how many lines of each script ran, and which lines did not.
func (x Text) writeCoverage(b *strings.Builder, files []testrunner.FileCoverage) {
	if len(files) == 0 {
		return
	}
	b.WriteString("lines that ran:\n")
	lines, covered := 0, 0
	for _, f := range files {
		lines, covered = lines+len(f.Lines), covered+f.Covered()
		text := fmt.Sprintf("  %4s  %s: %d of %d", percent(f.Covered(), len(f.Lines)), plaintext.EscapeLine(f.Path),
			f.Covered(), len(f.Lines))
		if missed := f.Missed(); len(missed) > 0 {
			text += ", not " + testrunner.LinesText(missed)
		}
		b.WriteString(text + "\n")
	}
	fmt.Fprintf(b, "  %4s  in all: %d of %d\n\n", percent(covered, lines), covered, lines)
}

func percent(part, all int) string {
	if all == 0 {
		return "100%"
	}
	return fmt.Sprintf("%d%%", 100*part/all)
}

func durationText(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
