package database

import (
	"cmp"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/replicaset"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/stats"
)

func databaseMethods() script.Methods[*Database] {
	return script.Methods[*Database]{
		{"getName", "", func(c *script.Call, d *Database) goja.Value { return c.JS.Runtime.ToValue(d.Name) },
			"Returns the name of the database."},
		{"getMongo", "", func(_ *script.Call, d *Database) goja.Value { return d.conn.Object() }, "Returns the connection."},
		{"getSiblingDB", "name:string", dbSibling, "Returns another database of the same connection."},
		{"getSisterDB", "name:string", dbSibling, "The old name of getSiblingDB."},
		{"getCollection", "name:string", func(c *script.Call, d *Database) goja.Value {
			return d.CheckedCollection(c.Text(0)).object
		},
			"Returns a collection; for names that are not identifiers."},
		{"getCollectionNames", "", dbCollectionNames, "Returns the names of the collections and views."},
		{"getCollectionInfos", "filter?:object options?:object", dbCollectionInfos,
			"Returns what listCollections says of the collections."},
		{"runCommand", "command:object|string options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.runCommandArgument(c, d)
		}, "Runs a command on this database and returns the reply."},
		{"adminCommand", "command:object|string options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.runCommandArgument(c, d.SiblingDatabase("admin"))
		}, "Runs a command on the admin database and returns the reply."},
		{"_adminCommand", "command:object|string options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.runCommandArgument(c, d.SiblingDatabase("admin"))
		}, ""},
		{"aggregate", "pipeline?:object options?:object", dbAggregate,
			"Runs a pipeline that starts without a collection."},
		{"version", "", func(c *script.Call, d *Database) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.Text(d.RunAdmin(server.Command("buildInfo"), server.Repeatable), "version"))
		}, "Returns the server's version."},
		{"serverBits", "", func(c *script.Call, d *Database) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.Int(d.RunAdmin(server.Command("buildInfo"), server.Repeatable), "bits"))
		}, "Returns whether the server is built for 32 or 64 bits."},
		{"hello", "", func(_ *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.Run(server.Command("hello"), server.Repeatable))
		}, "Returns the server's role in the cluster."},
		{"isMaster", "", func(_ *script.Call, d *Database) goja.Value {
			return replicaset.IsMaster(d.host.replicaSetHost(), d.Database)
		}, "The old name of hello."},
		{"stats", "scaleOrOptions?:number|object", dbStats, "Returns the sizes of the database."},
		{"createCollection", "name:string options?:object", dbCreateCollection, "Creates a collection."},
		{"createView", "name:string source:string pipeline:object options?:object", dbCreateView, "Creates a view."},
		{"dropDatabase", "writeConcern?:object", dbDrop, "Drops this database and everything in it."},
		{"printShardingStatus", "verbose?:boolean|object", func(c *script.Call, d *Database) goja.Value {
			return d.host.Sharding.PrintStatus(d.Database, d.Sibling("config"), d.host.Sharding.StatusArgument(c, 0))
		}, "The same as sh.status()."},
		{"printCollectionStats", "scale?:any", dbPrintCollectionStats, "Shows stats() of every collection."},
		{"checkMetadataConsistency", "options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.Cursors.RunCommand(d, c.JS.Merge(server.Command("checkMetadataConsistency"), c.Arg(0)))
		}, "Checks the sharding metadata of this database for inconsistencies."},
		{"watch", "pipeline?:object options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.watch(c, int32(1), nil, c.Arg(0), c.Arg(1))
		}, "Opens a change stream on this database."},
		{"toString", "", func(c *script.Call, d *Database) goja.Value { return c.JS.Runtime.ToValue(d.Name) }, ""},
		{"toJSON", "", func(c *script.Call, d *Database) goja.Value { return c.JS.Runtime.ToValue(d.Name) }, ""},
	}
}

func dbSibling(c *script.Call, d *Database) goja.Value { return d.SiblingDatabase(c.Text(0)).object }

// runCommandArgument runs a command that a script has given.
func (h *Host) runCommandArgument(c *script.Call, d *Database) goja.Value {
	return h.Display.ReplyValue(h.Gateway.MustSend(d.Request(h.commandBody(c, 0))))
}

// commandBody returns a command given as a document, or as a name that stands
// for {name: 1}; options of the next argument are added.
func (h *Host) commandBody(c *script.Call, i int) any {
	if goja.IsString(c.Arg(i)) {
		return c.JS.Merge(server.Command(c.Text(i)), c.Arg(i+1))
	}
	if !c.Has(i+1) && h.MaxTimeMS() == 0 {
		return c.JS.Document(c.Arg(i))
	}
	body := c.JS.Merge(c.JS.Merge(bson.D{}, c.Arg(i)), c.Arg(i+1))
	if ms := h.MaxTimeMS(); ms > 0 && !server.HasField(body, "maxTimeMS") {
		body = append(body, bson.E{Key: "maxTimeMS", Value: ms})
	}
	return body
}

func dbCollectionNames(c *script.Call, d *Database) goja.Value {
	infos := d.ListCollections(rawdoc.Empty, true, nil)
	names := make([]any, len(infos))
	for i, info := range infos {
		names[i] = rawdoc.Text(info, "name")
	}
	return c.JS.Runtime.NewArray(names...)
}

func dbCollectionInfos(c *script.Call, d *Database) goja.Value {
	return c.JS.DocumentArray(d.ListCollections(c.JS.DocumentOrEmpty(c.Arg(0)), false, c.Arg(1)))
}

func dbAggregate(c *script.Call, d *Database) goja.Value {
	pipeline, options := stageArguments(c)
	return d.aggregate(c, int32(1), pipeline, options)
}

func dbStats(c *script.Call, d *Database) goja.Value {
	body := server.Command("dbStats", bson.E{Key: "scale", Value: int32(1)})
	if goja.IsNumber(c.Arg(0)) {
		body[1].Value = c.JS.BSONValue(c.Arg(0))
	} else {
		body = c.JS.Merge(body, c.Arg(0))
	}
	return d.host.Display.ReplyValue(d.Run(body, server.Repeatable))
}

func dbCreateCollection(c *script.Call, d *Database) goja.Value {
	d.Run(c.JS.Merge(bson.D{{Key: "create", Value: c.Text(0)}}, c.Arg(1)))
	return c.JS.NewObject("ok", 1)
}

func dbCreateView(c *script.Call, d *Database) goja.Value {
	pipeline := c.Arg(2)
	if o := c.Object(2); o != nil && o.ClassName() != "Array" {
		pipeline = c.JS.Runtime.NewArray(pipeline)
	}
	body := bson.D{
		{Key: "create", Value: c.Text(0)},
		{Key: "viewOn", Value: c.Text(1)},
		{Key: "pipeline", Value: c.JS.BSONValue(pipeline)},
	}
	d.Run(c.JS.Merge(body, c.Arg(3)))
	return c.JS.NewObject("ok", 1)
}

func dbDrop(c *script.Call, d *Database) goja.Value {
	body := server.Command("dropDatabase")
	if c.Has(0) {
		body = append(body, bson.E{Key: "writeConcern", Value: c.JS.Document(c.Arg(0))})
	}
	reply := d.Run(body)
	o := c.JS.NewObject("ok", 1)
	dropped := cmp.Or(rawdoc.Text(reply, "dropped"), d.Name)
	script.Must(o.Set("dropped", dropped))
	return o
}

func dbPrintCollectionStats(c *script.Call, d *Database) goja.Value {
	scale := 1.0
	if c.Has(0) {
		scale = c.Arg(0).ToFloat()
		if !goja.IsNumber(c.Arg(0)) || !(scale >= 1) {
			c.JS.ThrowInvalid("scale has to be a number >=1, got %s", c.Arg(0))
		}
	}
	value := c.JS.Runtime.NewObject()
	for _, info := range d.ListCollections(rawdoc.Empty, true, nil) {
		name := rawdoc.Text(info, "name")
		var sizes goja.Value
		if ex := c.JS.Runtime.Try(func() {
			sizes = d.Collection(name).statsCollection().Stats(stats.Options{Scale: scale})
		}); ex != nil {
			sizes = c.JS.NewObject("ok", 0, "errmsg", c.JS.Errors.DescribeThrown(ex.Value()).Message)
		}
		script.Must(value.Set(name, sizes))
	}
	return d.host.Display.StatsResult(value)
}
