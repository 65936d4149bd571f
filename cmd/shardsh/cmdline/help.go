package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
)

const (
	helpWidth = 100 // maximum width of a line
	maxIndent = 40  // maximum column of the descriptions of options
)

// HelpText is the help of a command besides its options, in lines of at most 80 columns.
type HelpText struct {
	Intro    string
	Usage    []string // command lines, unless name and arguments are sufficient
	Examples []string
	More     string // for --help-all and the manual page only
}

// Usage returns the forms of the command's call, one a line.
func (c Command) Usage() []string {
	if len(c.Text.Usage) > 0 {
		return c.Text.Usage
	}
	return []string{strings.Join(strings.Fields("shardsh "+c.Name+" "+c.Arguments), " ")}
}

// Help returns the output of --help, which fits on a screen: options that many commands share are on
// separate pages.
func (c Command) Help() string {
	var own []Group
	for _, g := range c.Groups {
		if g.Page == "" {
			own = append(own, g)
		}
	}
	text := c.helpHeader() + ListOptions(own)
	if len(own) < len(c.Groups) {
		text += "\n" + c.otherPages() + "\n"
	}
	return text
}

// HelpAll returns the output of --help-all.
func (c Command) HelpAll() string {
	text := c.helpHeader()
	if c.Text.More != "" {
		text += strings.TrimSpace(c.Text.More) + "\n\n"
	}
	return text + ListOptions(c.Groups)
}

// helpHeader returns the text before the options.
func (c Command) helpHeader() string {
	text := strings.TrimSpace(c.Text.Intro) + "\n\nUsage:\n  " + strings.Join(c.Usage(), "\n  ") + "\n\n"
	if len(c.Text.Examples) > 0 {
		text += "Examples:\n  " + strings.Join(c.Text.Examples, "\n  ") + "\n\n"
	}
	return text
}

// otherPages returns lines with the pages of the shared options.
func (c Command) otherPages() string {
	titles, pages := make(map[string][]string), []string(nil)
	for _, g := range c.Groups {
		if g.Page != "" && titles[g.Page] == nil {
			pages = append(pages, g.Page)
		}
		if g.ShortTitle != "" {
			titles[g.Page] = append(titles[g.Page], g.ShortTitle)
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

// ListOptions lists options by section.
func ListOptions(groups []Group) string {
	var text strings.Builder
	indent := usageIndent(groups)
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

// usageIndent returns the column of the descriptions: after all option forms, except very
// long ones.
func usageIndent(groups []Group) (indent int) {
	for _, g := range groups {
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if n := len(helpForm(f)) + 2; !f.Hidden && n <= maxIndent {
				indent = max(indent, n)
			}
		})
	}
	return indent
}

// helpForm returns an option as the help shows it: with its letter, if it has one.
func helpForm(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "  -" + f.Shorthand + ", " + FlagForm(f)
	}
	return "      " + FlagForm(f)
}

// flagUsage returns the lines of one option.
func flagUsage(f *pflag.Flag, indent int) string {
	_, about := ValueAndUsage(f)
	lines := plaintext.Wrap(about, helpWidth-indent)
	blank := "\n" + strings.Repeat(" ", indent)
	if form := helpForm(f); len(form)+2 > indent {
		return form + blank + strings.Join(lines, blank) + "\n"
	}
	return fmt.Sprintf("%-*s%s\n", indent, helpForm(f), strings.Join(lines, blank))
}
