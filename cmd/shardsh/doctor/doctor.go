// Package doctor says whether one can work on a cluster from here: what would be
// connected to and why, as whom, with which rights, and what of it is in the way. It
// changes nothing, and no line of it has a credential.
package doctor

import (
	"fmt"
	"strings"

	"shardsh/bindings/plaintext"
)

// Grade is how a line is to be taken.
type Grade string

// The grades, from good to bad.
const (
	OK   Grade = "ok"
	Warn Grade = "warn"
	Fail Grade = "fail"
)

// Line is one thing that was looked at.
type Line struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Grade   Grade  `json:"grade"`
	Text    string `json:"text"`
	Remedy  string `json:"remedy,omitempty"`
}

// Report is all that was found out.
type Report struct {
	Grade Grade  `json:"grade"` // the worst of the lines
	Lines []Line `json:"lines"`
}

// NewReport makes a report of lines.
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

// gradeColors are those of the grades on a terminal.
func gradeColors() map[Grade]string {
	return map[Grade]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[31m"}
}

// nameWidth is the room for names; longer ones push their text aside.
const nameWidth = 16

// Text returns the report for people. What came from the cluster is escaped.
func (r Report) Text(coloured bool) string {
	var b strings.Builder
	section := ""
	for _, l := range r.Lines {
		if l.Section != section {
			fmt.Fprintf(&b, "%s\n", l.Section)
			section = l.Section
		}
		grade := fmt.Sprintf("%-4s", l.Grade)
		if coloured {
			grade = gradeColors()[l.Grade] + grade + "\x1b[0m"
		}
		fmt.Fprintf(&b, "  %s  %-*s  %s\n", grade, nameWidth, plaintext.VisibleLine(l.Name), plaintext.VisibleLine(l.Text))
		if l.Remedy != "" {
			fmt.Fprintf(&b, "  %*s-> %s\n", nameWidth+8, "", plaintext.VisibleLine(l.Remedy))
		}
	}
	fmt.Fprintf(&b, "%d ok, %d warn, %d fail\n", r.count(OK), r.count(Warn), r.count(Fail))
	return b.String()
}

// section collects the lines of one.
type section struct {
	name  string
	lines []Line
}

func (s *section) add(g Grade, name, remedy, format string, args ...any) {
	s.lines = append(s.lines, Line{s.name, name, g, fmt.Sprintf(format, args...), remedy})
}

func (s *section) ok(name, format string, args ...any) { s.add(OK, name, "", format, args...) }
