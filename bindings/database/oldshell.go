package database

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Members of the old shell's databases and collections that mongosh lacks.

// removedInVersion returns a method that throws because its feature was removed from the server.
func removedInVersion[T any](name, since, instead string) func(*script.Call, T) goja.Value {
	return func(c *script.Call, _ T) goja.Value {
		c.JS.ThrowCoded(script.DeprecatedErrorName, script.CodeDeprecated, "`%s()` was removed in MongoDB %s; use %s",
			name, since,
			instead)
		return nil
	}
}

func databaseOldShellMethods() script.Methods[*Database] {
	methods := writeConcernMethods(func(d *Database) *bson.Raw { return &d.writeConcern },
		(*Database).effectiveWriteConcern)
	return append(methods, script.Methods[*Database]{
		{"tojson", "", func(c *script.Call, d *Database) goja.Value { return c.JS.Runtime.ToValue(d.Name) }, ""},
		{"getSession", "", func(_ *script.Call, d *Database) goja.Value {
			if d.session == nil {
				return goja.Null()
			}
			return d.session.object
		}, "Returns the session this database belongs to, or null."},
		{"getReadPref", "", func(c *script.Call, d *Database) goja.Value { return mongoGetReadPref(c, d.conn) }, ""},
		{"getQueryOptions", "", func(c *script.Call, _ *Database) goja.Value { return c.JS.Runtime.ToValue(0) }, ""},
		{"runReadCommand", "command:object|string extra?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.host.Gateway.MustSend(d.Request(d.host.commandBody(c, 0), server.Repeatable)))
		}, ""},
		{"getLastErrorCmd", "", func(c *script.Call, _ *Database) goja.Value {
			c.JS.Out.WarnDeprecated("Database.getLastErrorCmd() is deprecated and has no effect. Errors are thrown.")
			return c.JS.NewObject("err", goja.Null(), "ok", 1)
		}, ""},
		{"removeUser", "name:string writeConcern?:object", dropPrincipalCommand("dropUser"), "The old name of dropUser."},
		{"killOP", "opId:any", func(c *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.RunAdmin(bson.D{{Key: "killOp", Value: int32(1)}, {Key: "op",
				Value: c.JS.BSONValue(c.Arg(0))}}))
		}, ""},
		{"loadServerScripts", "", func(c *script.Call, d *Database) goja.Value {
			for _, doc := range d.FindAll("system.js", bson.D{}) {
				f := c.JS.Values.ToJS(doc.Lookup("value"))
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
		{"eval", "", removedInVersion[*Database]("eval", "4.2", "a script"), ""},
		{"dbEval", "", removedInVersion[*Database]("dbEval", "4.2", "a script"), ""},
		{"groupcmd", "", removedInVersion[*Database]("groupcmd", "4.2", "aggregate()"), ""},
		{"getPrevError", "", removedInVersion[*Database]("getPrevError", "3.6", "try and catch: errors are thrown"), ""},
		{"resetError", "", removedInVersion[*Database]("resetError", "3.6", "try and catch: errors are thrown"), ""},
		{"forceError", "", removedInVersion[*Database]("forceError", "3.6", "try and catch: errors are thrown"), ""},
		{
			"enableFreeMonitoring",
			"",
			removedInVersion[*Database]("enableFreeMonitoring", "7.0", "another monitoring service"),
			"",
		},
		{
			"getFreeMonitoringStatus",
			"",
			removedInVersion[*Database]("getFreeMonitoringStatus", "7.0", "another monitoring service"),
			"",
		},
	}...)
}

func objectOf(v goja.Value) *goja.Object {
	o, _ := v.(*goja.Object)
	return o
}

func collectionOldShellMethods() script.Methods[*Collection] {
	methods := writeConcernMethods(func(coll *Collection) *bson.Raw { return &coll.writeConcern },
		(*Collection).effectiveWriteConcern)
	secondary := func(c *script.Call, coll *Collection) goja.Value { return dbSecondaryOk(c, coll.database) }
	allow := func(_ *script.Call, coll *Collection) goja.Value { coll.database.conn.AllowSecondaries(); return nil }
	return append(methods, script.Methods[*Collection]{
		{"tojson", "", func(c *script.Call, coll *Collection) goja.Value {
			return c.JS.Runtime.ToValue(coll.Namespace())
		}, ""},
		{"shellPrint", "", func(c *script.Call, coll *Collection) goja.Value {
			return c.JS.Runtime.ToValue(coll.Namespace())
		}, ""},
		{"setSecondaryOk", "", allow, ""}, {"setSlaveOk", "", allow, ""},
		{"getSecondaryOk", "", secondary, ""}, {"getSlaveOk", "", secondary, ""},
		{"getQueryOptions", "", func(c *script.Call, _ *Collection) goja.Value { return c.JS.Runtime.ToValue(0) }, ""},
		{"runReadCommand", "command:object|string extra?:object", func(c *script.Call, coll *Collection) goja.Value {
			body := coll.host.commandBody(c, 0)
			if goja.IsString(c.Arg(0)) {
				body = rawdoc.MustMarshal(c.JS.Merge(bson.D{{Key: c.Text(0), Value: coll.name}}, c.Arg(1)))
			}
			return coll.host.Display.ReplyValue(coll.host.Gateway.MustSend(coll.database.Request(body, server.Repeatable)))
		}, ""},
		{"group", "", removedInVersion[*Collection]("group", "4.2", "aggregate()"), ""},
		{"groupcmd", "", removedInVersion[*Collection]("groupcmd", "4.2", "aggregate()"), ""},
		{"copyTo", "", removedInVersion[*Collection]("copyTo", "4.2", "aggregate() with $out"), ""},
		{"diskStorageStats", "", removedInVersion[*Collection]("diskStorageStats", "3.0", "stats()"), ""},
		{"pagesInRAM", "", removedInVersion[*Collection]("pagesInRAM", "3.0", "stats()"), ""},
		{"indexStats", "", removedInVersion[*Collection]("indexStats", "3.0", "aggregate([{$indexStats: {}}])"), ""},
	}...)
}

// connectionOldShellMethods returns the methods of the old shell's Mongo.
func connectionOldShellMethods() script.Methods[*Mongo] {
	ask := func(m *Mongo, command bson.D) bson.Raw {
		return m.host.Gateway.MustSend(server.Request{Conn: m.Conn, Database: "admin", Body: command, IsRepeatable: true})
	}
	field := func(name string) func(*script.Call, *Mongo) goja.Value {
		return func(c *script.Call, m *Mongo) goja.Value {
			return c.JS.Values.ToJS(ask(m, server.Command("hello")).Lookup(name))
		}
	}
	secondary := func(c *script.Call, m *Mongo) goja.Value { return dbSecondaryOk(c, m.Database("admin")) }
	return script.Methods[*Mongo]{
		{"isMongos", "", func(c *script.Call, m *Mongo) goja.Value { return c.JS.Runtime.ToValue(m.IsMongos()) },
			"Returns whether the connection is to a mongos."},
		{"isReplicaSetMember", "", func(c *script.Call, m *Mongo) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.Text(ask(m, server.Command("hello")), "setName") != "")
		}, "Returns whether the connection is to a member of a replica set."},
		{"hasPrimary", "", func(c *script.Call, m *Mongo) goja.Value {
			return c.JS.Runtime.ToValue(rawdoc.IsFieldTruthy(ask(m, server.Command("hello")), "isWritablePrimary"))
		}, ""},
		{"hello", "", func(_ *script.Call, m *Mongo) goja.Value {
			return m.host.Display.ReplyValue(ask(m, server.Command("hello")))
		}, "Returns the server's role in the cluster."},
		{"getMinWireVersion", "", field("minWireVersion"), ""},
		{"getMaxWireVersion", "", field("maxWireVersion"), ""},
		{"unsetWriteConcern", "", func(_ *script.Call, m *Mongo) goja.Value { m.writeConcern = nil; return nil },
			"Goes back to the server's write concern."},
		{"getSecondaryOk", "", secondary, ""}, {"getSlaveOk", "", secondary, ""},
		{"getDatabaseNames", "", mongoGetDBNames, "The old name of getDBNames."},
		{"getLogComponents", "", func(c *script.Call, m *Mongo) goja.Value {
			command := bson.D{{Key: "getParameter", Value: int32(1)}, {Key: "logComponentVerbosity", Value: int32(1)}}
			return c.JS.Values.ToJS(ask(m, command).Lookup("logComponentVerbosity"))
		}, "Returns the log verbosity of each component."},
		{"setLogLevel", "level:number component?:any", func(c *script.Call, m *Mongo) goja.Value {
			on := m.Database("admin").object
			set, _ := goja.AssertFunction(on.Get("setLogLevel"))
			v, err := set(on, c.Args...)
			c.JS.Check(err)
			return v
		}, "Sets how much the server logs."},
		{"getClusterTime", "", func(c *script.Call, m *Mongo) goja.Value {
			return server.FieldValue(c.JS, ask(m, server.Command("hello")), "$clusterTime")
		}, ""},
		{"isTLS", "", func(c *script.Call, m *Mongo) goja.Value {
			return c.JS.Runtime.ToValue(m.ClientOptions != nil && m.ClientOptions.TLSConfig != nil)
		}, "Returns whether the connection is encrypted."},
		{"tojson", "", func(c *script.Call, m *Mongo) goja.Value {
			return c.JS.Runtime.ToValue("connection to " + m.hosts())
		}, ""},
	}
}
