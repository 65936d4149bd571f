package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const (
	width  = 80 // fits every terminal
	margin = 34 // of descriptions
)

// Options lists options by section, as the help does.
func Options(groups []Group) string {
	var text strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&text, "%s:\n", g.Title)
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				text.WriteString(option(f))
			}
		})
		text.WriteByte('\n')
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// option returns the lines of one option.
func option(f *pflag.Flag) string {
	_, about := Value(f)
	form := "      " + Form(f)
	if f.Shorthand != "" {
		form = "  -" + f.Shorthand + ", " + Form(f)
	}
	lines := Wrap(about, width-margin)
	if len(form) >= margin {
		return form + "\n" + indent(lines)
	}
	return fmt.Sprintf("%-*s", margin, form) + strings.TrimLeft(indent(lines), " ")
}

func indent(lines []string) string {
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(strings.Repeat(" ", margin) + line + "\n")
	}
	return text.String()
}

// Wrap breaks a text between words.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
