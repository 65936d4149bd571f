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

// JSONStyle holds the options of WriteJSON.
type JSONStyle struct {
	// Canonical preserves the type of every number.
	Canonical bool
	// Lines writes each document of a cursor or an array on a separate line, without brackets and
	// commas, and any other value on one line.
	Lines bool
	// Limit is the maximum number of documents of a cursor; 0 means all.
	Limit int
}

// WriteJSON writes a result as extended JSON (rules/04-command-line-and-prompt §1.8); it writes nothing
// for undefined. A cursor's documents are written as they arrive.
func (s *Shell) WriteJSON(ctx context.Context, w io.Writer, r script.Result, style JSONStyle) error {
	if r.IsUndefined() {
		return nil
	}
	_, err := s.JS.RunProtected(ctx, func() (goja.Value, error) {
		out := jsonOutput{s: s, w: w, style: style}
		_, err := s.JS.Try(func() string {
			out.write(s.display.WithoutClusterTimeFields(r.Value))
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
	case isCursor && cur.ExplainVerbosity != "":
		o.writeLine(o.extendedJSON(cur.ExplainOutput()))
	case isCursor:
		o.writeSequence(func(yield func(goja.Value)) {
			for n := 0; o.style.Limit == 0 || n < o.style.Limit; n++ {
				doc := cur.Next()
				if doc == nil {
					return
				}
				yield(doc)
			}
		})
	case o.style.Lines && isList:
		o.writeSequence(func(yield func(goja.Value)) {
			for _, key := range list.Keys() {
				yield(list.Get(key))
			}
		})
	default:
		o.writeLine(o.extendedJSON(v))
	}
}

// writeSequence writes documents as an array, or one on each line.
func (o *jsonOutput) writeSequence(each func(yield func(goja.Value))) {
	n := 0
	each(func(v goja.Value) {
		text := o.extendedJSON(v)
		switch {
		case o.style.Lines:
			text += "\n"
		case n == 0:
			text = "[\n  " + indentedInArray(text)
		default:
			text = ",\n  " + indentedInArray(text)
		}
		n++
		o.writeText(text)
	})
	switch {
	case o.style.Lines:
	case n == 0:
		o.writeLine("[]")
	default:
		o.writeLine("\n]")
	}
}

// indentedInArray indents the JSON of an array's element. Strings in JSON contain no line ends.
func indentedInArray(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

func (o *jsonOutput) extendedJSON(v goja.Value) string {
	indent := "  "
	if o.style.Lines {
		indent = ""
	}
	text, err := o.s.JS.Values.EJSON(v, o.style.Canonical, indent)
	o.s.JS.Check(err)
	return text
}

func (o *jsonOutput) writeLine(text string) {
	if text != "" {
		o.writeText(text + "\n")
	}
}

func (o *jsonOutput) writeText(text string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.w, plaintext.EscapeJSON(text))
	}
}
