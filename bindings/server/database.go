package server

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// Database is one database of a connection, or of a session on it: where commands
// go.
type Database struct {
	Conn *Conn
	Name string
	// session is the script's own; nil is the connection's.
	Session *mongo.Session
}

// NewDatabase is a database by its name, outside of sessions.
func newServerDatabase(c *Conn, name string) *Database { return &Database{Conn: c, Name: name} }

// Sibling returns another database of the same connection and session.
func (d *Database) Sibling(name string) *Database {
	return &Database{Conn: d.Conn, Name: name, Session: d.Session}
}

// requestOption changes how a request is sent.
type requestOption func(*Request)

// Reads marks a request that may be sent twice.
func Reads(r *Request) { r.Reads = true }

// Nearby lets a request go to a secondary when there is no primary.
func Nearby(r *Request) { r.ReadPreference = readpref.PrimaryPreferred() }

// Request returns a command on its way to this database.
func (d *Database) Request(body any, options ...requestOption) Request {
	r := Request{On: d.Conn, Database: d.Name, Body: body, session: d.Session}
	for _, o := range options {
		o(&r)
	}
	return r
}

// Run sends a command of the shell's own making to this database.
func (d *Database) Run(body bson.D, options ...requestOption) bson.Raw {
	return d.Conn.gateway.MustSend(d.Request(body, options...))
}

// Admin runs a command on the admin database.
func (d *Database) Admin(body bson.D, options ...requestOption) bson.Raw {
	return d.Sibling("admin").Run(body, options...)
}

// Command returns a document of one field: {name: 1}, with more fields after
// it.
func Command(name string, rest ...bson.E) bson.D {
	return append(bson.D{{Key: name, Value: int32(1)}}, rest...)
}

// SortedBy returns the field of a find that sorts what it finds.
func SortedBy(field string, direction int32) bson.E {
	return bson.E{Key: "sort", Value: bson.D{{Key: field, Value: direction}}}
}

// LimitedTo returns the field of a find that limits what it finds.
func LimitedTo(n int32) bson.E { return bson.E{Key: "limit", Value: n} }

// HasField reports whether a document has a field.
func HasField(d bson.D, key string) bool {
	return slices.ContainsFunc(d, func(e bson.E) bool { return e.Key == key })
}

// Quietly runs a command of the shell's own, such as for completion: its failure is
// nobody's business, and the reply nil then.
func Quietly(ctx context.Context, client *mongo.Client, database string, body bson.D) bson.Raw {
	reply, err := client.Database(database).RunCommand(ctx, body).Raw()
	if err != nil {
		return nil
	}
	return reply
}
