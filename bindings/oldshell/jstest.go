package oldshell

import (
	"shardsh/bindings/database"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"time"

	"github.com/dop251/goja"
)

// newJSTest returns jsTest, with the members that scripts outside of MongoDB's own tests use.
func (h Host) newJSTest() goja.Value {
	o := h.JS.Runtime.NewObject()
	options := h.JS.Runtime.NewObject()
	for name, f := range map[string]func(*script.Call) goja.Value{
		"name": func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue("shardsh") },
		"log": func(c *script.Call) goja.Value {
			text := c.Text(0)
			if c.Object(0) != nil {
				text = h.JSON(c.Arg(0), true)
			}
			c.JS.Out.Write("[" + c.JS.Clock.Now().UTC().Format(time.RFC3339) + "] " + text + "\n")
			return nil
		},
		"options": func(*script.Call) goja.Value { return options },
		"isMongos": func(c *script.Call) goja.Value {
			if m, ok := script.Receiver[*database.Mongo](c.Arg(0)); ok {
				return c.JS.Runtime.ToValue(m.IsMongos())
			}
			return c.JS.Runtime.ToValue(server.RequireDatabase(h.JS, h.Current.ServerDatabase()).Conn.IsMongos())
		},
		// Connections authenticate by their connection string.
		"authenticate":      func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(true) },
		"authenticateNodes": func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(true) },
	} {
		script.Must(o.Set(name, h.JS.NewFunction(name, f)))
	}
	return o
}
