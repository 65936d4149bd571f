package bindings

import (
	"shardsh/bindings/plaintext"
	"strings"

	"github.com/dop251/goja"
)

// helpEntry is the help of one function.
type helpEntry struct {
	form  string // the call: name(arguments)
	class string // as in error messages; empty for globals
	text  string
}

// helpColumn is where explanations start, and go on in the lines that follow
// (spec 04 §2.13); helpWidth is where they end.
const (
	helpColumn = 47
	helpWidth  = 80
)

func (h helpEntry) render(s *Engine) string {
	return "\n  " + s.paint(headingColor, s.receiver(h.class)+h.form+":") + "\n\n  " + h.text
}

// helpTable is the help of an object: a heading and a line for each member.
func (s *Engine) helpTable(heading string, rows [][2]string) string {
	var b strings.Builder
	b.WriteString("\n  " + s.paint(headingColor, heading+":") + "\n\n")
	for _, r := range rows {
		column := "    " + r[0]
		for _, line := range plaintext.Wrapped(r[1], helpWidth-helpColumn) {
			gap := max(1, helpColumn-len([]rune(column)))
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
		if m.help != "" {
			rows = append(rows, [2]string{m.name, m.help})
		}
	}
	return rows
}

// helpObject is a help text as a value: it prints as the text.
func (s *Engine) helpObject(text func() string) goja.Value {
	return s.shownHelp(text())
}

func (s *Engine) shownHelp(text string) goja.Value { return s.instanceOfShown(&shown{text: text}) }

// helpFunction is a help that works with and without call parentheses
// (spec 04 §2.4).
func (s *Engine) helpFunction(text func() string) goja.Value {
	f := s.function("help", func(c *Call) goja.Value { return c.JS.helpObject(text) })
	s.world.SetPrinter(f, func() string { return text() })
	return f
}

// helpProperty gives a class's prototype a help that needs no parentheses.
func (s *Engine) helpProperty(proto *goja.Object, text func() string) {
	s.world.DefineLazy(proto, "help", func() goja.Value { return s.helpFunction(text) })
}

// receiver is how an object of a class is written.
func (s *Engine) receiver(class string) string {
	if s.cfg.Receivers == nil {
		return ""
	}
	return s.cfg.Receivers()[class]
}

// helpOn is the help of a function of the shell's own.
func (s *Engine) helpOn(f *goja.Object) (h helpEntry, ok bool) {
	h, ok = s.classes.helps[f]
	return h, ok
}

// parameter is the name a call form has for an argument.
func (h helpEntry) parameter(i int) string {
	_, list, _ := strings.Cut(h.form, "(")
	names := strings.Split(strings.TrimSuffix(list, ")"), ", ")
	if i >= len(names) {
		return ""
	}
	return names[i]
}
