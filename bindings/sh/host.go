package sh

import (
	"slices"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/action"
	"shardsh/bindings/display"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Host provides what the helpers need from the shell.
type Host struct {
	JS      *script.Engine
	Display *display.Display
	Gateway *server.Gateway
	// Compat makes helpers that differ between the old shell and mongosh behave like those of the old
	// shell (rules/04-objects §5.3).
	Compat bool
	// MaxTimeMS returns the time limit of the settings; 0 for none.
	MaxTimeMS func() int64
	// DB returns the current database; nil without a connection.
	DB func() *server.Database
	// Objects creates the JavaScript objects that helpers return.
	Objects Objects
	// Sandbox says which files helpers may use; nil allows all.
	Sandbox *sandbox.Rules
	// Consent is the consent that runs need before they change anything.
	Consent action.Consent
	// IsMock says that the cluster is the embedded mock.
	IsMock bool

	mongosChecked map[*server.Database]bool // databases for which warnUnlessMongos has run
}

// Objects creates JavaScript objects of other packages for helpers. The databases are siblings of the
// current one.
type Objects interface {
	// Database returns the object of a database.
	Database(d *server.Database) goja.Value
	// Cursor returns the object of a cursor over the result of a command; start sends the command.
	Cursor(d *server.Database, command bson.D) (object goja.Value, start func())
	// Update sends one update statement and returns its result, and the number of matched documents. It
	// throws when the update fails.
	Update(d *server.Database, collection string, statement, writeConcern bson.Raw) (result *goja.Object, matched int64)
}

// Database is a database in an argument.
type Database interface{ ServerDatabase() *server.Database }

// Collection is a collection in an argument.
type Collection interface{ Namespace() string }

// call is one call of a helper.
type call struct {
	*script.Call
	host *Host
}

// helper is a method of sh; see [script.Method].
type helper struct {
	name, signature string
	call            func(c *call, sh *Helpers) goja.Value
	help            string
}

// Object returns the object sh.
func (h *Host) Object() goja.Value {
	sh := &Helpers{host: h}
	var methods []script.Method[*Helpers]
	for _, m := range slices.Concat(helperTables()...) {
		run := withSuggestions(m)
		methods = append(methods, script.Method[*Helpers]{
			Name: m.name, Signature: m.signature, Help: m.help, Example: exampleOf(m.name),
			Call: func(c *script.Call, sh *Helpers) goja.Value { return run(&call{c, h}, sh) },
		})
	}
	proto := script.Prototype(h.JS, "Shard", methods)
	h.JS.Help.DefineTopicHelp(proto, func(topic string) string { return helpText(h.JS.Out.Paint, topic) })
	o := h.JS.NewInstance(sh, proto)
	h.JS.Values.SetPrinter(o, func() string {
		d := h.DB()
		if d == nil {
			return "Shard class not connected"
		}
		return "Shard class connected to " + d.Conn.Address + " via db " + d.Name
	})
	return o
}

// current returns the current database; it throws without a connection.
func (h *Host) current() *server.Database {
	return server.RequireDatabase(h.JS, h.DB())
}

// helpersOn returns the helpers on a database.
func (h *Host) helpersOn(d *server.Database) *Helpers { return &Helpers{host: h, database: d} }

// isFirstMongosCheck reports whether this is the first mongos check for a database.
func (h *Host) isFirstMongosCheck(d *server.Database) bool {
	if h.mongosChecked[d] {
		return false
	}
	if h.mongosChecked == nil {
		h.mongosChecked = make(map[*server.Database]bool)
	}
	h.mongosChecked[d] = true
	return true
}
