package database

import (
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/keyorder"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

func mongoMethods() script.Methods[*Mongo] {
	return script.Methods[*Mongo]{
		{"getDB", "name:string", func(c *script.Call, m *Mongo) goja.Value { return m.CheckedDatabase(c.Text(0)).object },
			"Returns the database of that name."},
		{"getDBs", "options?:object", func(_ *script.Call, m *Mongo) goja.Value {
			return m.host.Display.ReplyValue(m.ListDatabases())
		},
			"Returns the reply of listDatabases."},
		{"getDBNames", "options?:object", mongoGetDBNames, "Returns the names of all databases."},
		{"getCollection", "namespace:string", mongoGetCollection, "Returns the collection of a full name."},
		{"getURI", "", func(c *script.Call, m *Mongo) goja.Value { return c.JS.Runtime.ToValue(m.Address) },
			"Returns the connection string, credentials hidden."},
		{"getReadPrefMode", "", func(c *script.Call, m *Mongo) goja.Value {
			return c.JS.Runtime.ToValue(m.EffectiveReadPreference().Mode().String())
		},
			"Returns the mode of the read preference."},
		{"getReadPref", "", mongoGetReadPref, "Returns the read preference."},
		{"getReadPrefTagSet", "", func(c *script.Call, m *Mongo) goja.Value {
			return server.TagSets(c.JS, m.EffectiveReadPreference())
		},
			"Returns the tag sets of the read preference."},
		{"setReadPref", "mode?:any tags?:any hedge?:object", mongoSetReadPref,
			"Sets the read preference of everything read from now on."},
		{"getReadConcern", "", func(c *script.Call, m *Mongo) goja.Value {
			return server.FieldValue(c.JS, m.readConcern, "level")
		},
			"Returns the level of the read concern, if one was set."},
		{"setReadConcern", "level:string", mongoSetReadConcern,
			"Sets the read concern of everything read from now on."},
		{
			"getWriteConcern",
			"",
			func(c *script.Call, m *Mongo) goja.Value { return server.FieldValue(c.JS, m.writeConcern, "") },
			"Returns the write concern, if one was set.",
		},
		{"setWriteConcern", "w?:any wtimeout?:any journal?:any", mongoSetWriteConcern,
			"Sets the write concern of everything written from now on."},
		{"setSecondaryOk", "", func(_ *script.Call, m *Mongo) goja.Value { m.AllowSecondaries(); return nil },
			"Deprecated: use setReadPref."},
		{"setSlaveOk", "", func(c *script.Call, _ *Mongo) goja.Value {
			c.JS.ThrowCoded(script.DeprecatedErrorName, script.CodeDeprecated,
				"Setting slaveOk is deprecated, use setReadPref instead.")
			return nil
		}, ""},
		{
			"setCausalConsistency",
			"",
			unsupportedOnConnection(
				"It is not possible to set causal consistency for an entire connection due to the driver, use " +
					"startSession({causalConsistency: <>}) instead.",
			),
			"",
		},
		{"isCausalConsistency", "",
			unsupportedOnConnection("Causal consistency for drivers is set via Mongo.startSession and can be checked via " +
				"session.getOptions. The default value is true"),
			""},
		{"getClientEncryption", "", throwNoEncryption, ""},
		{"getKeyVault", "", throwNoEncryption, ""},
		{"startSession", "options?:object", func(c *script.Call, m *Mongo) goja.Value {
			return m.newSession(c, c.Object(0)).object
		},
			"Starts a session, for transactions and causally consistent reads."},
		{"watch", "pipeline?:object options?:object", func(c *script.Call, m *Mongo) goja.Value {
			return m.Database("admin").watch(c, int32(1), bson.D{{Key: "allChangesForCluster", Value: true}}, c.Arg(0), c.Arg(1))
		}, "Opens a change stream on all databases."},
		{"bulkWrite", "models:object options?:object", func(c *script.Call, m *Mongo) goja.Value {
			return m.Database("admin").clientBulkWrite(c)
		}, "Does a list of writes to several collections."},
		{"use", "database:string", func(c *script.Call, m *Mongo) goja.Value {
			return c.JS.Runtime.ToValue(m.host.Current.SwitchTo(m.CheckedDatabase(c.Text(0))))
		},
			"Makes a database of this connection db."},
		{"convertShardKeyToHashed", "value:any", func(c *script.Call, _ *Mongo) goja.Value {
			return c.JS.FromGo(keyorder.Hash(c.JS.BSONValue(c.Arg(0))))
		},
			"Returns the hash of a shard key value."},
		{"connect", "user?:string password?:string", func(c *script.Call, m *Mongo) goja.Value {
			if c.Has(0) {
				m.login(c, options.Credential{Username: c.Text(0), Password: script.OptionalText(c.Arg(1)), PasswordSet: c.Has(1)})
			}
			return nil
		}, ""},
		{"close", "force?:boolean", func(c *script.Call, m *Mongo) goja.Value {
			if m.ownsClient {
				_ = m.host.Gateway.OpenConnections.Disconnect(c.JS.Context(), m.Client)
			}
			return nil
		}, "Closes a connection the script opened."},
		{"adminCommand", "command:object|string", func(c *script.Call, m *Mongo) goja.Value {
			return m.host.Display.ReplyValue(m.host.Gateway.MustSend(server.Request{Conn: m.Conn, Database: "admin",
				Body: m.host.commandBody(c, 0)}))
		}, "Runs a command on the admin database."},
		{"toString", "", func(c *script.Call, m *Mongo) goja.Value { return c.JS.Runtime.ToValue(m.Address) }, ""},
	}
}

func mongoGetDBNames(c *script.Call, m *Mongo) goja.Value {
	list, _ := m.ListDatabases().Lookup("databases").ArrayOK()
	docs, _ := list.Values()
	names := make([]any, 0, len(docs))
	for _, v := range docs {
		name, _ := v.Document().Lookup("name").StringValueOK()
		names = append(names, name)
	}
	return c.JS.Runtime.NewArray(names...)
}

func mongoGetCollection(c *script.Call, m *Mongo) goja.Value {
	db, coll, ok := strings.Cut(c.Text(0), ".")
	if !ok || db == "" || coll == "" {
		c.JS.ThrowInvalid("Collection must be of the format <db>.<collection>")
	}
	return m.CheckedDatabase(db).CheckedCollection(coll).object
}

func mongoGetReadPref(c *script.Call, m *Mongo) goja.Value {
	o := c.JS.Runtime.NewObject()
	script.Must(o.Set("mode", m.EffectiveReadPreference().Mode().String()))
	if tags := server.TagSets(c.JS, m.EffectiveReadPreference()); tags != nil {
		script.Must(o.Set("tags", tags))
	}
	enabled := m.EffectiveReadPreference().HedgeEnabled() //nolint:staticcheck // servers before 8.0 hedge
	if enabled != nil {
		script.Must(o.Set("hedge", c.JS.NewObject("enabled", *enabled)))
	}
	return o
}

func mongoSetReadPref(c *script.Call, m *Mongo) goja.Value {
	m.ReadPreference = server.ParseReadPreference(c.JS, c.Arg(0), c.Arg(1), c.Arg(2))
	return nil
}

func mongoSetReadConcern(c *script.Call, m *Mongo) goja.Value {
	m.readConcern = rawdoc.MustMarshal(bson.D{{Key: "level", Value: c.Text(0)}})
	return nil
}

func mongoSetWriteConcern(c *script.Call, m *Mongo) goja.Value {
	if script.TypeOf(c.Arg(0)) == "object" {
		if c.Has(1) || c.Has(2) {
			c.JS.ThrowInvalid("If concern is given as an object no other arguments must be specified")
		}
		m.writeConcern = parseWriteConcern(c, c.Object(0))
		return nil
	}
	w := c.Arg(0)
	switch {
	case !goja.IsNumber(w) && !goja.IsString(w):
		c.JS.ThrowInvalid("w value must be a number or string, got: %s", script.TypeOf(w))
	case goja.IsNumber(w) && w.ToFloat() < 0:
		c.JS.ThrowInvalid("w value must be equal to or greather than 0, got: %s", w)
	}
	wc := bson.D{{Key: "w", Value: c.JS.BSONValue(w)}}
	if limit := c.Arg(1); c.Has(1) {
		if !goja.IsNumber(limit) {
			c.JS.ThrowInvalid("wtimeoutMS value must be a number, got: %s", script.TypeOf(limit))
		}
		if limit.ToFloat() < 0 {
			c.JS.ThrowInvalid("wtimeoutMS must be equal to or greather than 0, got: %s", limit)
		}
		wc = append(wc, bson.E{Key: "wtimeout", Value: c.JS.BSONValue(limit)})
	}
	if j := c.Arg(2); c.Has(2) {
		if script.TypeOf(j) != "boolean" {
			c.JS.ThrowInvalid("j value must be a boolean, got: %s", script.TypeOf(j))
		}
		wc = append(wc, bson.E{Key: "j", Value: j.ToBoolean()})
	}
	m.writeConcern = rawdoc.MustMarshal(wc)
	return nil
}

// parseWriteConcern returns a write concern with the known fields of an object; nil if it has none.
func parseWriteConcern(c *script.Call, o *goja.Object) bson.Raw {
	wc := bson.D{}
	for _, name := range []string{"w", "wtimeout", "j"} {
		if v := script.Property(o, name); v != nil {
			wc = append(wc, bson.E{Key: name, Value: c.JS.BSONValue(v)})
		}
	}
	if v := script.Property(o, "fsync"); v != nil {
		rawdoc.Set(&wc, "j", v.ToBoolean())
	}
	if len(wc) == 0 {
		return nil
	}
	return rawdoc.MustMarshal(wc)
}

func unsupportedOnConnection(text string) func(*script.Call, *Mongo) goja.Value {
	return func(c *script.Call, _ *Mongo) goja.Value {
		c.JS.ThrowCoded(script.UnimplementedErrorName, script.CodeNotImplemented, "%s", text)
		return nil
	}
}

func throwNoEncryption(c *script.Call, _ *Mongo) goja.Value {
	c.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeNoEncryption,
		"Cannot call getClientEncryption() without field-level encryption options")
	return nil
}
