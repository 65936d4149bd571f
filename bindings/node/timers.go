package node

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// newTimersModule returns the module timers.
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
	return m.object
}
