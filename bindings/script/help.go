package script

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// Help is the help of one function.
type Help struct {
	Form  string // the call: name(arguments)
	Class string // as in error messages; empty for globals
	Text  string
	// Signature is that of a [Method], and Example a call; both may be empty.
	Signature, Example string
}

// HelpColumn is where explanations start, and go on in the lines that follow
// (rules/04-command-line-and-prompt §2.13); helpWidth is where they end.
const (
	HelpColumn = 47
	helpWidth  = 80
)

// Render returns the help as it is shown.
func (h Help) Render(s *Engine) string {
	text := "\n  " + s.Paint(HeadingColor, s.receiver(h.Class)+h.Form+":") + "\n\n  " + h.Text
	if h.Example != "" {
		text += "\n\n  " + s.Paint(HeadingColor, "Example:") + "\n\n  " + h.Example
	}
	return text
}

// HelpTable returns the help of an object: a heading and a line for each member.
// A row of a name alone is the heading of those below it.
func (s *Engine) HelpTable(heading string, rows [][2]string) string {
	var b strings.Builder
	b.WriteString("\n  " + s.Paint(HeadingColor, heading+":") + "\n\n")
	for i, r := range rows {
		if r[1] == "" {
			b.WriteString(strings.Repeat("\n", min(i, 1)) + "  " + s.Paint(HeadingColor, r[0]) + "\n")
			continue
		}
		column := "    " + r[0]
		for _, line := range plaintext.Wrapped(r[1], helpWidth-HelpColumn) {
			gap := max(1, HelpColumn-len([]rune(column)))
			b.WriteString(column + strings.Repeat(" ", gap) + line + "\n")
			column = ""
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// helpOf makes a table of methods that say what they do.
func helpOf[T any](methods []Method[T]) [][2]string {
	var rows [][2]string
	for _, m := range methods {
		if m.Help != "" {
			rows = append(rows, [2]string{m.Name, m.Help})
		}
	}
	return rows
}

func (s *Engine) shownHelp(text string) goja.Value { return s.instanceOfShown(&shown{text: text}) }

// HelpFunction returns a help that works with and without call parentheses
// (rules/04-command-line-and-prompt §2.4).
func (s *Engine) HelpFunction(text func() string) goja.Value {
	return s.helpOn(func(string) string { return text() })
}

// helpOn returns a help that takes the name of a topic; empty for all of them.
func (s *Engine) helpOn(text func(topic string) string) goja.Value {
	f := s.Function("help", func(c *Call) goja.Value {
		topic := ""
		if c.Has(0) {
			topic = c.Text(0)
		}
		return c.JS.shownHelp(text(topic))
	})
	s.World.SetPrinter(f, func() string { return text("") })
	return f
}

// HelpProperty gives a class's prototype a help that needs no parentheses.
func (s *Engine) HelpProperty(proto *goja.Object, text func() string) {
	s.HelpTopics(proto, func(string) string { return text() })
}

// HelpTopics gives a class's prototype a help of several pages.
func (s *Engine) HelpTopics(proto *goja.Object, text func(topic string) string) {
	s.World.DefineLazy(proto, "help", func() goja.Value { return s.helpOn(text) })
}

// receiver returns how an object of a class is written.
func (s *Engine) receiver(class string) string {
	if s.cfg.Receivers == nil {
		return ""
	}
	return s.cfg.Receivers()[class]
}

// HelpOn returns the help of a function of the shell's own.
func (s *Engine) HelpOn(f *goja.Object) (h Help, ok bool) {
	h, ok = s.classes.helps[f]
	return h, ok
}

// Parameter returns the name a call form has for an argument.
func (h Help) Parameter(i int) string {
	_, list, _ := strings.Cut(h.Form, "(")
	names := strings.Split(strings.TrimSuffix(list, ")"), ", ")
	if i >= len(names) {
		return ""
	}
	return names[i]
}

// Method returns the name of the function.
func (h Help) Method() string {
	name, _, _ := strings.Cut(h.Form, "(")
	return name
}
