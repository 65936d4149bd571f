package bindings

import (
	"context"
	"io"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/cursor"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// JSONStyle says how WriteJSON writes.
type JSONStyle struct {
	// Canonical keeps the type of every number.
	Canonical bool
	// Lines puts each document of a cursor or an array on a line of its own,
	// without brackets and commas; anything else is one line.
	Lines bool
	// Limit is how many documents of a cursor are written at most; 0 is all.
	Limit int
}

// WriteJSON writes a result as extended JSON (rules/04-command-line-and-prompt §1.8), nothing for
// undefined. A cursor's documents are written as they come.
func (s *Shell) WriteJSON(ctx context.Context, w io.Writer, r script.Result, style JSONStyle) error {
	if r.Undefined() {
		return nil
	}
	_, err := s.JS.Within(ctx, func() (goja.Value, error) {
		out := jsonOutput{s: s, w: w, style: style}
		_, err := s.JS.Try(func() string {
			out.write(s.display.WithoutGossip(r.Value))
			return ""
		})
		if err == nil {
			err = out.err
		}
		return nil, err
	})
	return err
}

type jsonOutput struct {
	s     *Shell
	w     io.Writer
	style JSONStyle
	err   error
}

func (o *jsonOutput) write(v goja.Value) {
	cur, isCursor := script.Receiver[*cursor.Cursor](v)
	list, isList := v.(*goja.Object)
	isList = isList && list.ClassName() == "Array"
	switch {
	case isCursor && cur.Explain != "":
		o.line(o.text(cur.Plan()))
	case isCursor:
		o.sequence(func(yield func(goja.Value)) {
			for n := 0; o.style.Limit == 0 || n < o.style.Limit; n++ {
				doc := cur.Next()
				if doc == nil {
					return
				}
				yield(doc)
			}
		})
	case o.style.Lines && isList:
		o.sequence(func(yield func(goja.Value)) {
			for _, key := range list.Keys() {
				yield(list.Get(key))
			}
		})
	default:
		o.line(o.text(v))
	}
}

// sequence writes documents as an array, or one a line.
func (o *jsonOutput) sequence(each func(yield func(goja.Value))) {
	n := 0
	each(func(v goja.Value) {
		text := o.text(v)
		switch {
		case o.style.Lines:
			text += "\n"
		case n == 0:
			text = "[\n  " + indented(text)
		default:
			text = ",\n  " + indented(text)
		}
		n++
		o.put(text)
	})
	switch {
	case o.style.Lines:
	case n == 0:
		o.line("[]")
	default:
		o.line("\n]")
	}
}

// indented returns a text inside of an array: JSON has no line ends within
// strings.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

func (o *jsonOutput) text(v goja.Value) string {
	indent := "  "
	if o.style.Lines {
		indent = ""
	}
	text, err := o.s.JS.Values.EJSON(v, o.style.Canonical, indent)
	o.s.JS.Check(err)
	return text
}

func (o *jsonOutput) line(text string) {
	if text != "" {
		o.put(text + "\n")
	}
}

func (o *jsonOutput) put(text string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.w, plaintext.VisibleJSON(text))
	}
}
