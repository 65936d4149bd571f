package bindings

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja_nodejs/url"
)

// newURL is url: the classes, and parse for old scripts.
func (s *Shell) newURL() *goja.Object {
	m := s.JS.newObject("exports", s.JS.rt.NewObject())
	url.Require(s.JS.rt, m)
	exports := m.Get("exports").(*goja.Object)
	add := moduleBuilder{s: s, o: exports}.add
	add("parse", func(c *call) any {
		u, err := c.JS.rt.New(exports.Get("URL"), c.arg(0))
		if err != nil {
			c.JS.rethrow(err)
		}
		o := c.JS.rt.NewObject()
		for _, name := range []string{"protocol", "host", "port", "hostname", "hash", "search", "pathname", "href"} {
			must(o.Set(name, u.Get(name)))
		}
		return o
	})
	add("fileURLToPath", func(c *call) any {
		u, err := c.JS.rt.New(exports.Get("URL"), c.JS.rt.ToValue(c.text(0)))
		if err != nil {
			c.JS.rethrow(err)
		}
		return fromURL(u.Get("pathname").String())
	})
	add("pathToFileURL", func(c *call) any {
		u, err := c.JS.rt.New(exports.Get("URL"), c.JS.rt.ToValue("file://"+must2(filepath.Abs(c.text(0)))))
		if err != nil {
			c.JS.rethrow(err)
		}
		return u
	})
	return exports
}

func (s *Shell) newTimersModule() *goja.Object {
	o := s.JS.rt.NewObject()
	for _, name := range []string{"setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"} {
		must(o.Set(name, s.JS.rt.GlobalObject().Get(name)))
	}
	must(o.Set("promises", s.module("timers/promises")))
	return o
}

// newTimerPromises is timers/promises: timers to wait for.
func (s *Shell) newTimerPromises() *goja.Object {
	m := s.buildModule()
	for name, delayed := range map[string]bool{"setTimeout": true, "setImmediate": false} {
		m.add(name, func(c *call) any {
			promise, resolve, _ := c.JS.rt.NewPromise()
			value, delay := c.arg(0), c.JS.rt.ToValue(0)
			if delayed {
				value, delay = c.arg(1), c.arg(0)
			}
			c.args = []goja.Value{c.JS.rt.ToValue(func(goja.FunctionCall) goja.Value {
				must(resolve(value))
				return goja.Undefined()
			}), delay}
			c.setTimer("setTimeout", false)
			return promise
		})
	}
	return m.o
}

// addPromises adds the same functions as promises.
func (m moduleBuilder) addPromises() {
	promises := m.s.JS.rt.NewObject()
	for _, name := range m.o.Keys() {
		sync, _ := goja.AssertFunction(m.o.Get(name))
		plain, ok := strings.CutSuffix(name, "Sync")
		if !ok || plain == "exists" {
			continue
		}
		must(promises.Set(plain, m.s.function(plain, func(c *call) goja.Value {
			promise, resolve, reject := c.JS.rt.NewPromise()
			v, err := sync(goja.Undefined(), c.args...)
			var thrown *goja.Exception
			switch {
			case err == nil:
				must(resolve(v))
			case errors.As(err, &thrown):
				must(reject(thrown.Value()))
			default:
				c.JS.rethrow(err)
			}
			return c.JS.rt.ToValue(promise)
		})))
	}
	must(m.o.Set("promises", promises))
}
