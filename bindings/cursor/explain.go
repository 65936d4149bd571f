package cursor

import (
	"cmp"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Verbosity returns the verbosity in the argument of explain. true and false stand for the two levels
// of the old shell.
func Verbosity(c *script.Call, i int) string {
	switch v := c.Arg(i); {
	case goja.IsUndefined(v):
		return "queryPlanner"
	case script.TypeOf(v) == "boolean":
		if v.ToBoolean() {
			return "allPlansExecution"
		}
		return "queryPlanner"
	case goja.IsString(v):
		return v.String()
	}
	c.JS.ThrowInvalid("verbosity must be a string")
	return ""
}

// RunExplain runs explain for a command. It removes execution statistics that were not requested: some
// servers return them anyway. A nil read preference is that of the connection.
func (h *Host) RunExplain(
	d *server.Database, body bson.D, verbosity string, preference *readpref.ReadPref,
) goja.Value {
	reply := d.Run(bson.D{{Key: "explain", Value: body}, {Key: "verbosity", Value: verbosity}}, server.Repeatable,
		server.ReadFrom(preference))
	o := h.Display.ReplyValue(reply).(*goja.Object)
	if verbosity == "queryPlanner" && script.Property(o, "executionStats") != nil {
		script.Must(o.Delete("executionStats"))
	}
	return o
}

// ExplainOutput returns the explain output of the query.
func (cur *Cursor) ExplainOutput() goja.Value {
	return cur.explain(cmp.Or(cur.ExplainVerbosity, "queryPlanner"))
}

func cursorExplain(c *script.Call, cur *Cursor) goja.Value {
	return cur.explain(Verbosity(c, 0))
}

func (cur *Cursor) explain(verbosity string) goja.Value {
	return cur.host.RunExplain(cur.d.ServerDatabase(), cur.command(), verbosity, cur.readPreference)
}
