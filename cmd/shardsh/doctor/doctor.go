// Package doctor checks whether the user can work on a cluster from this machine: the connection
// settings and their sources, the user, the privileges, and the problems. It changes nothing, and its
// output has no credentials.
package doctor

import (
	"fmt"
	"strings"

	"shardsh/bindings/plaintext"
)

// Grade is the result of a check.
type Grade string

// The grades, the best first.
const (
	OK   Grade = "ok"
	Warn Grade = "warn"
	Fail Grade = "fail"
)

// Line is the result of one check.
type Line struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Grade   Grade  `json:"grade"`
	Text    string `json:"text"`
	Remedy  string `json:"remedy,omitempty"`
}

// Report holds the results of all checks.
type Report struct {
	Grade Grade  `json:"grade"` // the worst of the lines
	Lines []Line `json:"lines"`
}

// NewReport returns a report with lines.
func NewReport(lines []Line) Report {
	r := Report{Grade: OK, Lines: lines}
	for _, l := range lines {
		if l.Grade == Fail || l.Grade == Warn && r.Grade == OK {
			r.Grade = l.Grade
		}
	}
	return r
}

// count returns how many lines have a grade.
func (r Report) count(g Grade) (n int) {
	for _, l := range r.Lines {
		if l.Grade == g {
			n++
		}
	}
	return n
}

// gradeColors are the colours of the grades on a terminal.
var gradeColors = map[Grade]string{OK: "32", Warn: "33", Fail: "31"}

// nameWidth is the width of the names' column; longer names shift their text.
const nameWidth = 16

// Text formats the report for humans. It escapes strings from the cluster.
func (r Report) Text(coloured bool) string {
	var b strings.Builder
	section := ""
	for _, l := range r.Lines {
		if l.Section != section {
			fmt.Fprintf(&b, "%s\n", l.Section)
			section = l.Section
		}
		grade := plaintext.Paint(coloured, gradeColors[l.Grade], fmt.Sprintf("%-4s", l.Grade))
		fmt.Fprintf(&b, "  %s  %-*s  %s\n", grade, nameWidth, plaintext.EscapeLine(l.Name), plaintext.EscapeLine(l.Text))
		if l.Remedy != "" {
			fmt.Fprintf(&b, "  %*s-> %s\n", nameWidth+8, "", plaintext.EscapeLine(l.Remedy))
		}
	}
	fmt.Fprintf(&b, "%d ok, %d warn, %d fail\n", r.count(OK), r.count(Warn), r.count(Fail))
	return b.String()
}

// section collects the lines of one section.
type section struct {
	name  string
	lines []Line
}

func (s *section) add(g Grade, name, remedy, format string, args ...any) {
	s.lines = append(s.lines, Line{s.name, name, g, fmt.Sprintf(format, args...), remedy})
}

func (s *section) addOK(name, format string, args ...any) { s.add(OK, name, "", format, args...) }
