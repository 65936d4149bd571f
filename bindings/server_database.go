package bindings

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// Database is one database of a connection, or of a session on it: where commands
// go.
type Database struct {
	conn *Conn
	name string
	// session is the script's own; nil is the connection's.
	session *mongo.Session
}

// NewDatabase is a database by its name, outside of sessions.
func newServerDatabase(c *Conn, name string) *Database { return &Database{conn: c, name: name} }

// sibling is another database of the same connection and session.
func (d *Database) sibling(name string) *Database {
	return &Database{conn: d.conn, name: name, session: d.session}
}

// requestOption changes how a request is sent.
type requestOption func(*request)

// reads marks a request that may be sent twice.
func reads(r *request) { r.reads = true }

// nearby lets a request go to a secondary when there is no primary.
func nearby(r *request) { r.readPreference = readpref.PrimaryPreferred() }

func (d *Database) request(body any, options ...requestOption) request {
	r := request{on: d.conn, database: d.name, body: body, session: d.session}
	for _, o := range options {
		o(&r)
	}
	return r
}

// run sends a command of the shell's own making to this database.
func (d *Database) run(body bson.D, options ...requestOption) bson.Raw {
	return d.conn.gateway.mustSend(d.request(body, options...))
}

// admin runs a command on the admin database.
func (d *Database) admin(body bson.D, options ...requestOption) bson.Raw {
	return d.sibling("admin").run(body, options...)
}

// command is a document of one field: {name: 1}, with more fields after it.
func command(name string, rest ...bson.E) bson.D {
	return append(bson.D{{Key: name, Value: int32(1)}}, rest...)
}
