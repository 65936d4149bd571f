package cursor

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// oldShellMethods returns methods of the old shell's cursors that mongosh lacks.
func oldShellMethods() script.Methods[*Cursor] {
	return script.Methods[*Cursor]{
		{"getId", "", func(c *script.Call, cur *Cursor) goja.Value {
			var id int64
			if cur.serverCursor != nil {
				id = cur.serverCursor.ID()
			}
			return c.JS.FromGo(id)
		}, "Returns the server's number of the cursor; 0 when it has none."},
		{"countReturn", "", func(c *script.Call, cur *Cursor) goja.Value {
			n := c.JS.Runtime.ToValue(0)
			for count := 0; cur.HasNext(); n = c.JS.Runtime.ToValue(count) {
				cur.Next()
				count++
			}
			return n
		}, ""},
		{"getClusterTime", "", func(c *script.Call, cur *Cursor) goja.Value {
			sess := cur.d.ServerDatabase().Session
			if sess == nil {
				return nil
			}
			return server.ClusterTime(c.JS, sess.ClusterTime())
		}, ""},
		{"getQueryPlan", "verbosity?:any", cursorExplain, ""},
		{"arrayAccess", "index:number", func(c *script.Call, cur *Cursor) goja.Value {
			for i := c.Arg(0).ToInteger(); cur.HasNext(); i-- {
				if doc := cur.Next(); i <= 0 {
					return doc
				}
			}
			return nil
		}, ""},
		{"shellPrint", "", func(_ *script.Call, cur *Cursor) goja.Value {
			cur.host.Display.Print([]goja.Value{cur.Object})
			return nil
		}, ""},
	}
}
