// Package oldshell implements what scripts of the old shell (before mongosh) need: functions, classes,
// error codes and the generator Random.
package oldshell

import (
	"crypto/md5"
	"encoding/hex"
	"math/rand/v2"

	"github.com/dop251/goja"

	"shardsh/balancer/keyorder"
	"shardsh/bindings/cursor"
	"shardsh/bindings/database"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/settings"
	"shardsh/bindings/sh"
	"shardsh/bindings/write"
)

// Host provides what the old shell's functions and classes need from the shell.
type Host struct {
	JS       *script.Engine
	Display  *display.Display
	Settings *settings.Values
	Sharding Sharding
	Current  *database.Current
	// Prototypes are the prototypes of the classes.
	Prototypes database.Prototypes
	Cursors    *cursor.Host
	Results    write.ResultBuilder
}

// Sharding is the part of sh that the functions use.
type Sharding interface {
	PrintStatus(d, config *server.Database, o sh.StatusOptions) goja.Value
	PrintSizes()
}

// Globals returns the functions of the old shell (rules/04-values-and-language §4.11).
func (h Host) Globals() script.Globals {
	tojson := func(c *script.Call) goja.Value {
		return c.JS.Runtime.ToValue(h.toJSONArgument(c, c.Arg(2).ToBoolean()))
	}
	return script.Globals{
		{"tojson", "", tojson, "Returns a value as the old shell's JSON."},
		{"tojsononeline", "", func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(h.JSON(c.Arg(0), true)) },
			"Returns a value as JSON on one line."},
		{"tojsonObject", "", tojson, ""},
		{"printShardingStatus", "configDB?:any verbose?:any", func(c *script.Call) goja.Value {
			d := server.RequireDatabase(c.JS, h.Current.ServerDatabase())
			config, verbose := d.Sibling("config"), c.Arg(1).ToBoolean()
			if other, ok := script.Receiver[*database.Database](c.Arg(0)); ok {
				config = other.Database
			} else if script.TypeOf(c.Arg(0)) == "boolean" {
				verbose = c.Arg(0).ToBoolean()
			}
			if v := h.Sharding.PrintStatus(d, config, sh.StatusOptions{Verbose: verbose}); v != nil {
				h.Display.Print([]goja.Value{v})
			}
			return nil
		}, "Prints sh.status()."},
		{"printShardingSizes", "configDB?:any", func(_ *script.Call) goja.Value { h.Sharding.PrintSizes(); return nil }, ""},
		{"hex_md5", "text:string", func(c *script.Call) goja.Value {
			sum := md5.Sum([]byte(c.Text(0)))
			return c.JS.Runtime.ToValue(hex.EncodeToString(sum[:]))
		}, ""},
		{"bsonWoCompare", "a:any b:any", func(c *script.Call) goja.Value {
			return c.JS.Runtime.ToValue(keyorder.Compare(c.JS.BSONValue(c.Arg(0)), c.JS.BSONValue(c.Arg(1))))
		}, ""},
		{"bsonBinaryEqual", "a:any b:any", func(c *script.Call) goja.Value {
			return c.JS.Runtime.ToValue(c.JS.BSONValue(c.Arg(0)).Equal(c.JS.BSONValue(c.Arg(1))))
		}, ""},
		{"friendlyEqual", "", func(c *script.Call) goja.Value {
			return c.JS.Runtime.ToValue(c.Arg(0).Equals(c.Arg(1)) || script.SameDocument(c.JS.Values, c.Arg(0), c.Arg(1)))
		}, ""},
		{"isNumber", "", func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(script.TypeOf(c.Arg(0)) == "number") },
			""},
		{"isString", "", func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(script.TypeOf(c.Arg(0)) == "string") },
			""},
		{"isObject", "", func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(script.TypeOf(c.Arg(0)) == "object") },
			""},
		{"setVerboseShell", "", func(_ *script.Call) goja.Value { return nil }, ""},
		{"shellPrint", "", func(c *script.Call) goja.Value { h.Display.Print(c.Args); return nil }, ""},
		{"runProgram", "", unavailableFunction("runProgram"), ""},
		{"run", "", unavailableFunction("run"), ""},
		{"_rand", "", func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(rand.Float64()) }, ""},
	}
}

func unavailableFunction(name string) func(*script.Call) goja.Value {
	return func(c *script.Call) goja.Value {
		c.JS.Throw("Error", "%s is not available in shardsh: scripts start no programs", name)
		return nil
	}
}
