package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const (
	helpWidth  = 80 // fits every terminal
	helpIndent = 34 // of descriptions
)

// Usage lists options by section.
func Usage(groups []Group) string {
	var text strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&text, "%s:\n", g.Title)
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				text.WriteString(flagUsage(f))
			}
		})
		text.WriteByte('\n')
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// flagUsage returns the lines of one option. A name in backquotes at the
// beginning of its description stands for its value.
func flagUsage(f *pflag.Flag) string {
	form, about := "      --"+f.Name, f.Usage
	if f.Shorthand != "" {
		form = "  -" + f.Shorthand + ", --" + f.Name
	}
	if rest, ok := strings.CutPrefix(about, "`"); ok {
		value, rest, _ := strings.Cut(rest, "` ")
		about = rest
		if f.NoOptDefVal != "" {
			form += "[=" + value + "]"
		} else {
			form += " " + value
		}
	}
	lines := wrap(about, helpWidth-helpIndent)
	if len(form) >= helpIndent {
		return form + "\n" + indent(lines)
	}
	return fmt.Sprintf("%-*s", helpIndent, form) + strings.TrimLeft(indent(lines), " ")
}

func indent(lines []string) string {
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(strings.Repeat(" ", helpIndent) + line + "\n")
	}
	return text.String()
}

// wrap breaks a text between words.
func wrap(text string, width int) []string {
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
