package repl

import (
	"fmt"
	"strings"
)

// Failure holds the parts of an error for printing (rules/04-values-and-language §3.5). All fields
// except Message may be empty.
type Failure struct {
	// Name is the error's class, such as MongoServerError.
	Name string
	// CodeName is the server's name for the error code, which is printed in brackets.
	CodeName string
	Message  string
	// Details holds further lines in their printed form, such as "Write Errors: [...]".
	Details string
	// File is the script that caused the error; it is empty or InputName for typed input. Line and
	// Column count from 1; a Line of 0 means that the position is unknown.
	File         string
	Line, Column int
	// SourceLine is the text of the line of a syntax error, which is printed with a mark under the
	// column.
	SourceLine string
}

const (
	boldRed    = "\x1b[1;31m"
	boldYellow = "\x1b[1;33m"
	resetStyle = "\x1b[0m"
)

func (f Failure) format(color bool) string {
	paint := func(code, s string) string {
		if !color || s == "" {
			return s
		}
		return code + s + resetStyle
	}
	var b strings.Builder
	b.WriteString(paint(boldRed, f.Name))
	if f.CodeName != "" {
		b.WriteString("[" + f.CodeName + "]")
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(f.Message)
	if f.Details != "" {
		b.WriteString("\n" + f.Details)
	}
	if f.SourceLine != "" && f.Line > 0 {
		b.WriteString("\n\n" + f.sourceFrame())
	}
	if f.File != "" && f.File != InputName {
		b.WriteString("\nat " + f.location())
	}
	text := b.String()
	if strings.Contains(text, "\n") {
		return paint(boldYellow, "Uncaught") + ":\n" + text
	}
	return paint(boldYellow, "Uncaught") + " " + text
}

// sourceFrame returns the line of a syntax error with a mark under the position.
func (f Failure) sourceFrame() string {
	number := fmt.Sprint(f.Line)
	margin := strings.Repeat(" ", len(number))
	return fmt.Sprintf("> %s | %s\n  %s | %s^", number, f.SourceLine, margin, f.indent())
}

// indent returns blanks with the width of the source before the column; tabs are kept.
func (f Failure) indent() string {
	source := []rune(f.SourceLine)
	before := source[:min(max(f.Column-1, 0), len(source))]
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, string(before))
}

func (f Failure) location() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}
