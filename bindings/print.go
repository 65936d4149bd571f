package bindings

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// printGlobals() write to standard output.
func printGlobals() []global {
	return []global{
		{"print", "", func(c *call) goja.Value { c.s.display.Print(c.Args); return nil },
			"Prints values, separated by spaces."},
		{"printjson", "", func(c *call) goja.Value {
			texts := make([]string, len(c.Args))
			for i, v := range c.Args {
				if cur, ok := script.Receiver[*cursor](v); ok {
					v = c.JS.Runtime.NewArray(cur.page(c.s.settings.displayBatchSize)...)
				}
				texts[i] = c.JS.World.Printjson(c.s.display.WithoutGossip(v))
			}
			c.JS.Out.WriteOwn(strings.Join(texts, " ") + "\n")
			return nil
		}, "Prints values with every entry on a line of its own."},
		{"printjsononeline", "", func(c *call) goja.Value {
			c.JS.Out.Write(c.s.toJSON(c.Arg(0), true) + "\n")
			return nil
		}, "Prints a value as JSON on one line."},
	}
}
