// Package manual writes the manual page, shardsh(1), from the tables and texts of the help, so that the
// two can't differ.
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

// Term is a name with its description.
type Term struct{ Name, About string }

// Page is the content of the manual page.
type Page struct {
	Version, Date string          // the date is that of the version, or empty
	Shell         cmdline.Command // the program without a subcommand
	Commands      []cmdline.Command
	Environment   []Term
	Files         []Term
}

// Write writes the page as troff with the macros of man(7).
func (p Page) Write(to io.Writer) error {
	r := &roff{}
	r.macro("TH", "SHARDSH", "1", p.Date, "shardsh "+p.Version, "User Commands")
	r.section("NAME")
	r.text("shardsh - a shell for sharded MongoDB clusters, with a mock cluster inside")
	r.section("SYNOPSIS")
	r.verbatim(strings.Join(p.Shell.Usage(), "\n"))
	r.section("DESCRIPTION")
	r.paragraphs(p.Shell.Text.More)
	r.section("OPTIONS")
	for _, g := range p.Shell.Groups {
		r.subsection(g.Title)
		r.options(g)
	}
	r.section("COMMANDS")
	for _, c := range p.Commands {
		r.command(c, p.Shell.Groups)
	}
	r.section("EXAMPLES")
	r.verbatim(strings.Join(p.Shell.Text.Examples, "\n"))
	r.section("ENVIRONMENT")
	r.terms(p.Environment)
	r.section("FILES")
	r.terms(p.Files)
	r.section("SEE ALSO")
	r.text("mongosh(1), jq(1). More is in docs of the source.")
	_, err := io.WriteString(to, r.b.String())
	return err
}

// command writes a subcommand: its help, with references to the options that have their own page.
func (r *roff) command(c cmdline.Command, known []cmdline.Group) {
	r.subsection(strings.TrimSpace("shardsh " + c.Name + " " + c.Arguments))
	r.paragraphs(c.Text.Intro)
	var shared []string
	for _, g := range c.Groups {
		if g.Page != "" && slices.ContainsFunc(known, func(k cmdline.Group) bool { return k.Title == g.Title }) {
			shared = append(shared, g.Title)
			continue
		}
		r.options(g)
	}
	if len(shared) > 0 {
		r.paragraph()
		r.text("It also takes options above under " + strings.Join(shared, ", ") + ".")
	}
	r.paragraphs(c.Text.More)
	if len(c.Text.Examples) > 0 {
		r.paragraphs("Examples:\n  " + strings.Join(c.Text.Examples, "\n  "))
	}
}

// options writes the options of a group.
func (r *roff) options(g cmdline.Group) {
	g.Flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		form := cmdline.FlagForm(f)
		if f.Shorthand != "" {
			form = "-" + f.Shorthand + ", " + form
		}
		_, about := cmdline.ValueAndUsage(f)
		r.term(form, about)
	})
}

func (r *roff) terms(list []Term) {
	for _, t := range list {
		r.term(t.Name, t.About)
	}
}

// splitTitle splits a paragraph that is a list with a title in its first line.
func splitTitle(paragraph string) (line, list string, ok bool) {
	line, list, _ = strings.Cut(paragraph, "\n")
	if !strings.HasSuffix(line, ":") || !strings.HasPrefix(list, "  ") {
		return "", "", false
	}
	return line, list, true
}

// paragraphs writes ordinary paragraphs filled, and lists verbatim.
func (r *roff) paragraphs(text string) {
	for text := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if text == "" {
			return
		}
		r.paragraph()
		if line, rest, ok := splitTitle(text); ok {
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
	b       strings.Builder
	hasText bool // the section is not empty
}

// macro writes a request with its arguments.
func (r *roff) macro(name string, args ...string) {
	fmt.Fprintf(&r.b, ".%s", name)
	for _, arg := range args {
		fmt.Fprintf(&r.b, ` "%s"`, strings.ReplaceAll(escape(arg), `"`, `\(dq`))
	}
	r.b.WriteByte('\n')
	r.hasText = name != "SH" && name != "SS"
}

func (r *roff) section(name string)    { r.macro("SH", name) }
func (r *roff) subsection(name string) { r.macro("SS", name) }

// paragraph begins a paragraph; the first one of a section needs no request.
func (r *roff) paragraph() {
	if r.hasText {
		r.macro("PP")
	}
	r.hasText = true
}

// maxTextWidth is the maximum length of a text line in the source, before it is escaped.
const maxTextWidth = 70

// text writes filled text.
func (r *roff) text(text string) {
	for _, line := range plaintext.Wrap(text, maxTextWidth) {
		r.b.WriteString(escape(line) + "\n")
	}
}

// verbatim writes lines without filling them.
func (r *roff) verbatim(text string) {
	r.b.WriteString(".nf\n")
	for line := range strings.Lines(text) {
		r.b.WriteString(escape(strings.TrimRight(line, "\n")) + "\n")
	}
	r.b.WriteString(".fi\n")
}

// term writes a name in bold, and its description.
func (r *roff) term(name, about string) {
	fmt.Fprintf(&r.b, ".TP\n\\fB%s\\fR\n", escape(name))
	r.hasText = true
	r.text(about)
}

var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`,
	"…", `...`)

// escape escapes a text, so that troff interprets none of it as a request or a special character.
func escape(text string) string {
	text = escapes.Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
