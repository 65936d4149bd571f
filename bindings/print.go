package bindings

import (
	"strings"

	"github.com/dop251/goja"
)

// printGlobals() write to standard output.
func printGlobals() []global {
	return []global{
		{"print", "", func(c *call) goja.Value { c.s.print(c.args); return nil }, "Prints values, separated by spaces."},
		{"printjson", "", func(c *call) goja.Value {
			texts := make([]string, len(c.args))
			for i, v := range c.args {
				if cur, ok := receiver[*cursor](v); ok {
					v = c.JS.rt.NewArray(cur.page(c.s.settings.displayBatchSize)...)
				}
				texts[i] = c.JS.world.Printjson(c.s.withoutGossip(v))
			}
			c.JS.write(strings.Join(texts, " ") + "\n")
			return nil
		}, "Prints values with every entry on a line of its own."},
		{"printjsononeline", "", func(c *call) goja.Value {
			c.JS.write(c.s.toJSON(c.arg(0), true) + "\n")
			return nil
		}, "Prints a value as JSON on one line."},
	}
}

// print writes values as print() does: no format strings (spec 04 §2.12).
func (s *Shell) print(args []goja.Value) {
	texts := make([]string, len(args))
	for i, v := range args {
		texts[i] = s.printed(v)
	}
	s.JS.write(strings.Join(texts, " ") + "\n")
}
