package bindings

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/cursor"
	"shardsh/bindings/script"
)

// printGlobals returns the functions that write to standard output.
func (s *Shell) printGlobals() script.Globals {
	return script.Globals{
		{"print", "", func(c *script.Call) goja.Value { s.display.Print(c.Args); return nil },
			"Prints values, separated by spaces."},
		{"printjson", "", func(c *script.Call) goja.Value {
			texts := make([]string, len(c.Args))
			for i, v := range c.Args {
				if cur, ok := script.Receiver[*cursor.Cursor](v); ok {
					v = c.JS.Runtime.NewArray(cur.NextPage(s.settings.DisplayBatchSize)...)
				}
				texts[i] = c.JS.Values.PrintjsonText(s.display.WithoutClusterTimeFields(v))
			}
			c.JS.Out.WriteRaw(strings.Join(texts, " ") + "\n")
			return nil
		}, "Prints values with every entry on a separate line."},
		{"printjsononeline", "", func(c *script.Call) goja.Value {
			c.JS.Out.Write(s.oldShell.JSON(c.Arg(0), true) + "\n")
			return nil
		}, "Prints a value as JSON on one line."},
	}
}
