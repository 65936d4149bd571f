// Package cursor implements the cursors that find and aggregate return. A cursor sends its query when
// its first document is requested.
package cursor

import (
	"context"
	"math"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Kind is the kind of command of a cursor.
type Kind uint8

// The kinds.
const (
	Find Kind = iota
	Aggregate
	Command
)

// Cursor is a query that has not been sent yet, or its results.
type Cursor struct {
	script.OpaqueObject
	host *Host
	d    Database
	kind Kind

	Object         *goja.Object
	Collection     string // empty for cursors on a database
	Body           bson.D // the command, built up by the cursor's methods
	Pipeline       bson.RawValue
	addedStages    bson.A // stages that methods added to the pipeline
	IsReadOnly     bool
	IsChangeStream bool // a change stream, which has no end

	batchSize    int32
	batchSizeSet bool

	readPreference   *readpref.ReadPref // nil means that of the connection
	ExplainVerbosity string             // verbosity of a query that is only explained
	maxAwait         time.Duration      // of a tailable cursor; 0 means the server's default

	serverCursor *mongo.Cursor // nil before the first document is requested
	peeked       bson.Raw      // read from the server, but not returned yet
	mappers      []goja.Callable
	closed       bool
}

// Database is the destination of a cursor's commands.
type Database interface {
	ServerDatabase() *server.Database
	// WithReadOptions adds the read options of the connection and of the settings to a command.
	WithReadOptions(body bson.D) bson.D
}

// Host provides what cursors need from the shell.
type Host struct {
	JS      *script.Engine
	Gateway *server.Gateway
	Display *display.Display
	// OnNew is called with each new cursor; "it" continues the newest one.
	OnNew func(*Cursor)
}

// New returns a cursor (rules/04-command-line-and-prompt §2.6).
func (h *Host) New(d Database, kind Kind, body bson.D) *Cursor {
	cur := &Cursor{host: h, d: d, kind: kind, Body: body, IsReadOnly: true}
	cur.Object = h.JS.Runtime.NewDynamicObject(cur)
	script.Must(cur.Object.SetPrototype(h.Prototype()))
	h.OnNew(cur)
	return cur
}

// RunCommand runs a command whose reply is a cursor.
func (h *Host) RunCommand(d Database, body bson.D) goja.Value {
	cur := h.New(d, Command, body)
	cur.IsReadOnly = false
	cur.Open()
	return cur.Object
}

// SetOption sets an option of the command.
func (cur *Cursor) SetOption(name string, value any) {
	if cur.serverCursor != nil {
		cur.host.JS.Throw("MongoCursorInUseError", "Cursor is already initialized")
	}
	for i := range cur.Body {
		if cur.Body[i].Key == name {
			cur.Body[i].Value = value
			return
		}
	}
	cur.Body = append(cur.Body, bson.E{Key: name, Value: value})
}

// SetLimit limits the number of documents; a negative number means a single batch.
func (cur *Cursor) SetLimit(n int64) {
	if n < 0 {
		cur.SetOption("singleBatch", true)
		n = -n
	}
	cur.SetOption("limit", rawdoc.MinimalInt(n))
}

// command returns the command that Open sends.
func (cur *Cursor) command() bson.D {
	body := append(bson.D{}, cur.Body...)
	switch cur.kind {
	case Find:
		if cur.batchSize > 0 {
			body = append(body, bson.E{Key: "batchSize", Value: cur.batchSize})
		}
	case Aggregate:
		for i := range body {
			switch {
			case body[i].Key == "cursor" && cur.batchSizeSet:
				body[i].Value = bson.D{{Key: "batchSize", Value: cur.batchSize}}
			case body[i].Key == "pipeline" && cur.addedStages != nil:
				body[i].Value = cur.stages()
			}
		}
	case Command:
		return body
	}
	return cur.d.WithReadOptions(body)
}

func (cur *Cursor) stages() bson.A {
	var all bson.A
	if list, err := cur.Pipeline.Array().Values(); err == nil {
		for _, st := range list {
			all = append(all, st)
		}
	}
	return append(all, cur.addedStages...)
}

// SetBatchSize sets the number of documents in a batch.
func (cur *Cursor) SetBatchSize(n int32) { cur.batchSize, cur.batchSizeSet = n, true }

// SetReadPreference sets where to read from; nil means the read preference of the connection.
func (cur *Cursor) SetReadPreference(p *readpref.ReadPref) { cur.readPreference = p }

// SetMaxAwait sets the maximum time that an open cursor waits for documents.
func (cur *Cursor) SetMaxAwait(d time.Duration) { cur.serverCursor.SetMaxAwaitTime(d) }

// ClosedBeforeOpen reports whether a cursor was closed before it was sent.
func (cur *Cursor) ClosedBeforeOpen() bool { return cur.serverCursor == nil && cur.closed }

// Open sends the command, once.
func (cur *Cursor) Open() {
	if cur.serverCursor != nil || cur.closed {
		return
	}
	r := cur.d.ServerDatabase().Request(cur.command())
	r.IsRepeatable, r.ReadPreference = cur.IsReadOnly, cur.readPreference
	server, err := cur.host.Gateway.OpenCursor(r)
	if err != nil {
		cur.closed = true
		cur.host.Gateway.Throw(err)
	}
	if cur.batchSize > 0 {
		server.SetBatchSize(cur.batchSize)
	}
	if cur.maxAwait > 0 {
		server.SetMaxAwaitTime(cur.maxAwait)
	}
	cur.serverCursor = server
}

func (cur *Cursor) context() context.Context {
	return cur.d.ServerDatabase().Request(nil).Context(cur.host.JS.Context())
}

// HasNext reads one document ahead.
func (cur *Cursor) HasNext() bool { return cur.peeked != nil || cur.advance(false) }

// advance reads one document ahead. If try, it does not wait for documents of a tailable cursor.
func (cur *Cursor) advance(try bool) bool {
	cur.Open()
	if cur.closed {
		return false
	}
	next := cur.serverCursor.Next
	if try {
		next = cur.serverCursor.TryNext
	}
	if next(cur.context()) {
		cur.peeked = cur.serverCursor.Current
		return true
	}
	if err := cur.serverCursor.Err(); err != nil {
		if cur.host.JS.Context().Err() != nil {
			cur.host.Gateway.Interrupt()
		}
		cur.closed = true
		cur.host.Gateway.Throw(err)
	}
	if cur.serverCursor.ID() == 0 {
		cur.Close()
	}
	return false
}

// Next returns the next document; nil at the end.
func (cur *Cursor) Next() goja.Value {
	if !cur.HasNext() {
		return nil
	}
	return cur.takePeeked()
}

func (cur *Cursor) takePeeked() goja.Value {
	doc := cur.peeked
	cur.peeked = nil
	v := cur.host.JS.Values.LazyDoc(doc)
	for _, f := range cur.mappers {
		mapped, err := f(goja.Undefined(), v)
		cur.host.JS.Check(err)
		v = mapped
	}
	return v
}

// Close closes the cursor here and on the server.
func (cur *Cursor) Close() {
	cur.closed = true
	if cur.serverCursor != nil {
		_ = cur.serverCursor.Close(context.WithoutCancel(cur.host.JS.Context()))
	}
}

// isExhausted reports whether the server has no more documents for this cursor.
func (cur *Cursor) isExhausted() bool {
	return cur.closed || cur.serverCursor != nil && cur.serverCursor.ID() == 0
}

// isClosed reports whether no more documents will be returned.
func (cur *Cursor) isClosed() bool { return cur.isExhausted() && cur.buffered() == 0 }

// buffered returns how many documents were read but not returned.
func (cur *Cursor) buffered() int {
	n := 0
	if cur.peeked != nil {
		n++
	}
	if cur.serverCursor != nil && !cur.closed {
		n += cur.serverCursor.RemainingBatchLength()
	}
	return n
}

// UnlimitedPage is the size of a page without a limit.
const UnlimitedPage = math.MaxInt32

// NextPage returns the next documents to be shown, at most n.
func (cur *Cursor) NextPage(n int) []any {
	items := []any{}
	for len(items) < n {
		v := cur.Next()
		if v == nil {
			break
		}
		items = append(items, v)
	}
	return items
}

// MayHaveMore reports whether the shell offers "it" (rules/04-command-line-and-prompt §2.6).
func (cur *Cursor) MayHaveMore() bool { return !cur.isClosed() }
