package node

import (
	"errors"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// addPromises adds the module promises of fs: its functions whose names end in Sync, which return promises there.
func (m moduleBuilder) addPromises() {
	promises := m.globals.JS.Runtime.NewObject()
	for _, name := range m.object.Keys() {
		sync, _ := goja.AssertFunction(m.object.Get(name))
		plain, ok := strings.CutSuffix(name, "Sync")
		if !ok || plain == "exists" {
			continue
		}
		script.Must(promises.Set(plain, m.globals.newFunction(plain, func(c *call) goja.Value {
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
	script.Must(m.object.Set("promises", promises))
}
