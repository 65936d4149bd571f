// Package manual writes the manual page, shardsh(1), from the tables and texts of the
// help, so that the two can't tell different things.
package manual

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// Entry is a command with its help as printed.
type Entry struct {
	cmdline.Command
	Help string
}

// Term is a name with what it means.
type Term struct{ Name, About string }

// Page is all that the page is made of.
type Page struct {
	Version, Date string // the date is that of the version, or empty
	Shell         Entry  // the program without a subcommand
	Commands      []Entry
	Environment   []Term
	Files         []Term
}

// Write writes the page as troff with the macros of man(7).
func (p Page) Write(to io.Writer) error {
	r := &roff{}
	shell := split(p.Shell.Help)
	r.macro("TH", "SHARDSH", "1", p.Date, "shardsh "+p.Version, "User Commands")
	r.section("NAME")
	r.text("shardsh - a shell for sharded MongoDB clusters, with a mock cluster inside")
	r.section("SYNOPSIS")
	r.verbatim(shell.synopsis)
	r.section("DESCRIPTION")
	r.paragraphs(shell.intro[min(1, len(shell.intro)):]) // the first is the name again
	r.section("OPTIONS")
	for _, g := range p.Shell.Groups {
		r.subsection(g.Title)
		r.options(g)
	}
	r.section("COMMANDS")
	for _, c := range p.Commands {
		r.command(c, p.Shell.Groups)
	}
	r.section("NOTES")
	r.paragraphs(shell.rest)
	r.section("ENVIRONMENT")
	r.terms(p.Environment)
	r.section("FILES")
	r.terms(p.Files)
	r.section("SEE ALSO")
	r.text("mongosh(1), jq(1). The pages in docs of the source tell more.")
	_, err := io.WriteString(to, r.b.String())
	return err
}

// command writes a subcommand: its help, without the options that the shell has, too.
func (r *roff) command(c Entry, known []cmdline.Group) {
	parts := split(c.Help)
	r.subsection(strings.TrimSpace("shardsh " + c.Name + " " + c.Arguments))
	r.paragraphs(parts.intro)
	var shared []string
	for _, g := range c.Groups {
		if slices.ContainsFunc(known, func(k cmdline.Group) bool { return k.Title == g.Title }) {
			shared = append(shared, g.Title)
			continue
		}
		r.options(g)
	}
	if len(shared) > 0 {
		r.paragraph()
		r.text("It also takes the options above under " + strings.Join(shared, ", ") + ".")
	}
	r.paragraphs(parts.rest)
}

// options writes those of a group.
func (r *roff) options(g cmdline.Group) {
	g.Flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		form := cmdline.Form(f)
		if f.Shorthand != "" {
			form = "-" + f.Shorthand + ", " + form
		}
		_, about := cmdline.Value(f)
		r.term(form, about)
	})
}

func (r *roff) terms(list []Term) {
	for _, t := range list {
		r.term(t.Name, t.About)
	}
}

// parts are those of a help text.
type parts struct {
	intro    []string // paragraphs
	synopsis string
	rest     []string // paragraphs after the options
}

// split takes a help text apart: what is before "Usage:", the lines below that, and
// what follows the last option. In the shell's own help the paragraphs between
// usage and options are its introduction.
func split(help string) (p parts) {
	lastOption := 0
	paragraphs := strings.Split(strings.TrimRight(help, "\n"), "\n\n")
	for i, text := range paragraphs {
		if hasOption(text) {
			lastOption = i
		}
	}
	for i, text := range paragraphs {
		switch usage, isUsage := strings.CutPrefix(text, "Usage:\n"); {
		case isUsage:
			p.synopsis = usage
		case i > lastOption:
			p.rest = append(p.rest, text)
		case !hasOption(text):
			p.intro = append(p.intro, text)
		}
	}
	return p
}

// hasOption reports whether a paragraph is a list of options: "      --all  …".
func hasOption(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "      --") || strings.HasPrefix(line, "  -") && strings.Contains(line, ", --") {
			return true
		}
	}
	return false
}

// title returns the first line of a paragraph that is a list with a title.
func title(paragraph string) (line, list string, ok bool) {
	line, list, _ = strings.Cut(paragraph, "\n")
	if !strings.HasSuffix(line, ":") || !strings.HasPrefix(list, "  ") {
		return "", "", false
	}
	return line, list, true
}

// paragraphs writes plain ones filled, and lists as they are.
func (r *roff) paragraphs(list []string) {
	for _, text := range list {
		r.paragraph()
		if line, rest, ok := title(text); ok {
			r.text(line)
			r.verbatim(rest)
			continue
		}
		if strings.HasPrefix(text, "  ") {
			r.verbatim(text)
			continue
		}
		r.text(text)
	}
}

// roff writes troff.
type roff struct {
	b     strings.Builder
	begun bool // the section has something in it
}

// macro writes a request with its arguments.
func (r *roff) macro(name string, args ...string) {
	fmt.Fprintf(&r.b, ".%s", name)
	for _, arg := range args {
		fmt.Fprintf(&r.b, ` "%s"`, strings.ReplaceAll(escape(arg), `"`, `\(dq`))
	}
	r.b.WriteByte('\n')
	r.begun = name != "SH" && name != "SS"
}

func (r *roff) section(name string)    { r.macro("SH", name) }
func (r *roff) subsection(name string) { r.macro("SS", name) }

// paragraph begins one, which the first of a section needs no word for.
func (r *roff) paragraph() {
	if r.begun {
		r.macro("PP")
	}
	r.begun = true
}

// longest is how long a line of text may be in the source, before it is escaped.
const longest = 70

// text writes text that is filled.
func (r *roff) text(text string) {
	for _, line := range plaintext.Wrapped(text, longest) {
		r.b.WriteString(escape(line) + "\n")
	}
}

// verbatim writes lines that stay as they are.
func (r *roff) verbatim(text string) {
	r.b.WriteString(".nf\n")
	for line := range strings.Lines(text) {
		r.b.WriteString(escape(strings.TrimRight(line, "\n")) + "\n")
	}
	r.b.WriteString(".fi\n")
}

// term writes a name in bold, and what it means.
func (r *roff) term(name, about string) {
	fmt.Fprintf(&r.b, ".TP\n\\fB%s\\fR\n", escape(name))
	r.begun = true
	r.text(about)
}

var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`,
	"…", `...`)

// escape keeps text from being taken for a request, and its signs as they are.
func escape(text string) string {
	text = escapes.Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
