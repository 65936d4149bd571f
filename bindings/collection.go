package bindings

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// collection is one collection or view of a database.
type collection struct {
	script.Hidden
	s      *Shell
	d      *database
	name   string
	object *goja.Object
	// writeConcern is the collection's own; nil for the database's.
	writeConcern bson.Raw
}

func newCollection(d *database, name string) *collection {
	c := &collection{s: d.s, d: d, name: name}
	c.object = d.s.JS.Instance(c, d.s.collectionPrototype())
	d.s.JS.World.SetPrinter(c.object, func() string { return plaintext.VisibleLine(c.Namespace()) })
	return c
}

func (s *Shell) collectionPrototype() *goja.Object {
	if p := s.JS.Classes.Prototype("Collection"); p != nil {
		return p
	}
	var all []method[*collection]
	for _, table := range [][]method[*collection]{collectionMethods(), readMethods(), writeMethods(), indexMethods(),
		adminMethods(), shardingMethods(), collectionLegacyMethods()} {
		all = append(all, table...)
	}
	return prototype(s, "Collection", all)
}

func (coll *collection) Namespace() string { return coll.d.Name + "." + coll.name }

// Get answers names that are no method of collections: db.a.b is the collection
// a.b.
func (coll *collection) Get(name string) goja.Value {
	if !isCollectionProperty(name, coll.s.collectionPrototype()) {
		return nil
	}
	return coll.d.collection(coll.name + "." + name).object
}

func collectionMethods() []method[*collection] {
	return []method[*collection]{
		{"getName", "", func(c *call, coll *collection) goja.Value { return c.JS.Runtime.ToValue(coll.name) },
			"Returns the name without the database."},
		{"getFullName", "", func(c *call, coll *collection) goja.Value { return c.JS.Runtime.ToValue(coll.Namespace()) },
			"Returns the namespace."},
		{"getDB", "", func(_ *call, coll *collection) goja.Value { return coll.d.object }, "Returns the database."},
		{"getMongo", "", func(_ *call, coll *collection) goja.Value { return coll.d.on.js() },
			"Returns the connection."},
		{"getCollection", "name:string", func(c *call, coll *collection) goja.Value {
			return coll.d.checkedCollection(coll.name + "." + c.Text(0)).object
		}, "Returns the collection whose name starts with this one's."},
		{"runCommand", "command:string|object options?:object", collRunCommand,
			"Runs a command that names this collection."},
		{"toString", "", func(c *call, coll *collection) goja.Value { return c.JS.Runtime.ToValue(coll.Namespace()) },
			""},
		{"toJSON", "", func(c *call, coll *collection) goja.Value { return c.JS.Runtime.ToValue(coll.Namespace()) },
			""},
	}
}

func collRunCommand(c *call, coll *collection) goja.Value {
	if !goja.IsString(c.Arg(0)) {
		if c.Has(1) {
			c.JS.ThrowInvalid("Collection.runCommand takes a command string as its first arugment")
		}
		return c.s.display.Reply(c.s.gateway.MustSend(coll.d.Request(c.JS.Document(c.Arg(0)))))
	}
	name := c.Text(0)
	if script.Property(c.Object(1), name) != nil {
		c.JS.ThrowInvalid("The \"commandName\" argument cannot be passed as an option to \"runCommand\".")
	}
	return c.s.display.Reply(coll.d.Run(c.JS.Merge(bson.D{{Key: name, Value: coll.name}}, c.Arg(1))))
}
