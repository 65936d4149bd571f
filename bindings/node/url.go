package node

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja_nodejs/url"

	"shardsh/bindings/script"
)

// newURLModule returns the module url: the classes, and parse for old scripts.
func (s *Globals) newURLModule() *goja.Object {
	m := s.JS.NewObject("exports", s.JS.Runtime.NewObject())
	url.Require(s.JS.Runtime, m)
	exports := m.Get("exports").(*goja.Object)
	add := moduleBuilder{s: s, o: exports}.add
	add("parse", func(c *call) any {
		u, err := c.JS.Runtime.New(exports.Get("URL"), c.Arg(0))
		c.JS.Check(err)
		o := c.JS.Runtime.NewObject()
		for _, name := range []string{"protocol", "host", "port", "hostname", "hash", "search", "pathname", "href"} {
			script.Must(o.Set(name, u.Get(name)))
		}
		return o
	})
	add("fileURLToPath", func(c *call) any {
		u, err := c.JS.Runtime.New(exports.Get("URL"), c.JS.Runtime.ToValue(c.Text(0)))
		c.JS.Check(err)
		return script.UnescapeSourceName(u.Get("pathname").String())
	})
	add("pathToFileURL", func(c *call) any {
		u, err := c.JS.Runtime.New(
			exports.Get("URL"),
			c.JS.Runtime.ToValue("file://"+script.IgnoreError(filepath.Abs(c.Text(0)))),
		)
		c.JS.Check(err)
		return u
	})
	return exports
}

func (s *Globals) newTimersModule() *goja.Object {
	o := s.JS.Runtime.NewObject()
	for _, name := range []string{"setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval",
		"clearImmediate"} {
		script.Must(o.Set(name, s.JS.Runtime.GlobalObject().Get(name)))
	}
	script.Must(o.Set("promises", s.Module("timers/promises")))
	return o
}

// newTimerPromises returns the module timers/promises: timers that scripts can await.
func (s *Globals) newTimerPromises() *goja.Object {
	m := s.newModuleBuilder()
	for name, delayed := range map[string]bool{"setTimeout": true, "setImmediate": false} {
		m.add(name, func(c *call) any {
			promise, resolve, _ := c.JS.Runtime.NewPromise()
			value, delay := c.Arg(0), c.JS.Runtime.ToValue(0)
			if delayed {
				value, delay = c.Arg(1), c.Arg(0)
			}
			c.Args = []goja.Value{c.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
				script.Must(resolve(value))
				return goja.Undefined()
			}), delay}
			c.SetTimer("setTimeout", false)
			return promise
		})
	}
	return m.o
}

// addPromises adds the same functions in a form that returns promises.
func (m moduleBuilder) addPromises() {
	promises := m.s.JS.Runtime.NewObject()
	for _, name := range m.o.Keys() {
		sync, _ := goja.AssertFunction(m.o.Get(name))
		plain, ok := strings.CutSuffix(name, "Sync")
		if !ok || plain == "exists" {
			continue
		}
		script.Must(promises.Set(plain, m.s.newFunction(plain, func(c *call) goja.Value {
			promise, resolve, reject := c.JS.Runtime.NewPromise()
			v, err := sync(goja.Undefined(), c.Args...)
			var thrown *goja.Exception
			switch {
			case err == nil:
				script.Must(resolve(v))
			case errors.As(err, &thrown):
				script.Must(reject(thrown.Value()))
			default:
				c.JS.Rethrow(err)
			}
			return c.JS.Runtime.ToValue(promise)
		})))
	}
	script.Must(m.o.Set("promises", promises))
}
