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
	m := s.newObject("exports", s.rt.NewObject())
	url.Require(s.rt, m)
	exports := m.Get("exports").(*goja.Object)
	add := moduleBuilder{s: s, o: exports}.add
	add("parse", func(c *call) any {
		u, err := c.s.rt.New(exports.Get("URL"), c.arg(0))
		if err != nil {
			c.s.rethrow(err)
		}
		o := c.s.rt.NewObject()
		for _, name := range []string{"protocol", "host", "port", "hostname", "hash", "search", "pathname", "href"} {
			must(o.Set(name, u.Get(name)))
		}
		return o
	})
	add("fileURLToPath", func(c *call) any {
		u, err := c.s.rt.New(exports.Get("URL"), c.s.rt.ToValue(c.text(0)))
		if err != nil {
			c.s.rethrow(err)
		}
		return fromURL(u.Get("pathname").String())
	})
	add("pathToFileURL", func(c *call) any {
		u, err := c.s.rt.New(exports.Get("URL"), c.s.rt.ToValue("file://"+must2(filepath.Abs(c.text(0)))))
		if err != nil {
			c.s.rethrow(err)
		}
		return u
	})
	return exports
}

func (s *Shell) newTimersModule() *goja.Object {
	o := s.rt.NewObject()
	for _, name := range []string{"setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"} {
		must(o.Set(name, s.rt.GlobalObject().Get(name)))
	}
	must(o.Set("promises", s.module("timers/promises")))
	return o
}

// newTimerPromises is timers/promises: timers to wait for.
func (s *Shell) newTimerPromises() *goja.Object {
	m := s.buildModule()
	for name, delayed := range map[string]bool{"setTimeout": true, "setImmediate": false} {
		m.add(name, func(c *call) any {
			promise, resolve, _ := c.s.rt.NewPromise()
			value, delay := c.arg(0), c.s.rt.ToValue(0)
			if delayed {
				value, delay = c.arg(1), c.arg(0)
			}
			c.args = []goja.Value{c.s.rt.ToValue(func(goja.FunctionCall) goja.Value {
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
	promises := m.s.rt.NewObject()
	for _, name := range m.o.Keys() {
		sync, _ := goja.AssertFunction(m.o.Get(name))
		plain, ok := strings.CutSuffix(name, "Sync")
		if !ok || plain == "exists" {
			continue
		}
		must(promises.Set(plain, m.s.function(plain, func(c *call) goja.Value {
			promise, resolve, reject := c.s.rt.NewPromise()
			v, err := sync(goja.Undefined(), c.args...)
			var thrown *goja.Exception
			switch {
			case err == nil:
				must(resolve(v))
			case errors.As(err, &thrown):
				must(reject(thrown.Value()))
			default:
				c.s.rethrow(err)
			}
			return c.s.rt.ToValue(promise)
		})))
	}
	must(m.o.Set("promises", promises))
}
