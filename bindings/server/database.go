package server

import (
	"context"
	"slices"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/bindings/script"
)

// Database is a database of a connection, or of a session on the connection: the destination of
// commands.
type Database struct {
	Conn *Conn
	Name string
	// Session is the script's own session; nil for that of the connection.
	Session *mongo.Session
}

// databaseOf returns a database by name, outside of sessions.
func databaseOf(c *Conn, name string) *Database { return &Database{Conn: c, Name: name} }

// Sibling returns another database of the same connection and session.
func (d *Database) Sibling(name string) *Database {
	return &Database{Conn: d.Conn, Name: name, Session: d.Session}
}

// RequireDatabase returns the current database; it throws without a connection.
func RequireDatabase(js *script.Engine, d *Database) *Database {
	if d == nil {
		js.ThrowCoded(script.InvalidInputErrorName, script.CodeNotConnected, "No connected database")
	}
	return d
}

// requestOption changes how a request is sent.
type requestOption func(*Request)

// Repeatable marks a request that may be sent twice.
func Repeatable(r *Request) { r.IsRepeatable = true }

// PrimaryPreferred sets the read preference primaryPreferred.
func PrimaryPreferred(r *Request) { r.ReadPreference = readpref.PrimaryPreferred() }

// ReadFrom sets the read preference; nil leaves that of the connection.
func ReadFrom(p *readpref.ReadPref) func(*Request) { return func(r *Request) { r.ReadPreference = p } }

// Request returns a command for this database.
func (d *Database) Request(body any, options ...requestOption) Request {
	r := Request{Conn: d.Conn, Database: d.Name, Body: body, session: d.Session}
	for _, o := range options {
		o(&r)
	}
	return r
}

// Run sends a command of the shell itself to this database.
func (d *Database) Run(body bson.D, options ...requestOption) bson.Raw {
	return d.Conn.gateway.MustSend(d.Request(body, options...))
}

// RunAdmin runs a command on the admin database.
func (d *Database) RunAdmin(body bson.D, options ...requestOption) bson.Raw {
	return d.Sibling("admin").Run(body, options...)
}

// ListDatabases returns the reply of listDatabases.
func (c *Conn) ListDatabases() bson.Raw {
	return databaseOf(c, "admin").Run(Command("listDatabases"), Repeatable, PrimaryPreferred)
}

// ListCollections returns the entries of listCollections, complete or names only.
func (d *Database) ListCollections(filter bson.Raw, nameOnly bool, more goja.Value) []bson.Raw {
	body := bson.D{
		{Key: "listCollections", Value: int32(1)},
		{Key: "filter", Value: filter},
		{Key: "cursor", Value: bson.D{}},
		{Key: "nameOnly", Value: nameOnly},
		{Key: "authorizedCollections", Value: false},
	}
	return d.Conn.gateway.ReadAll(d.Request(d.Conn.gateway.JS.Merge(body, more), Repeatable, PrimaryPreferred))
}

// ListIndexes returns the indexes of a collection.
func (d *Database) ListIndexes(collection string) []bson.Raw {
	return d.Conn.gateway.ReadAll(d.Request(bson.D{{Key: "listIndexes", Value: collection},
		{Key: "cursor", Value: bson.D{}}}, Repeatable))
}

// FindOne returns one document; nil when there is none.
func (d *Database) FindOne(collection string, filter any, extra ...bson.E) bson.Raw {
	body := append(bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}, extra...)
	reply := d.Conn.gateway.MustSend(d.Request(append(body, bson.E{Key: "limit", Value: int32(1)}), Repeatable))
	first, err := FirstBatch(reply).Values()
	if err != nil || len(first) == 0 {
		return nil
	}
	doc, _ := first[0].DocumentOK()
	return doc
}

// FindAll returns all documents of a query.
func (d *Database) FindAll(collection string, filter any, extra ...bson.E) []bson.Raw {
	return d.Conn.gateway.ReadAll(d.Request(append(bson.D{{Key: "find", Value: collection},
		{Key: "filter", Value: filter}}, extra...), Repeatable))
}

// AggregateAll returns all documents of a pipeline; the collection 1 stands for the database itself.
func (d *Database) AggregateAll(collection any, stages ...bson.D) []bson.Raw {
	docs, err := d.TryAggregate(collection, stages...)
	if err != nil {
		d.Conn.gateway.Throw(err)
	}
	return docs
}

// TryAggregate works like AggregateAll, but returns the error.
func (d *Database) TryAggregate(collection any, stages ...bson.D) ([]bson.Raw, error) {
	pipeline := make(bson.A, len(stages))
	for i, st := range stages {
		pipeline[i] = st
	}
	return d.Conn.gateway.TryReadAll(d.Request(bson.D{
		{Key: "aggregate", Value: collection}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: bson.D{}},
	}, Repeatable))
}

// Command returns a document that begins with {name: 1}, followed by more fields.
func Command(name string, rest ...bson.E) bson.D {
	return append(bson.D{{Key: name, Value: int32(1)}}, rest...)
}

// SortField returns the sort field of a find command.
func SortField(field string, direction int32) bson.E {
	return bson.E{Key: "sort", Value: bson.D{{Key: field, Value: direction}}}
}

// LimitField returns the limit field of a find command.
func LimitField(n int32) bson.E { return bson.E{Key: "limit", Value: n} }

// HasField reports whether a document has a field.
func HasField(d bson.D, key string) bool {
	return slices.ContainsFunc(d, func(e bson.E) bool { return e.Key == key })
}

// RunOrNil runs a command of the shell itself, such as for completion. It ignores errors and returns nil
// then.
func RunOrNil(ctx context.Context, client *mongo.Client, database string, body bson.D) bson.Raw {
	reply, err := client.Database(database).RunCommand(ctx, body).Raw()
	if err != nil {
		return nil
	}
	return reply
}
