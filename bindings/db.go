package bindings

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// database is one database of a connection, or of a session on it.
type database struct {
	script.Hidden
	s *Shell
	*server.Database
	on          *mongoObject
	session     *session
	object      *goja.Object
	collections map[string]*collection
	// writeConcern is the database's own; nil for the connection's.
	writeConcern bson.Raw
}

func newDatabase(s *Shell, on *mongoObject, name string, sess *session) *database {
	d := &database{s: s, on: on, Database: &server.Database{Conn: on.Conn, Name: name, Session: sess.underlying()},
		session: sess, collections: make(map[string]*collection)}
	d.object = s.JS.Instance(d, s.databasePrototype())
	s.JS.World.SetPrinter(d.object, func() string { return plaintext.VisibleLine(d.Name) })
	return d
}

// Server returns the database as other rooms know it.
func (d *database) Server() *server.Database { return d.Database }

func (s *Shell) databasePrototype() *goja.Object {
	return prototype(s, "Database", slices.Concat(databaseMethods(), databaseAdminMethods(), databaseUserMethods(),
		replicationMethods(), databaseLegacyMethods()))
}

// Get answers names that are no method of databases: they are collections
// (rules/04-objects §6.1).
func (d *database) Get(name string) goja.Value {
	if c := d.collections[name]; c != nil {
		return c.object
	}
	if !isCollectionProperty(name, d.s.databasePrototype()) {
		return nil
	}
	return d.collection(name).object
}

// isCollectionProperty tells names of collections from members of the class and
// from those every object has.
func isCollectionProperty(name string, proto *goja.Object) bool {
	return name != "" && name[0] != '_' && proto.Get(name) == nil && validCollectionName(name)
}

func validCollectionName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "$\x00")
}

func (d *database) collection(name string) *collection {
	c := d.collections[name]
	if c == nil {
		c = newCollection(d, name)
		d.collections[name] = c
	}
	return c
}

func (d *database) checkedCollection(name string) *collection {
	if !validCollectionName(name) {
		d.s.JS.ThrowInvalid("Invalid collection name: %s", name)
	}
	return d.collection(name)
}

// sibling is another database of the same connection and session.
func (d *database) sibling(name string) *database {
	if name == d.Name {
		return d
	}
	if d.session != nil {
		return d.session.database(name)
	}
	return d.on.checkedDatabase(name)
}

func databaseMethods() []method[*database] {
	return []method[*database]{
		{"getName", "", func(c *call, d *database) goja.Value { return c.JS.Runtime.ToValue(d.Name) },
			"Returns the name of the database."},
		{"getMongo", "", func(_ *call, d *database) goja.Value { return d.on.js() }, "Returns the connection."},
		{"getSiblingDB", "name:string", dbSibling, "Returns another database of the same connection."},
		{"getSisterDB", "name:string", dbSibling, "The old name of getSiblingDB."},
		{"getCollection", "name:string", func(c *call, d *database) goja.Value {
			return d.checkedCollection(c.Text(0)).object
		},
			"Returns a collection; for names that are no identifiers."},
		{"getCollectionNames", "", dbCollectionNames, "Returns the names of the collections and views."},
		{"getCollectionInfos", "filter?:object options?:object", dbCollectionInfos,
			"Returns what listCollections says of the collections."},
		{"runCommand", "command:object|string options?:object", func(c *call, d *database) goja.Value {
			return c.s.display.Reply(c.s.gateway.MustSend(d.Request(c.commandBody(0))))
		}, "Runs a command on this database and returns the reply."},
		{"adminCommand", "command:object|string options?:object", func(c *call, d *database) goja.Value {
			return c.s.display.Reply(c.s.gateway.MustSend(d.sibling("admin").Request(c.commandBody(0))))
		}, "Runs a command on the admin database and returns the reply."},
		{"_adminCommand", "command:object|string options?:object", func(c *call, d *database) goja.Value {
			return c.s.display.Reply(c.s.gateway.MustSend(d.sibling("admin").Request(c.commandBody(0))))
		}, ""},
		{"aggregate", "pipeline?:object options?:object", dbAggregate,
			"Runs a pipeline that starts without a collection."},
		{"version", "", func(c *call, d *database) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.Text(d.Admin(server.Command("buildInfo"), server.Reads), "version"))
		}, "Returns the server's version."},
		{"serverBits", "", func(c *call, d *database) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.Int(d.Admin(server.Command("buildInfo"), server.Reads), "bits"))
		}, "Returns whether the server is built for 32 or 64 bits."},
		{"hello", "", func(c *call, d *database) goja.Value {
			return c.s.display.Reply(d.Run(server.Command("hello"), server.Reads))
		}, "Returns the server's part in the cluster."},
		{"isMaster", "", dbIsMaster, "The old name of hello."},
		{"stats", "scaleOrOptions?:number|object", dbStats, "Returns the sizes of the database."},
		{"createCollection", "name:string options?:object", dbCreateCollection, "Creates a collection."},
		{"createView", "name:string source:string pipeline:object options?:object", dbCreateView, "Creates a view."},
		{"dropDatabase", "writeConcern?:object", dbDrop, "Drops this database and everything in it."},
		{"printShardingStatus", "verbose?:boolean|object", func(c *call, d *database) goja.Value {
			return c.s.sharding.PrintStatus(d.Database, d.Sibling("config"), c.s.sharding.StatusArgument(c.Call, 0))
		}, "The same as sh.status()."},
		{"printCollectionStats", "scale?:any", dbPrintCollectionStats, "Shows stats() of every collection."},
		{"checkMetadataConsistency", "options?:object", func(c *call, d *database) goja.Value {
			return c.commandCursor(d, c.JS.Merge(server.Command("checkMetadataConsistency"), c.Arg(0)))
		}, "Looks for inconsistencies in the sharding metadata of this database."},
		{"watch", "pipeline?:object options?:object", func(c *call, d *database) goja.Value {
			return c.watch(d, int32(1), nil, c.Arg(0), c.Arg(1))
		}, "Opens a change stream on this database."},
		{"toString", "", func(c *call, d *database) goja.Value { return c.JS.Runtime.ToValue(d.Name) }, ""},
		{"toJSON", "", func(c *call, d *database) goja.Value { return c.JS.Runtime.ToValue(d.Name) }, ""},
	}
}

func dbSibling(c *call, d *database) goja.Value { return d.sibling(c.Text(0)).object }

// commandBody returns a command given as a document, or as a name that stands
// for {name: 1}; options of the next argument are added.
func (c *call) commandBody(i int) any {
	if goja.IsString(c.Arg(i)) {
		return c.JS.Merge(server.Command(c.Text(i)), c.Arg(i+1))
	}
	if !c.Has(i+1) && c.s.settings.maxTimeMS == 0 {
		return c.JS.Document(c.Arg(i))
	}
	body := c.JS.Merge(c.JS.Merge(bson.D{}, c.Arg(i)), c.Arg(i+1))
	if ms := c.s.settings.maxTimeMS; ms > 0 && !server.HasField(body, "maxTimeMS") {
		body = append(body, bson.E{Key: "maxTimeMS", Value: ms})
	}
	return body
}

// listCollections asks for the infos of collections, names only or whole.
func (d *database) listCollections(filter bson.Raw, nameOnly bool, more goja.Value) []bson.Raw {
	body := bson.D{
		{Key: "listCollections", Value: int32(1)},
		{Key: "filter", Value: filter},
		{Key: "cursor", Value: bson.D{}},
		{Key: "nameOnly", Value: nameOnly},
		{Key: "authorizedCollections", Value: false},
	}
	return d.s.gateway.All(d.Request(d.s.JS.Merge(body, more), server.Reads, server.Nearby))
}

func dbCollectionNames(c *call, d *database) goja.Value {
	infos := d.listCollections(rawdoc.Empty, true, nil)
	names := make([]any, len(infos))
	for i, info := range infos {
		names[i] = rawdoc.Text(info, "name")
	}
	return c.JS.Runtime.NewArray(names...)
}

func dbCollectionInfos(c *call, d *database) goja.Value {
	return c.JS.Array(d.listCollections(c.JS.Optional(c.Arg(0)), false, c.Arg(1)))
}

func dbAggregate(c *call, d *database) goja.Value {
	pipeline, options := c.stageArguments()
	return c.aggregate(d, int32(1), pipeline, options)
}

func dbIsMaster(c *call, d *database) goja.Value {
	o := c.s.display.Reply(d.Run(server.Command("isMaster"), server.Reads)).(*goja.Object)
	if o.Get("isWritablePrimary") == nil {
		script.Must(o.Set("isWritablePrimary", o.Get("ismaster")))
	}
	return o
}

func dbStats(c *call, d *database) goja.Value {
	body := server.Command("dbStats", bson.E{Key: "scale", Value: int32(1)})
	if goja.IsNumber(c.Arg(0)) {
		body[1].Value = c.JS.Value(c.Arg(0))
	} else {
		body = c.JS.Merge(body, c.Arg(0))
	}
	return c.s.display.Reply(d.Run(body, server.Reads))
}

func dbCreateCollection(c *call, d *database) goja.Value {
	d.Run(c.JS.Merge(bson.D{{Key: "create", Value: c.Text(0)}}, c.Arg(1)))
	return c.JS.NewObject("ok", 1)
}

func dbCreateView(c *call, d *database) goja.Value {
	pipeline := c.Arg(2)
	if o := c.Object(2); o != nil && o.ClassName() != "Array" {
		pipeline = c.JS.Runtime.NewArray(pipeline)
	}
	body := bson.D{
		{Key: "create", Value: c.Text(0)},
		{Key: "viewOn", Value: c.Text(1)},
		{Key: "pipeline", Value: c.JS.Value(pipeline)},
	}
	d.Run(c.JS.Merge(body, c.Arg(3)))
	return c.JS.NewObject("ok", 1)
}

func dbDrop(c *call, d *database) goja.Value {
	body := server.Command("dropDatabase")
	if c.Has(0) {
		body = append(body, bson.E{Key: "writeConcern", Value: c.JS.Document(c.Arg(0))})
	}
	reply := d.Run(body)
	o := c.JS.NewObject("ok", 1)
	dropped := rawdoc.Text(reply, "dropped")
	if dropped == "" {
		dropped = d.Name
	}
	script.Must(o.Set("dropped", dropped))
	return o
}

func dbPrintCollectionStats(c *call, d *database) goja.Value {
	scale := 1.0
	if c.Has(0) {
		scale = c.Arg(0).ToFloat()
		if !goja.IsNumber(c.Arg(0)) || !(scale >= 1) {
			c.JS.ThrowInvalid("scale has to be a number >=1, got %s", c.Arg(0))
		}
	}
	value := c.JS.Runtime.NewObject()
	for _, info := range d.listCollections(rawdoc.Empty, true, nil) {
		name := rawdoc.Text(info, "name")
		var stats goja.Value
		if ex := c.JS.Runtime.Try(func() {
			stats = c.s.collectionStats(d.collection(name),
				statsOptions{scale: scale})
		}); ex != nil {
			stats = c.JS.NewObject("ok", 0, "errmsg", c.JS.Errors.Thrown(ex.Value()).Message)
		}
		script.Must(value.Set(name, stats))
	}
	return c.s.display.StatsResult(value)
}
