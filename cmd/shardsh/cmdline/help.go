package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
)

const (
	helpWidth = 100 // of a line
	maxIndent = 40  // of the descriptions of options
)

// Text is what the help of a command says besides its options, in lines of at most 80
// columns.
type Text struct {
	Intro    string
	Usage    []string // command lines, where name and arguments do not say it all
	Examples []string
	More     string // for --help-all and the manual page only
}

// Usage returns how the command is called, a line each.
func (c Command) Usage() []string {
	if len(c.Text.Usage) > 0 {
		return c.Text.Usage
	}
	return []string{strings.Join(strings.Fields("shardsh "+c.Name+" "+c.Arguments), " ")}
}

// Help returns what --help prints, which fits a screen: options that many commands
// have are on pages of their own.
func (c Command) Help() string {
	var own []Group
	for _, g := range c.Groups {
		if g.Page == "" {
			own = append(own, g)
		}
	}
	text := c.head() + options(own)
	if len(own) < len(c.Groups) {
		text += "\n" + c.elsewhere() + "\n"
	}
	return text
}

// HelpAll returns what --help-all prints.
func (c Command) HelpAll() string {
	text := c.head()
	if c.Text.More != "" {
		text += strings.TrimSpace(c.Text.More) + "\n\n"
	}
	return text + options(c.Groups)
}

// head returns what is before the options.
func (c Command) head() string {
	text := strings.TrimSpace(c.Text.Intro) + "\n\nUsage:\n  " + strings.Join(c.Usage(), "\n  ") + "\n\n"
	if len(c.Text.Examples) > 0 {
		text += "Examples:\n  " + strings.Join(c.Text.Examples, "\n  ") + "\n\n"
	}
	return text
}

// elsewhere returns the lines that name the pages of the other options.
func (c Command) elsewhere() string {
	titles, pages := make(map[string][]string), []string(nil)
	for _, g := range c.Groups {
		if g.Page != "" && titles[g.Page] == nil {
			pages = append(pages, g.Page)
		}
		if g.Short != "" {
			titles[g.Page] = append(titles[g.Page], g.Short)
		}
	}
	text, width := "", 0
	for _, page := range pages {
		named := strings.Join(titles[page], ", ") + ": shardsh help " + page + "."
		switch {
		case text == "":
		case width+1+len(named) > helpWidth:
			text, width = text+"\n", 0
		default:
			text, width = text+" ", width+1
		}
		text, width = text+named, width+len(named)
	}
	return text
}

// Usage lists options by section.
func Usage(groups []Group) string { return options(groups) }

// options lists options by section.
func options(groups []Group) string {
	var text strings.Builder
	indent := indentOf(groups)
	for i, g := range groups {
		if i > 0 && g.Page != "" {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "%s:\n", g.Title)
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				text.WriteString(flagUsage(f, indent))
			}
		})
	}
	return text.String()
}

// indentOf returns the column that has room for all forms before it, but for very
// long ones.
func indentOf(groups []Group) (indent int) {
	for _, g := range groups {
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if n := len(form(f)) + 2; !f.Hidden && n <= maxIndent {
				indent = max(indent, n)
			}
		})
	}
	return indent
}

// form returns an option as the help shows it: with its letter, if it has one.
func form(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "  -" + f.Shorthand + ", " + Form(f)
	}
	return "      " + Form(f)
}

// flagUsage returns the lines of one option.
func flagUsage(f *pflag.Flag, indent int) string {
	_, about := Value(f)
	lines := plaintext.Wrap(about, helpWidth-indent)
	blank := "\n" + strings.Repeat(" ", indent)
	if form := form(f); len(form)+2 > indent {
		return form + blank + strings.Join(lines, blank) + "\n"
	}
	return fmt.Sprintf("%-*s%s\n", indent, form(f), strings.Join(lines, blank))
}
