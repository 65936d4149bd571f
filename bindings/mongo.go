package bindings

import (
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/tag"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// mongoObject is one connection: what db.getMongo() gives.
type mongoObject struct {
	script.Hidden
	*server.Conn
	s      *Shell
	own    bool // opened by a script, closed with the shell
	object *goja.Object

	databases    map[string]*database
	readConcern  bson.Raw // sent with reads; nil for the server's default
	writeConcern bson.Raw // sent with writes; nil for the server's default
	edition      *string  // for the prompt; nil until it is asked for
}

func newMongoObject(s *Shell, client *mongo.Client, address string) *mongoObject {
	m := &mongoObject{s: s, Conn: server.NewConn(s.gateway, client, address), databases: make(map[string]*database)}
	return m
}

func (m *mongoObject) js() *goja.Object {
	if m.object == nil {
		m.object = m.s.JS.Instance(m, m.s.mongoPrototype())
		m.s.JS.World.SetPrinter(m.object, func() string { return plaintext.VisibleLine(m.Address) })
	}
	return m.object
}

// database returns the one object for a name: identity holds (rules/04-objects §6.1).
func (m *mongoObject) database(name string) *database {
	d := m.databases[name]
	if d == nil {
		d = newDatabase(m.s, m, name, nil)
		m.databases[name] = d
	}
	return d
}

// checkedDatabase is database for names scripts give.
func (m *mongoObject) checkedDatabase(name string) *database {
	if !validDatabaseName(name) {
		m.s.JS.ThrowInvalid("Invalid database name: %s", name)
	}
	return m.database(name)
}

func validDatabaseName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\. \"\x00")
}

func mongoMethods() []method[*mongoObject] {
	return []method[*mongoObject]{
		{"getDB", "name:string", func(c *call, m *mongoObject) goja.Value { return m.checkedDatabase(c.Text(0)).object },
			"Returns the database of that name."},
		{"getDBs", "options?:object", func(c *call, m *mongoObject) goja.Value {
			return c.s.display.Reply(m.listDatabases())
		},
			"Returns the reply of listDatabases."},
		{"getDBNames", "options?:object", mongoGetDBNames, "Returns the names of all databases."},
		{"getCollection", "namespace:string", mongoGetCollection, "Returns the collection of a full name."},
		{"getURI", "", func(c *call, m *mongoObject) goja.Value { return c.JS.Runtime.ToValue(m.Address) },
			"Returns the connection string, credentials hidden."},
		{"getReadPrefMode", "", func(c *call, m *mongoObject) goja.Value {
			return c.JS.Runtime.ToValue(m.readPref().Mode().String())
		},
			"Returns the mode of the read preference."},
		{"getReadPref", "", mongoGetReadPref, "Returns the read preference."},
		{"getReadPrefTagSet", "", func(c *call, m *mongoObject) goja.Value { return c.tagSets(m.readPref()) },
			"Returns the tag sets of the read preference."},
		{"setReadPref", "mode?:any tags?:any hedge?:object", mongoSetReadPref,
			"Sets the read preference of everything read from now on."},
		{"getReadConcern", "", func(c *call, m *mongoObject) goja.Value { return c.optionalDocument(m.readConcern, "level") },
			"Returns the level of the read concern, if one was set."},
		{"setReadConcern", "level:string", mongoSetReadConcern,
			"Sets the read concern of everything read from now on."},
		{"getWriteConcern", "", func(c *call, m *mongoObject) goja.Value { return c.optionalDocument(m.writeConcern, "") },
			"Returns the write concern, if one was set."},
		{"setWriteConcern", "w?:any wtimeout?:any journal?:any", mongoSetWriteConcern,
			"Sets the write concern of everything written from now on."},
		{"setSecondaryOk", "", func(_ *call, m *mongoObject) goja.Value { m.allowSecondaries(); return nil },
			"Deprecated: use setReadPref."},
		{"setSlaveOk", "", func(c *call, _ *mongoObject) goja.Value {
			c.JS.ThrowCoded(script.Deprecated, script.CodeDeprecated, "Setting slaveOk is deprecated, use setReadPref instead.")
			return nil
		}, ""},
		{"setCausalConsistency", "",
			notForConnections("It is not possible to set causal consistency for an entire connection due to the driver, use " +
				"startSession({causalConsistency: <>}) instead."),
			""},
		{"isCausalConsistency", "",
			notForConnections("Causal consistency for drivers is set via Mongo.startSession and can be checked via " +
				"session.getOptions. The default value is true"),
			""},
		{"getClientEncryption", "", noEncryption, ""},
		{"getKeyVault", "", noEncryption, ""},
		{"startSession", "options?:object", func(c *call, m *mongoObject) goja.Value {
			return c.newSession(m,
				c.Object(0)).object
		},
			"Starts a session, for transactions and causally consistent reads."},
		{"watch", "pipeline?:object options?:object", func(c *call, m *mongoObject) goja.Value {
			return c.watch(m.database("admin"), int32(1), bson.D{{Key: "allChangesForCluster", Value: true}}, c.Arg(0), c.Arg(1))
		}, "Opens a change stream on all databases."},
		{"bulkWrite", "models:object options?:object", func(c *call, m *mongoObject) goja.Value {
			return c.clientBulkWrite(m.database("admin"))
		}, "Does a list of writes to several collections."},
		{"use", "database:string", func(c *call, m *mongoObject) goja.Value { return c.s.useOn(m, c.Text(0)) },
			"Makes a database of this connection db."},
		{"convertShardKeyToHashed", "value:any", func(c *call, _ *mongoObject) goja.Value { return c.hashed(c.Arg(0)) },
			"Returns the hash of a shard key value."},
		{"connect", "user?:string password?:string", func(c *call, m *mongoObject) goja.Value {
			if c.Has(0) {
				c.login(m, options.Credential{Username: c.Text(0), Password: script.OptionalText(c.Arg(1)), PasswordSet: c.Has(1)})
			}
			return nil
		}, ""},
		{"close", "force?:boolean", func(c *call, m *mongoObject) goja.Value {
			if m.own {
				_ = c.s.gateway.Opened.Disconnect(c.JS.Context(), m.Client)
			}
			return nil
		}, "Closes a connection the script opened."},
		{"adminCommand", "command:object|string", func(c *call, m *mongoObject) goja.Value {
			return c.s.display.Reply(c.s.gateway.MustSend(server.Request{On: m.Conn, Database: "admin", Body: c.commandBody(0)}))
		}, "Runs a command on the admin database."},
		{"toString", "", func(c *call, m *mongoObject) goja.Value { return c.JS.Runtime.ToValue(m.Address) }, ""},
	}
}

func (m *mongoObject) listDatabases() bson.Raw {
	return m.s.gateway.MustSend(server.Request{
		On: m.Conn, Database: "admin", Body: bson.D{{Key: "listDatabases", Value: int32(1)}},
		Reads: true, ReadPreference: readpref.PrimaryPreferred(),
	})
}

func mongoGetDBNames(c *call, m *mongoObject) goja.Value {
	list, _ := m.listDatabases().Lookup("databases").ArrayOK()
	docs, _ := list.Values()
	names := make([]any, 0, len(docs))
	for _, v := range docs {
		name, _ := v.Document().Lookup("name").StringValueOK()
		names = append(names, name)
	}
	return c.JS.Runtime.NewArray(names...)
}

func mongoGetCollection(c *call, m *mongoObject) goja.Value {
	db, coll, ok := strings.Cut(c.Text(0), ".")
	if !ok || db == "" || coll == "" {
		c.JS.ThrowInvalid("Collection must be of the format <db>.<collection>")
	}
	return m.checkedDatabase(db).checkedCollection(coll).object
}

func (m *mongoObject) readPref() *readpref.ReadPref {
	if m.ReadPreference == nil {
		return readpref.Primary()
	}
	return m.ReadPreference
}

func mongoGetReadPref(c *call, m *mongoObject) goja.Value {
	o := c.JS.Runtime.NewObject()
	script.Must(o.Set("mode", m.readPref().Mode().String()))
	if tags := c.tagSets(m.readPref()); tags != nil {
		script.Must(o.Set("tags", tags))
	}
	if enabled := m.readPref().HedgeEnabled(); enabled != nil { //nolint:staticcheck // servers before 8.0 hedge
		script.Must(o.Set("hedge", c.JS.NewObject("enabled", *enabled)))
	}
	return o
}

// tagSets returns the read preference's, undefined when it has none.
func (c *call) tagSets(pref *readpref.ReadPref) goja.Value {
	if len(pref.TagSets()) == 0 {
		return nil
	}
	sets := make([]any, 0, len(pref.TagSets()))
	for _, set := range pref.TagSets() {
		o := c.JS.Runtime.NewObject()
		for _, t := range set {
			script.Must(o.Set(t.Name, t.Value))
		}
		sets = append(sets, o)
	}
	return c.JS.Runtime.NewArray(sets...)
}

func mongoSetReadPref(c *call, m *mongoObject) goja.Value {
	m.ReadPreference = c.readPreferenceOf(c.Arg(0), c.Arg(1), c.Arg(2))
	return nil
}

// allowSecondaries is setSecondaryOk.
func (m *mongoObject) allowSecondaries() {
	m.s.JS.Out.Deprecate(".setSecondaryOk() is deprecated. Use .setReadPref(\"primaryPreferred\") instead")
	mode := m.readPref().Mode()
	if mode != readpref.PrimaryMode {
		m.s.JS.Out.Write("Leaving read preference unchanged (is already \"" + mode.String() + "\")\n")
		return
	}
	m.s.JS.Out.Write("Setting read preference from \"primary\" to \"primaryPreferred\"\n")
	m.ReadPreference = readpref.PrimaryPreferred()
}

// readPreferenceOf reads a mode, an array of tag sets, and {enabled} for hedged
// reads.
func (c *call) readPreferenceOf(mode, tags, hedge goja.Value) *readpref.ReadPref {
	if goja.IsUndefined(mode) {
		mode = c.JS.Runtime.ToValue("primary")
	}
	kind, err := readpref.ModeFromString(mode.String())
	if err != nil || strings.ToLower(mode.String()[:1]) != mode.String()[:1] {
		c.JS.Throw("MongoInvalidArgumentError", "Invalid read preference mode %q", mode)
	}
	var opts []readpref.Option
	if sets, ok := tags.(*goja.Object); ok {
		if sets.ClassName() != "Array" {
			c.JS.Throw("MongoInvalidArgumentError", "ReadPreference tags must be an array")
		}
		if kind == readpref.PrimaryMode && len(sets.Keys()) > 0 {
			c.JS.Throw("MongoInvalidArgumentError", "Primary read preference cannot be combined with tags")
		}
		opts = append(opts, readpref.WithTagSets(c.readTagSets(sets)...))
	}
	if o, ok := hedge.(*goja.Object); ok {
		if kind == readpref.PrimaryMode {
			c.JS.Throw("MongoInvalidArgumentError", "Primary read preference cannot be combined with hedge")
		}
		if enabled := script.Property(o, "enabled"); enabled != nil {
			opts = append(opts, readpref.WithHedgeEnabled(enabled.ToBoolean())) //nolint:staticcheck // servers before 8.0 hedge
		}
	}
	pref, err := readpref.New(kind, opts...)
	if err != nil {
		c.JS.Throw("MongoInvalidArgumentError", "%s", err)
	}
	return pref
}

func (c *call) readTagSets(list *goja.Object) []tag.Set {
	var sets []tag.Set
	for _, item := range script.Items(list) {
		from, ok := item.(*goja.Object)
		if !ok {
			continue
		}
		set := tag.Set{}
		for _, k := range from.Keys() {
			set = append(set, tag.Tag{Name: k, Value: from.Get(k).String()})
		}
		sets = append(sets, set)
	}
	return sets
}

func mongoSetReadConcern(c *call, m *mongoObject) goja.Value {
	m.readConcern = rawdoc.Of(bson.D{{Key: "level", Value: c.Text(0)}})
	return nil
}

func mongoSetWriteConcern(c *call, m *mongoObject) goja.Value {
	if script.TypeOf(c.Arg(0)) == "object" {
		if c.Has(1) || c.Has(2) {
			c.JS.ThrowInvalid("If concern is given as an object no other arguments must be specified")
		}
		m.writeConcern = c.writeConcernOf(c.Object(0))
		return nil
	}
	w := c.Arg(0)
	switch {
	case !goja.IsNumber(w) && !goja.IsString(w):
		c.JS.ThrowInvalid("w value must be a number or string, got: %s", script.TypeOf(w))
	case goja.IsNumber(w) && w.ToFloat() < 0:
		c.JS.ThrowInvalid("w value must be equal to or greather than 0, got: %s", w)
	}
	wc := bson.D{{Key: "w", Value: c.JS.Value(w)}}
	if limit := c.Arg(1); c.Has(1) {
		if !goja.IsNumber(limit) {
			c.JS.ThrowInvalid("wtimeoutMS value must be a number, got: %s", script.TypeOf(limit))
		}
		if limit.ToFloat() < 0 {
			c.JS.ThrowInvalid("wtimeoutMS must be equal to or greather than 0, got: %s", limit)
		}
		wc = append(wc, bson.E{Key: "wtimeout", Value: c.JS.Value(limit)})
	}
	if j := c.Arg(2); c.Has(2) {
		if script.TypeOf(j) != "boolean" {
			c.JS.ThrowInvalid("j value must be a boolean, got: %s", script.TypeOf(j))
		}
		wc = append(wc, bson.E{Key: "j", Value: j.ToBoolean()})
	}
	m.writeConcern = rawdoc.Of(wc)
	return nil
}

// writeConcernOf takes the fields a write concern has; nil without any.
func (c *call) writeConcernOf(o *goja.Object) bson.Raw {
	wc := bson.D{}
	for _, name := range []string{"w", "wtimeout", "j"} {
		if v := script.Property(o, name); v != nil {
			wc = append(wc, bson.E{Key: name, Value: c.JS.Value(v)})
		}
	}
	if v := script.Property(o, "fsync"); v != nil {
		set(&wc, "j", v.ToBoolean())
	}
	if len(wc) == 0 {
		return nil
	}
	return rawdoc.Of(wc)
}

func notForConnections(text string) func(*call, *mongoObject) goja.Value {
	return func(c *call, _ *mongoObject) goja.Value {
		c.JS.ThrowCoded(script.Unimplemented, script.CodeNotImplemented, "%s", text)
		return nil
	}
}

func noEncryption(c *call, _ *mongoObject) goja.Value {
	c.JS.ThrowCoded(script.InvalidInput, script.CodeNoEncryption,
		"Cannot call getClientEncryption() without field-level encryption options")
	return nil
}

// optionalDocument returns a document, or one field of it, as a value;
// undefined when there is none.
func (c *call) optionalDocument(doc bson.Raw, field string) goja.Value {
	switch {
	case doc == nil:
		return goja.Undefined()
	case field != "":
		return c.JS.World.ToJS(doc.Lookup(field))
	}
	return c.JS.World.DocToJS(doc)
}
