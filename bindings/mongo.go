package bindings

import (
	"context"
	"errors"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// mongoObject is one connection: what db.getMongo() gives.
type mongoObject struct {
	tail
	s       *Shell
	client  *mongo.Client
	address string
	own     bool // opened by a script, closed with the shell
	object  *goja.Object

	databases      map[string]*database
	readPreference *readpref.ReadPref
	readConcern    bson.Raw // sent with reads; nil for the server's default
	writeConcern   bson.Raw // sent with writes; nil for the server's default
	hello          bson.Raw
	home           *homeSession
}

func newMongoObject(s *Shell, client *mongo.Client, address string) *mongoObject {
	m := &mongoObject{s: s, client: client, address: Redact(address), databases: make(map[string]*database)}
	return m
}

func (m *mongoObject) js() *goja.Object {
	if m.object == nil {
		m.object = m.s.instance(m, prototype(m.s, "Mongo", mongoMethods()))
		m.s.world.SetPrinter(m.object, func() string { return m.address })
	}
	return m.object
}

// database gives the one object for a name: identity holds (spec 04 §6.1).
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
		m.s.throwInvalid("Invalid database name: %s", name)
	}
	return m.database(name)
}

func validDatabaseName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\. \"\x00")
}

func mongoMethods() []method[*mongoObject] {
	return []method[*mongoObject]{
		{"getDB", "name:string", func(c *call, m *mongoObject) goja.Value { return m.checkedDatabase(c.text(0)).object },
			"Returns the database of that name."},
		{"getDBs", "", func(c *call, m *mongoObject) goja.Value { return c.reply(m.listDatabases()) },
			"Returns the reply of listDatabases."},
		{"getDBNames", "", mongoGetDBNames, "Returns the names of all databases."},
		{"getCollection", "namespace:string", mongoGetCollection, "Returns the collection of a full name."},
		{"getURI", "", func(c *call, m *mongoObject) goja.Value { return c.rt.ToValue(m.address) },
			"Returns the connection string, credentials hidden."},
		{"getReadPrefMode", "", func(c *call, m *mongoObject) goja.Value { return c.rt.ToValue(m.readPref().Mode().String()) },
			"Returns the mode of the read preference."},
		{"getReadPref", "", mongoGetReadPref, "Returns the read preference."},
		{"getReadPrefTagSet", "", func(c *call, m *mongoObject) goja.Value { return c.tagSets(m.readPref()) },
			"Returns the tag sets of the read preference."},
		{"setReadPref", "mode:string tags?:object", mongoSetReadPref, "Sets the read preference of everything read from now on."},
		{"getReadConcern", "", func(c *call, m *mongoObject) goja.Value { return c.optionalDocument(m.readConcern, "level") },
			"Returns the level of the read concern, if one was set."},
		{"setReadConcern", "level:string", mongoSetReadConcern, "Sets the read concern of everything read from now on."},
		{"getWriteConcern", "", func(c *call, m *mongoObject) goja.Value { return c.optionalDocument(m.writeConcern, "") },
			"Returns the write concern, if one was set."},
		{"setWriteConcern", "w:any wtimeout?:number journal?:boolean", mongoSetWriteConcern, "Sets the write concern of everything written from now on."},
		{"startSession", "options?:object", func(c *call, m *mongoObject) goja.Value { return c.newSession(m).object },
			"Starts a session, for transactions and causally consistent reads."},
		{"close", "", func(c *call, m *mongoObject) goja.Value {
			if m.own {
				_ = m.client.Disconnect(c.ctx)
			}
			return nil
		}, "Closes a connection the script opened."},
		{"adminCommand", "command:object|string", func(c *call, m *mongoObject) goja.Value {
			return c.reply(c.mustSend(request{on: m, database: "admin", body: c.commandBody(0)}))
		}, "Runs a command on the admin database."},
		{"toString", "", func(c *call, m *mongoObject) goja.Value { return c.rt.ToValue(m.address) }, ""},
	}
}

func (m *mongoObject) listDatabases() bson.Raw {
	return m.s.mustSend(request{
		on: m, database: "admin", body: bson.D{{Key: "listDatabases", Value: int32(1)}},
		reads: true, readPreference: readpref.PrimaryPreferred(),
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
	return c.rt.NewArray(names...)
}

func mongoGetCollection(c *call, m *mongoObject) goja.Value {
	db, coll, ok := strings.Cut(c.text(0), ".")
	if !ok || db == "" || coll == "" {
		c.throwInvalid("Collection must be of the format <db>.<collection>")
	}
	return m.checkedDatabase(db).checkedCollection(coll).object
}

func (m *mongoObject) readPref() *readpref.ReadPref {
	if m.readPreference == nil {
		return readpref.Primary()
	}
	return m.readPreference
}

func mongoGetReadPref(c *call, m *mongoObject) goja.Value {
	o := c.rt.NewObject()
	must(o.Set("mode", m.readPref().Mode().String()))
	if len(m.readPref().TagSets()) > 0 {
		must(o.Set("tags", c.tagSets(m.readPref())))
	}
	return o
}

func (c *call) tagSets(pref *readpref.ReadPref) goja.Value {
	var sets []any
	for _, set := range pref.TagSets() {
		o := c.rt.NewObject()
		for _, t := range set {
			must(o.Set(t.Name, t.Value))
		}
		sets = append(sets, o)
	}
	return c.rt.NewArray(sets...)
}

func mongoSetReadPref(c *call, m *mongoObject) goja.Value {
	m.readPreference = c.readPreference(0, 1)
	return nil
}

// readPreference reads a mode and an array of tag sets from two arguments.
func (c *call) readPreference(mode, tags int) *readpref.ReadPref {
	kind, err := readpref.ModeFromString(c.text(mode))
	if err != nil {
		c.throw("MongoInvalidArgumentError", "Invalid read preference mode %q", c.text(mode))
	}
	var opts []readpref.Option
	if sets := c.object(tags); sets != nil {
		for _, i := range sets.Keys() {
			set, ok := sets.Get(i).(*goja.Object)
			if !ok {
				continue
			}
			var pairs []string
			for _, k := range set.Keys() {
				pairs = append(pairs, k, set.Get(k).String())
			}
			if len(pairs) > 0 {
				opts = append(opts, readpref.WithTags(pairs...))
			}
		}
	}
	pref, err := readpref.New(kind, opts...)
	if err != nil {
		c.throw("MongoInvalidArgumentError", "%s", err)
	}
	return pref
}

func mongoSetReadConcern(c *call, m *mongoObject) goja.Value {
	m.readConcern = rawOf(bson.D{{Key: "level", Value: c.text(0)}})
	return nil
}

func mongoSetWriteConcern(c *call, m *mongoObject) goja.Value {
	if doc := c.object(0); doc != nil {
		m.writeConcern = c.document(doc)
		return nil
	}
	if goja.IsNumber(c.arg(0)) && c.arg(0).ToFloat() < 0 {
		c.throwInvalid("w value must be equal to or greather than 0, got: %s", c.arg(0))
	}
	wc := bson.D{{Key: "w", Value: c.value(c.arg(0))}}
	if c.has(1) {
		wc = append(wc, bson.E{Key: "wtimeout", Value: c.value(c.arg(1))})
	}
	if c.has(2) {
		wc = append(wc, bson.E{Key: "j", Value: c.arg(2).ToBoolean()})
	}
	m.writeConcern = rawOf(wc)
	return nil
}

// optionalDocument is a document, or one field of it, as a value; undefined
// when there is none.
func (c *call) optionalDocument(doc bson.Raw, field string) goja.Value {
	switch {
	case doc == nil:
		return goja.Undefined()
	case field != "":
		return c.world.ToJS(doc.Lookup(field))
	}
	return c.world.DocToJS(doc)
}

// newMongoConstructor makes the global Mongo, which opens a connection.
func (s *Shell) newMongoConstructor() goja.Value {
	proto := prototype(s, "Mongo", mongoMethods())
	f := s.rt.ToValue(func(cc goja.ConstructorCall) *goja.Object {
		uri := "mongodb://localhost:27017"
		if a := cc.Argument(0); !goja.IsUndefined(a) {
			uri = a.String()
		}
		return s.connect(uri).js()
	}).(*goja.Object)
	must(f.DefineDataProperty("name", s.rt.ToValue("Mongo"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(f.Set("prototype", proto))
	return f
}

// connect opens another connection.
func (s *Shell) connect(uri string) *mongoObject {
	if !strings.Contains(uri, "://") {
		uri = "mongodb://" + uri
	}
	open := s.cfg.Connect
	if open == nil {
		open = func(_ context.Context, uri string) (*mongo.Client, error) {
			return mongo.Connect(options.Client().ApplyURI(uri))
		}
	}
	client, err := open(s.ctx, uri)
	if err == nil {
		if err = client.Ping(s.ctx, nil); err != nil {
			_ = client.Disconnect(context.WithoutCancel(s.ctx))
		}
	}
	if err != nil {
		if s.ctx.Err() != nil {
			s.abort(context.Cause(s.ctx))
		}
		name, message := ConnectionError(err)
		s.throw(name, "%s", message)
	}
	m := newMongoObject(s, client, uri)
	m.own = true
	s.opened = append(s.opened, m)
	return m
}

func (s *Shell) closeConnections(ctx context.Context) error {
	var errs []error
	for _, m := range s.opened {
		if err := m.client.Disconnect(ctx); err != nil && !errors.Is(err, mongo.ErrClientDisconnected) {
			errs = append(errs, err)
		}
	}
	s.opened = nil
	if s.mongo != nil && s.mongo.home != nil {
		s.mongo.home.driver.EndSession(ctx)
	}
	return errors.Join(errs...)
}
