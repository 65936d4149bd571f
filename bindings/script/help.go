package script

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// Help is the help of one function.
type Help struct {
	CallForm string // the call: name(arguments)
	Class    string // the name in error messages; empty for globals
	Text     string
	// Signature is that of a [Method], and Example is a call. Both may be empty.
	Signature, Example string
}

// HelpColumn is the column at which explanations start (rules/04-command-line-and-prompt §2.13);
// helpWidth is the column at which they end.
const (
	HelpColumn = 47
	helpWidth  = 80
)

// Render formats the help.
func (h Help) Render(s *Engine) string {
	text := "\n  " + s.Out.Paint(HeadingColor, s.cfg.receiver(h.Class)+h.CallForm+":") + "\n"
	for _, line := range plaintext.Wrap(h.Text, helpWidth-2) {
		text += "\n  " + line
	}
	if h.Example != "" {
		text += "\n\n  " + s.Out.Paint(HeadingColor, "Example:") + "\n\n  " + h.Example
	}
	return text
}

// HelpTable returns the help of an object: a heading and a line for each member. A row with only a name
// is the heading of the rows below it.
func (o *Output) HelpTable(heading string, rows [][2]string) string {
	return o.HelpTableFrom(HelpColumn, heading, rows)
}

// HelpTableFrom works like HelpTable, with another column for explanations, for objects that mongosh
// does not have.
func (o *Output) HelpTableFrom(start int, heading string, rows [][2]string) string {
	var b strings.Builder
	b.WriteString("\n  " + o.Paint(HeadingColor, heading+":") + "\n\n")
	for i, r := range rows {
		if r[1] == "" {
			b.WriteString(strings.Repeat("\n", min(i, 1)) + "  " + o.Paint(HeadingColor, r[0]) + "\n")
			continue
		}
		column := "    " + r[0]
		for _, line := range plaintext.Wrap(r[1], helpWidth-start) {
			gap := max(1, start-len([]rune(column)))
			b.WriteString(column + strings.Repeat(" ", gap) + line + "\n")
			column = ""
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// helpOf returns the rows of a HelpTable for the methods with a help text.
func helpOf[T any](methods []Method[T]) [][2]string {
	var rows [][2]string
	for _, m := range methods {
		if m.Help != "" {
			rows = append(rows, [2]string{m.Name, m.Help})
		}
	}
	return rows
}

// HelpTexts are the help of functions and classes.
type HelpTexts struct {
	js    *Engine
	texts map[*goja.Object]Help // by function
}

// Describe gives a function its help.
func (t *HelpTexts) Describe(fn *goja.Object, h Help) { t.texts[fn] = h }

// NewHelp returns a help that works with and without call parentheses (rules/04-command-line-and-prompt
// §2.4).
func (t *HelpTexts) NewHelp(text func() string) goja.Value {
	return t.newTopicHelp(func(string) string { return text() })
}

// newTopicHelp returns a help with an argument for the topic; an empty topic stands for all.
func (t *HelpTexts) newTopicHelp(text func(topic string) string) goja.Value {
	f := t.js.NewFunction("help", func(c *Call) goja.Value {
		topic := ""
		if c.Has(0) {
			topic = c.Text(0)
		}
		return c.JS.newShowResult(&showResult{text: text(topic)})
	})
	t.js.Values.SetPrinter(f, func() string { return text("") })
	return f
}

// DefineHelp adds a help to a class's prototype that needs no parentheses.
func (t *HelpTexts) DefineHelp(proto *goja.Object, text func() string) {
	t.DefineTopicHelp(proto, func(string) string { return text() })
}

// DefineTopicHelp adds a help of several topics to a class's prototype.
func (t *HelpTexts) DefineTopicHelp(proto *goja.Object, text func(topic string) string) {
	t.js.Values.DefineLazy(proto, "help", func() goja.Value { return t.newTopicHelp(text) })
}

// receiver returns how help texts name an object of a class.
func (o *Options) receiver(class string) string {
	if o.ReceiverNames == nil {
		return ""
	}
	return o.ReceiverNames()[class]
}

// Lookup returns the help of one of the shell's functions.
func (t *HelpTexts) Lookup(f *goja.Object) (h Help, ok bool) {
	h, ok = t.texts[f]
	return h, ok
}

// Parameter returns the name of parameter i in the call form.
func (h Help) Parameter(i int) string {
	_, list, _ := strings.Cut(h.CallForm, "(")
	names := strings.Split(strings.TrimSuffix(list, ")"), ", ")
	if i >= len(names) {
		return ""
	}
	return names[i]
}

// Method returns the name of the function.
func (h Help) Method() string {
	name, _, _ := strings.Cut(h.CallForm, "(")
	return name
}
