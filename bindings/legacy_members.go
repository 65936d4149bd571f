package bindings

import (
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Members of the old shell's databases, collections and cursors that mongosh lacks.

// gone makes a method of something that servers no longer have.
func gone[T any](name, since, instead string) method[T] {
	return method[T]{name, "", func(c *call, _ T) goja.Value {
		c.JS.ThrowCoded(script.Deprecated, script.CodeDeprecated, "`%s()` was removed in MongoDB %s; use %s", name, since,
			instead)
		return nil
	}, ""}
}

func databaseLegacyMethods() []method[*database] {
	methods := concernMethods(func(d *database) *bson.Raw { return &d.writeConcern }, (*database).concern)
	return append(methods, []method[*database]{
		{"tojson", "", func(c *call, d *database) goja.Value { return c.JS.Runtime.ToValue(d.Name) }, ""},
		{"getSession", "", func(_ *call, d *database) goja.Value {
			if d.session == nil {
				return goja.Null()
			}
			return d.session.object
		}, "Returns the session this database belongs to, or null."},
		{"getReadPref", "", func(c *call, d *database) goja.Value { return mongoGetReadPref(c, d.on) }, ""},
		{"getQueryOptions", "", func(c *call, _ *database) goja.Value { return c.JS.Runtime.ToValue(0) }, ""},
		{"runReadCommand", "command:object|string extra?:object", func(c *call, d *database) goja.Value {
			return c.s.display.Reply(c.s.gateway.MustSend(d.Request(c.commandBody(0), server.Reads)))
		}, ""},
		{"getLastErrorCmd", "", func(c *call, _ *database) goja.Value {
			c.JS.Out.Deprecate("Database.getLastErrorCmd() is deprecated and has no effect. Errors are thrown.")
			return c.JS.NewObject("err", goja.Null(), "ok", 1)
		}, ""},
		{"removeUser", "name:string writeConcern?:object", dropPrincipal("dropUser"), "The old name of dropUser."},
		{"killOP", "opId:any", func(c *call, d *database) goja.Value {
			return c.s.display.Reply(d.Admin(bson.D{{Key: "killOp", Value: int32(1)}, {Key: "op", Value: c.JS.Value(c.Arg(0))}}))
		}, ""},
		{"loadServerScripts", "", func(c *call, d *database) goja.Value {
			for _, doc := range d.FindAll("system.js", bson.D{}) {
				f := c.JS.World.ToJS(doc.Lookup("value"))
				if code := script.Property(objectOf(f), "code"); code != nil {
					var err error
					if f, err = c.JS.Runtime.RunString("(" + code.String() + ")"); err != nil {
						c.JS.Rethrow(err)
					}
				}
				script.Must(c.JS.Runtime.GlobalObject().Set(rawdoc.Text(doc, "_id"), f))
			}
			return nil
		}, ""},
		gone[*database]("eval", "4.2", "a script"),
		gone[*database]("dbEval", "4.2", "a script"),
		gone[*database]("groupcmd", "4.2", "aggregate()"),
		gone[*database]("getPrevError", "3.6", "try and catch: errors are thrown"),
		gone[*database]("resetError", "3.6", "try and catch: errors are thrown"),
		gone[*database]("forceError", "3.6", "try and catch: errors are thrown"),
		gone[*database]("enableFreeMonitoring", "7.0", "another monitoring"),
		gone[*database]("getFreeMonitoringStatus", "7.0", "another monitoring"),
	}...)
}

func objectOf(v goja.Value) *goja.Object {
	o, _ := v.(*goja.Object)
	return o
}

func collectionLegacyMethods() []method[*collection] {
	methods := concernMethods(func(coll *collection) *bson.Raw { return &coll.writeConcern }, (*collection).concern)
	secondary := func(c *call, coll *collection) goja.Value { return dbSecondaryOk(c, coll.d) }
	allow := func(_ *call, coll *collection) goja.Value { coll.d.on.allowSecondaries(); return nil }
	return append(methods, []method[*collection]{
		{"tojson", "", func(c *call, coll *collection) goja.Value { return c.JS.Runtime.ToValue(coll.Namespace()) }, ""},
		{"shellPrint", "", func(c *call, coll *collection) goja.Value { return c.JS.Runtime.ToValue(coll.Namespace()) }, ""},
		{"setSecondaryOk", "", allow, ""}, {"setSlaveOk", "", allow, ""},
		{"getSecondaryOk", "", secondary, ""}, {"getSlaveOk", "", secondary, ""},
		{"getQueryOptions", "", func(c *call, _ *collection) goja.Value { return c.JS.Runtime.ToValue(0) }, ""},
		{"runReadCommand", "command:object|string extra?:object", func(c *call, coll *collection) goja.Value {
			body := c.commandBody(0)
			if goja.IsString(c.Arg(0)) {
				body = rawdoc.Of(c.JS.Merge(bson.D{{Key: c.Text(0), Value: coll.name}}, c.Arg(1)))
			}
			return c.s.display.Reply(c.s.gateway.MustSend(coll.d.Request(body, server.Reads)))
		}, ""},
		gone[*collection]("group", "4.2", "aggregate()"),
		gone[*collection]("groupcmd", "4.2", "aggregate()"),
		gone[*collection]("copyTo", "4.2", "aggregate() with $out"),
		gone[*collection]("diskStorageStats", "3.0", "stats()"),
		gone[*collection]("pagesInRAM", "3.0", "stats()"),
		gone[*collection]("indexStats", "3.0", "aggregate([{$indexStats: {}}])"),
	}...)
}

func cursorLegacyMethods() []method[*cursor] {
	return []method[*cursor]{
		{"getId", "", func(c *call, cur *cursor) goja.Value {
			var id int64
			if cur.server != nil {
				id = cur.server.ID()
			}
			return c.JS.GoValue(id)
		}, "Returns the server's number of the cursor; 0 when it has none."},
		{"countReturn", "", func(c *call, cur *cursor) goja.Value {
			n := c.JS.Runtime.ToValue(0)
			for count := 0; cur.hasNext(); n = c.JS.Runtime.ToValue(count) {
				cur.next()
				count++
			}
			return n
		}, ""},
		{"getClusterTime", "", func(c *call, cur *cursor) goja.Value {
			if cur.d.session == nil {
				return nil
			}
			return c.clusterTime(cur.d.session.driver.ClusterTime())
		}, ""},
		{"getQueryPlan", "verbosity?:any", cursorExplain, ""},
		{"arrayAccess", "index:number", func(c *call, cur *cursor) goja.Value {
			for i := c.Arg(0).ToInteger(); cur.hasNext(); i-- {
				if doc := cur.next(); i <= 0 {
					return doc
				}
			}
			return nil
		}, ""},
		{"shellPrint", "", func(c *call, cur *cursor) goja.Value {
			c.s.display.Print([]goja.Value{cur.object})
			return nil
		}, ""},
	}
}

// connectionLegacyMethods are those of the old shell's Mongo.
func connectionLegacyMethods() []method[*mongoObject] {
	ask := func(c *call, m *mongoObject, command bson.D) bson.Raw {
		return c.s.gateway.MustSend(server.Request{On: m.Conn, Database: "admin", Body: command, Reads: true})
	}
	field := func(name string) func(*call, *mongoObject) goja.Value {
		return func(c *call, m *mongoObject) goja.Value {
			return c.JS.World.ToJS(ask(c, m, server.Command("hello")).Lookup(name))
		}
	}
	secondary := func(c *call, m *mongoObject) goja.Value { return dbSecondaryOk(c, m.database("admin")) }
	return []method[*mongoObject]{
		{"isMongos", "", func(c *call, m *mongoObject) goja.Value { return c.JS.Runtime.ToValue(m.IsMongos()) },
			"Tells whether the connection is to a mongos."},
		{"isReplicaSetMember", "", func(c *call, m *mongoObject) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.Text(ask(c, m, server.Command("hello")), "setName") != "")
		}, "Tells whether the connection is to a member of a replica set."},
		{"hasPrimary", "", func(c *call, m *mongoObject) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.TruthyAt(ask(c, m, server.Command("hello")), "isWritablePrimary"))
		}, ""},
		{"hello", "", func(c *call, m *mongoObject) goja.Value {
			return c.s.display.Reply(ask(c, m, server.Command("hello")))
		}, "Returns the server's part in the cluster."},
		{"getMinWireVersion", "", field("minWireVersion"), ""},
		{"getMaxWireVersion", "", field("maxWireVersion"), ""},
		{"unsetWriteConcern", "", func(_ *call, m *mongoObject) goja.Value { m.writeConcern = nil; return nil },
			"Goes back to the server's write concern."},
		{"getSecondaryOk", "", secondary, ""}, {"getSlaveOk", "", secondary, ""},
		{"getDatabaseNames", "", mongoGetDBNames, "The old name of getDBNames."},
		{"getLogComponents", "", func(c *call, m *mongoObject) goja.Value {
			command := bson.D{{Key: "getParameter", Value: int32(1)}, {Key: "logComponentVerbosity", Value: int32(1)}}
			return c.JS.World.ToJS(ask(c, m, command).Lookup("logComponentVerbosity"))
		}, "Returns how much the server logs of what."},
		{"setLogLevel", "level:number component?:any", func(c *call, m *mongoObject) goja.Value {
			on := m.database("admin").object
			set, _ := goja.AssertFunction(on.Get("setLogLevel"))
			v, err := set(on, c.Args...)
			if err != nil {
				c.JS.Rethrow(err)
			}
			return v
		}, "Sets how much the server logs."},
		{"getClusterTime", "", func(c *call, m *mongoObject) goja.Value {
			return c.optionalDocument(ask(c, m, server.Command("hello")), "$clusterTime")
		}, ""},
		{"isTLS", "", func(c *call, m *mongoObject) goja.Value {
			return c.JS.Runtime.ToValue(m.Settings != nil && m.Settings.TLSConfig != nil)
		}, "Tells whether the connection is encrypted."},
		{"tojson", "", func(c *call, m *mongoObject) goja.Value {
			return c.JS.Runtime.ToValue("connection to " + m.hosts())
		}, ""},
	}
}

// newJSTest makes jsTest, as far as scripts from outside of MongoDB's own tests
// use it.
func (s *Shell) newJSTest() goja.Value {
	o := s.JS.Runtime.NewObject()
	options := s.JS.Runtime.NewObject()
	for name, f := range map[string]func(*call) goja.Value{
		"name": func(c *call) goja.Value { return c.JS.Runtime.ToValue("shardsh") },
		"log": func(c *call) goja.Value {
			text := c.Text(0)
			if c.Object(0) != nil {
				text = c.s.toJSON(c.Arg(0), true)
			}
			c.JS.Out.Write("[" + c.JS.Clock.Now().UTC().Format(time.RFC3339) + "] " + text + "\n")
			return nil
		},
		"options": func(*call) goja.Value { return options },
		"isMongos": func(c *call) goja.Value {
			if m, ok := script.Receiver[*mongoObject](c.Arg(0)); ok {
				return c.JS.Runtime.ToValue(m.IsMongos())
			}
			return c.JS.Runtime.ToValue(c.s.requireDB().on.IsMongos())
		},
		// Connections log in by their address here.
		"authenticate":      func(c *call) goja.Value { return c.JS.Runtime.ToValue(true) },
		"authenticateNodes": func(c *call) goja.Value { return c.JS.Runtime.ToValue(true) },
	} {
		script.Must(o.Set(name, s.function(name, f)))
	}
	return o
}
