package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
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

// flagUsage returns the lines of one option.
func flagUsage(f *pflag.Flag) string {
	_, about := Value(f)
	form := "      " + Form(f)
	if f.Shorthand != "" {
		form = "  -" + f.Shorthand + ", " + Form(f)
	}
	lines := plaintext.Wrapped(about, helpWidth-helpIndent)
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
