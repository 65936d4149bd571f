package bindings

import (
	"math"
	"shardsh/balancer/keyorder"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// shellGlobals returns the shell's own functions.
func (s *Shell) shellGlobals() script.Globals {
	return script.Globals{
		{"use", "database?:any", func(c *script.Call) goja.Value { return s.use(c) }, "Makes another database db."},
		{"show", "", func(c *script.Call) goja.Value { return s.show.Call(c) },
			"Shows dbs, collections, users, roles, profile, logs, shards, zones, chunks, migrations or the balancer."},
		{"exit", "code?:any", func(c *script.Call) goja.Value { return c.Quit() }, "Ends the shell with an exit code."},
		{"quit", "code?:any", func(c *script.Call) goja.Value { return c.Quit() }, "Ends the shell with an exit code."},
		{"cls", "", func(_ *script.Call) goja.Value { s.display.ClearScreen(); return nil }, "Clears the screen."},
		{"sleep", "", func(c *script.Call) goja.Value {
			if goja.IsString(c.Arg(0)) && !isNumeral(c.Arg(0).String()) {
				c.JS.Sleep(c.DurationOf("sleep", "time", c.Arg(0)))
				return nil
			}
			ms := c.Arg(0).ToFloat()
			if ms > 0 {
				c.JS.Sleep(time.Duration(math.Min(ms, 1<<53) * float64(time.Millisecond)))
			}
			return nil
		}, "Waits for some milliseconds, or a time such as \"1h30m\"."},
		{"version", "", func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(s.cfg.Version) },
			"Returns the shell's version."},
		{"isInteractive", "", func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(s.cfg.Interactive) },
			"Returns whether the shell is interactive."},
		{"connect", "uri:string user?:string password?:string", func(c *script.Call) goja.Value {
			return s.database.ConnectDatabase(c)
		},
			"Opens another connection and returns its database."},
		{"atExit", "f:function", func(c *script.Call) goja.Value {
			f, _ := goja.AssertFunction(c.Arg(0))
			c.JS.AtExit(f)
			return nil
		}, "Calls a function when the shell ends, however it ends."},
		{"disableTelemetry", "", func(c *script.Call) goja.Value {
			return c.JS.Runtime.ToValue("Telemetry is now disabled.")
		},
			"Answers that telemetry is off: there is none."},
		{"enableTelemetry", "", func(c *script.Call) goja.Value {
			return c.JS.Runtime.ToValue("Telemetry is not available.")
		},
			"Answers that there is no telemetry."},
		{"convertShardKeyToHashed", "value:any", func(c *script.Call) goja.Value {
			return c.JS.FromGo(keyorder.Hash(c.JS.BSONValue(c.Arg(0))))
		},
			"Returns the hash of a shard key value."},
	}
}

// use checks the connection before it checks the name, because it is a method of Mongo.
func (s *Shell) use(c *script.Call) goja.Value {
	server.RequireDatabase(c.JS, s.current.ServerDatabase())
	c.Check("Mongo.use", script.ParseSignature("database:string"))
	return c.JS.Runtime.ToValue(s.current.SwitchTo(s.current.DB.SiblingDatabase(c.Text(0))))
}

// isNumeral reports whether JavaScript converts a string to a number; this includes the empty string.
func isNumeral(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil || strings.TrimSpace(text) == ""
}
