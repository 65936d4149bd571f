// Package database implements db and the objects that are reachable from it: connections, databases,
// collections and sessions of scripts. Each file has a table of methods.
package database

import (
	"shardsh/bindings/cursor"
	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/stats"
	"shardsh/bindings/write"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// Host provides what the objects need from the shell.
type Host struct {
	JS              *script.Engine
	Gateway         *server.Gateway
	Display         *display.Display
	Cursors         *cursor.Host
	Sharding        Sharding
	ConnectSettings ConnectSettings
	Current         *Current
	// MaxTimeMS returns the time limit in the settings; 0 for none.
	MaxTimeMS func() int64
	// Prototypes are the prototypes of objects; see [New].
	Prototypes Prototypes
}

// Prototypes are the prototypes of objects.
type Prototypes interface {
	Mongo() *goja.Object
	Database() *goja.Object
	Collection() *goja.Object
	Session() *goja.Object
}

// Current holds the current connection, database and cursor of a shell.
type Current struct {
	Mongo  *Mongo         // the initial connection of db; nil without one
	DB     *Database      // the current database; nil without a connection
	Cursor *cursor.Cursor // the cursor that "it" continues
}

// ServerDatabase returns the current database for other packages; nil without a connection.
func (c *Current) ServerDatabase() *server.Database {
	if c.DB == nil {
		return nil
	}
	return c.DB.Database
}

// Use sets the current database.
func (c *Current) Use(d *Database) { c.DB, c.Cursor = d, nil }

// SwitchTo sets the current database, and returns a message about the change.
func (c *Current) SwitchTo(to *Database) string {
	c.Cursor = nil
	if c.DB == to {
		return "already on db " + to.Name
	}
	c.DB = to
	return "switched to db " + to.Name
}

// results returns the constructors for the results of writes.
func (h *Host) results() write.ResultBuilder {
	return write.ResultBuilder{JS: h.JS, Gateway: h.Gateway}
}

// Mongo is a connection, which db.getMongo() returns.
type Mongo struct {
	script.OpaqueObject
	*server.Conn
	host       *Host
	ownsClient bool // opened by a script; closed with the shell
	object     *goja.Object

	databases    map[string]*Database
	readConcern  bson.Raw // sent with reads; nil for the server's default
	writeConcern bson.Raw // sent with writes; nil for the server's default
}

// NewMongo returns the object of a connection.
func NewMongo(h *Host, client *mongo.Client, address string) *Mongo {
	return &Mongo{host: h, Conn: server.NewConn(h.Gateway, client, address), databases: make(map[string]*Database)}
}

// Object returns the JavaScript object.
func (m *Mongo) Object() *goja.Object {
	if m.object == nil {
		m.object = m.host.JS.NewInstance(m, m.host.Prototypes.Mongo())
		m.host.JS.Values.SetPrinter(m.object, func() string { return plaintext.EscapeLine(m.Address) })
	}
	return m.object
}

// Database returns the database with a name. It returns the same object for the same name
// (rules/04-objects §6.1).
func (m *Mongo) Database(name string) *Database {
	d := m.databases[name]
	if d == nil {
		d = newDatabase(m.host, m, name, nil)
		m.databases[name] = d
	}
	return d
}

// CheckedDatabase works like Database, but throws for invalid names.
func (m *Mongo) CheckedDatabase(name string) *Database {
	if !IsValidDatabaseName(name) {
		m.host.JS.ThrowInvalid("Invalid database name: %s", name)
	}
	return m.Database(name)
}

// IsValidDatabaseName reports whether a name is valid for a database.
func IsValidDatabaseName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\. \"\x00")
}

// hosts returns the servers in a connection's address, with ports.
func (m *Mongo) hosts() string {
	parsed, err := connstring.Parse(m.Address)
	if err != nil {
		return m.Address
	}
	hosts := parsed.Hosts
	for i, host := range hosts {
		if !strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":") {
			hosts[i] = host + ":27017"
		}
	}
	return strings.Join(hosts, ",")
}

// Database is one database of a connection, or of a session on it.
type Database struct {
	script.OpaqueObject
	host *Host
	*server.Database
	conn        *Mongo
	session     *Session
	object      *goja.Object
	collections map[string]*Collection
	// writeConcern is the write concern of the database; nil means that of the connection.
	writeConcern bson.Raw
}

func newDatabase(h *Host, on *Mongo, name string, sess *Session) *Database {
	d := &Database{
		host:        h,
		conn:        on,
		Database:    &server.Database{Conn: on.Conn, Name: name, Session: sess.driverSessionOrNil()},
		session:     sess,
		collections: make(map[string]*Collection),
	}
	d.object = h.JS.NewInstance(d, h.Prototypes.Database())
	h.JS.Values.SetPrinter(d.object, func() string { return plaintext.EscapeLine(d.Name) })
	return d
}

// ServerDatabase returns the database for other packages.
func (d *Database) ServerDatabase() *server.Database { return d.Database }

// Object returns the JavaScript object.
func (d *Database) Object() *goja.Object { return d.object }

// Get returns the collection for a name that is no method of databases (rules/04-objects §6.1).
func (d *Database) Get(name string) goja.Value {
	if c := d.collections[name]; c != nil {
		return c.object
	}
	if !isCollectionProperty(name, d.host.Prototypes.Database()) {
		return nil
	}
	return d.Collection(name).object
}

// isCollectionProperty distinguishes names of collections from members of the class and of every
// object.
func isCollectionProperty(name string, proto *goja.Object) bool {
	return name != "" && name[0] != '_' && proto.Get(name) == nil && isValidCollectionName(name)
}

func isValidCollectionName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "$\x00")
}

// Collection returns the collection with a name. It returns the same object for the same name.
func (d *Database) Collection(name string) *Collection {
	c := d.collections[name]
	if c == nil {
		c = newCollection(d, name)
		d.collections[name] = c
	}
	return c
}

// CheckedCollection works like Collection, but throws for invalid names.
func (d *Database) CheckedCollection(name string) *Collection {
	if !isValidCollectionName(name) {
		d.host.JS.ThrowInvalid("Invalid collection name: %s", name)
	}
	return d.Collection(name)
}

// IsSiblingUsed reports whether a script has used a database of the connection.
func (d *Database) IsSiblingUsed(database string) bool { return d.conn.databases[database] != nil }

// SiblingDatabase returns another database of the same connection and session.
func (d *Database) SiblingDatabase(name string) *Database {
	if name == d.Name {
		return d
	}
	if d.session != nil {
		return d.session.database(name)
	}
	return d.conn.CheckedDatabase(name)
}

// Collection is one collection or view of a database.
type Collection struct {
	script.OpaqueObject
	host     *Host
	database *Database
	name     string
	object   *goja.Object
	// writeConcern is the write concern of the collection; nil means that of the database.
	writeConcern bson.Raw
}

func newCollection(d *Database, name string) *Collection {
	c := &Collection{host: d.host, database: d, name: name}
	c.object = d.host.JS.NewInstance(c, d.host.Prototypes.Collection())
	d.host.JS.Values.SetPrinter(c.object, func() string { return plaintext.EscapeLine(c.Namespace()) })
	return c
}

// Object returns the JavaScript object.
func (coll *Collection) Object() *goja.Object { return coll.object }

// Namespace returns the full name.
func (coll *Collection) Namespace() string { return coll.database.Name + "." + coll.name }

// Get returns the collection for a name that is no method of collections: db.a.b is the collection a.b.
func (coll *Collection) Get(name string) goja.Value {
	if !isCollectionProperty(name, coll.host.Prototypes.Collection()) {
		return nil
	}
	return coll.database.Collection(coll.name + "." + name).object
}

func (d *Database) effectiveWriteConcern() bson.Raw {
	if d.writeConcern != nil {
		return d.writeConcern
	}
	return d.conn.writeConcern
}

// Write sends operations with the write concern in effect.
func (coll *Collection) Write(ops []write.Op, opts write.Options) *write.Result {
	return write.Target{
		Gateway: coll.host.Gateway, Database: coll.database.Database, Collection: coll.name,
		Concern: coll.effectiveWriteConcern(), InTransaction: coll.database.inTransaction(),
	}.Send(ops, opts)
}

// Results returns the constructors for the results of writes.
func (coll *Collection) Results() write.ResultBuilder { return coll.host.results() }

// Inspect formats a value as the shell shows it.
func (coll *Collection) Inspect(v goja.Value) string { return coll.host.Display.Inspect(v) }

// statsCollection returns the collection for package stats.
func (coll *Collection) statsCollection() stats.Collection {
	return stats.Collection{
		JS: coll.host.JS, Gateway: coll.host.Gateway, Display: coll.host.Display, Database: coll.database.Database,
		Name: coll.name,
	}
}

func (coll *Collection) effectiveWriteConcern() bson.Raw {
	if coll.writeConcern != nil {
		return coll.writeConcern
	}
	return coll.database.effectiveWriteConcern()
}

// Session is the object that startSession() returns.
type Session struct {
	script.OpaqueObject
	conn          *Mongo
	driverSession *mongo.Session
	optionsObject *goja.Object // the options, as getOptions() returns them
	databases     map[string]*Database
	object        *goja.Object
	ended         bool
}

func (sess *Session) database(name string) *Database {
	if !IsValidDatabaseName(name) {
		sess.conn.host.JS.ThrowInvalid("Invalid database name: %s", name)
	}
	d := sess.databases[name]
	if d == nil {
		d = newDatabase(sess.conn.host, sess.conn, name, sess)
		sess.databases[name] = d
	}
	return d
}

// inTransaction reports whether the database's commands belong to a transaction, which defines their
// read and write concern.
func (d *Database) inTransaction() bool {
	return d.session != nil && d.session.driverSession.TransactionRunning()
}

// driverSessionOrNil returns the driver's session; nil for none.
func (sess *Session) driverSessionOrNil() *mongo.Session {
	if sess == nil {
		return nil
	}
	return sess.driverSession
}
