package bindings

import (
	"context"
	"math"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
)

type cursorKind uint8

const (
	kindFind cursorKind = iota
	kindAggregate
	kindCommand
)

// cursor is a query that has not been sent yet, or its results.
type cursor struct {
	script.Hidden
	s          *Shell
	d          *database
	object     *goja.Object
	kind       cursorKind
	collection string // empty for cursors on a database
	body       bson.D // the command, built up by the cursor's methods
	pipeline   bson.RawValue
	added      bson.A // stages that methods added to the pipeline
	reads      bool
	stream     bool // a change stream: has no end

	batchSize    int32
	batchSizeSet bool

	readPreference *readpref.ReadPref // nil for the connection's
	explain        string             // verbosity of a query that is only explained
	maxAwait       time.Duration      // of a tailable cursor; 0 for the server's

	server *mongo.Cursor // nil before the first document is asked for
	ahead  bson.Raw      // read from server, not handed out yet
	maps   []goja.Callable
	closed bool
}

// newCursor makes a cursor and the one "it" goes on with (rules/04-command-line-and-prompt §2.6).
func (s *Shell) newCursor(d *database, kind cursorKind, body bson.D) *cursor {
	cur := &cursor{s: s, d: d, kind: kind, body: body, reads: true}
	cur.object = s.JS.Runtime.NewDynamicObject(cur)
	script.Must(cur.object.SetPrototype(s.cursorPrototype()))
	s.cursor = cur
	return cur
}

// commandCursor runs a command that answers with a cursor.
func (c *call) commandCursor(d *database, body bson.D) goja.Value {
	cur := c.s.newCursor(d, kindCommand, body)
	cur.reads = false
	cur.open()
	return cur.object
}

// set puts an option into the command.
func (cur *cursor) set(name string, value any) {
	if cur.server != nil {
		cur.s.JS.Throw("MongoCursorInUseError", "Cursor is already initialized")
	}
	for i := range cur.body {
		if cur.body[i].Key == name {
			cur.body[i].Value = value
			return
		}
	}
	cur.body = append(cur.body, bson.E{Key: name, Value: value})
}

func (cur *cursor) setLimit(n int64) {
	if n < 0 {
		cur.set("singleBatch", true)
		n = -n
	}
	cur.set("limit", rawdoc.Small(n))
}

// command returns what open sends.
func (cur *cursor) command() bson.D {
	body := append(bson.D{}, cur.body...)
	switch cur.kind {
	case kindFind:
		if cur.batchSize > 0 {
			body = append(body, bson.E{Key: "batchSize", Value: cur.batchSize})
		}
	case kindAggregate:
		for i := range body {
			switch {
			case body[i].Key == "cursor" && cur.batchSizeSet:
				body[i].Value = bson.D{{Key: "batchSize", Value: cur.batchSize}}
			case body[i].Key == "pipeline" && cur.added != nil:
				body[i].Value = cur.stages()
			}
		}
	case kindCommand:
		return body
	}
	return cur.d.readBody(body)
}

func (cur *cursor) stages() bson.A {
	var all bson.A
	if list, err := cur.pipeline.Array().Values(); err == nil {
		for _, st := range list {
			all = append(all, st)
		}
	}
	return append(all, cur.added...)
}

// open sends the command, once.
func (cur *cursor) open() {
	if cur.server != nil || cur.closed {
		return
	}
	r := cur.d.Request(cur.command())
	r.Reads, r.ReadPreference = cur.reads, cur.readPreference
	server, err := cur.s.gateway.Open(r)
	if err != nil {
		cur.closed = true
		cur.s.gateway.Throw(err)
	}
	if cur.batchSize > 0 {
		server.SetBatchSize(cur.batchSize)
	}
	if cur.maxAwait > 0 {
		server.SetMaxAwaitTime(cur.maxAwait)
	}
	cur.server = server
}

func (cur *cursor) context() context.Context { return cur.d.Request(nil).Context(cur.s.JS.Context()) }

// hasNext reads one document ahead.
func (cur *cursor) hasNext() bool { return cur.ahead != nil || cur.advance(false) }

// advance reads one document ahead; a try does not wait for documents of a
// tailable cursor.
func (cur *cursor) advance(try bool) bool {
	cur.open()
	if cur.closed {
		return false
	}
	next := cur.server.Next
	if try {
		next = cur.server.TryNext
	}
	if next(cur.context()) {
		cur.ahead = cur.server.Current
		return true
	}
	if err := cur.server.Err(); err != nil {
		if cur.s.JS.Context().Err() != nil {
			cur.s.gateway.Interrupt()
		}
		cur.closed = true
		cur.s.gateway.Throw(err)
	}
	if cur.server.ID() == 0 {
		cur.close()
	}
	return false
}

// next hands out a document; nil at the end.
func (cur *cursor) next() goja.Value {
	if !cur.hasNext() {
		return nil
	}
	return cur.take()
}

func (cur *cursor) take() goja.Value {
	doc := cur.ahead
	cur.ahead = nil
	v := cur.s.JS.World.LazyDoc(doc)
	for _, f := range cur.maps {
		mapped, err := f(goja.Undefined(), v)
		if err != nil {
			cur.s.JS.Rethrow(err)
		}
		v = mapped
	}
	return v
}

func (cur *cursor) close() {
	cur.closed = true
	if cur.server != nil {
		_ = cur.server.Close(context.WithoutCancel(cur.s.JS.Context()))
	}
}

// done reports that the server has no more documents for this cursor.
func (cur *cursor) done() bool {
	return cur.closed || cur.server != nil && cur.server.ID() == 0
}

// isClosed reports that there is nothing more to come.
func (cur *cursor) isClosed() bool { return cur.done() && cur.buffered() == 0 }

// buffered returns how many documents were read but not handed out.
func (cur *cursor) buffered() int {
	n := 0
	if cur.ahead != nil {
		n++
	}
	if cur.server != nil && !cur.closed {
		n += cur.server.RemainingBatchLength()
	}
	return n
}

// everything is a page without an end.
const everything = math.MaxInt32

// page hands out the next documents to be shown, at most n.
func (cur *cursor) page(n int) []any {
	items := []any{}
	for len(items) < n {
		v := cur.next()
		if v == nil {
			break
		}
		items = append(items, v)
	}
	return items
}

// mayHaveMore is the shell's idea of whether to offer "it" (rules/04-command-line-and-prompt §2.6).
func (cur *cursor) mayHaveMore() bool { return !cur.done() || cur.buffered() > 0 }
