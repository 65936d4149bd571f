package call

import (
	"context"
	"maps"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mongoerr"
)

// Limits of a batch: the size of a reply, and the first batch's length when
// none is asked for.
const (
	BatchBytes        = 16 << 20
	firstBatchDefault = 101
)

// CursorTimeout is how long a cursor that nobody reads stays open, in real time.
const CursorTimeout = 10 * time.Minute

// Continuation supplies further documents to a cursor whose initial results are exhausted.
type Continuation interface {
	// Read puts what has come meanwhile into the cursor. It may wait for it until a time.
	Read(c *Call, open *Cursor, deadline time.Time) error
	// Awaits reports whether it waits where nothing has come.
	Awaits() bool
	// Streams reports whether it gives changes, and not documents.
	Streams() bool
}

// Cursor holds the remaining results of a query: a stream of captured documents, so
// that later writes are not visible, or buffered documents.
type Cursor struct {
	NS       string
	Buffered []bson.Raw
	Stream   *stream // nil when there is none, or it is at its end
	// unwatch ends the watch of what it keeps; nil without.
	unwatch func() bool
	used    time.Time
	// time is what is left of the maxTimeMS of the command that made it, for all
	// that is still to be computed; 0 without a limit.
	time time.Duration
	// LSID is the session it was made in; nil without one.
	LSID *SessionID
	// Owner is who made it; nil without a login.
	Owner *access.User
	// Continuation gives what comes later; nil but for tailable cursors and change streams.
	Continuation Continuation
	// NoTimeout cursors are not closed when nobody reads them.
	NoTimeout bool
	// Busy: a getMore waits for more, or reads.
	Busy bool
	// HeldBytes is what its stream keeps to put it in order; nil without.
	HeldBytes *ByteCount
	// bytes are what it holds at most.
	bytes int64
	// reader keeps the ranges that it reads from being deleted; nil where it reads none.
	reader *mock.Reader
	// lost is what it loses on secondaries; nil where it reads primaries.
	lost *mock.SecondaryRead
	// collection is the one that a find reads; empty for other cursors, which may have read all there is.
	collection bson.Binary
	// home is the first shard that it reads.
	home catalog.ShardID
}

// Exhausted reports whether no document can follow, now or later.
func (c *Cursor) Exhausted() bool {
	return len(c.Buffered) == 0 && c.Stream == nil && c.Continuation == nil
}

// Awaits reports whether getMore waits at the end.
func (c *Cursor) Awaits() bool { return c.Continuation != nil && c.Continuation.Awaits() }

// Streams reports whether the cursor gives changes.
func (c *Cursor) Streams() bool { return c.Continuation != nil && c.Continuation.Streams() }

// close ends what the cursor reads. Who is reading is told, and ends it.
func (c *Cursor) close() {
	c.reader.Close()
	c.reader = nil
	if c.unwatch != nil {
		c.unwatch()
	}
	switch {
	case c.Stream == nil:
	case c.Busy:
		c.Stream.cancel(mongoerr.New(mongoerr.CursorKilled, "the cursor was killed"))
	default:
		c.Stream.end()
		c.Stream = nil
	}
}

// Cursors are the open cursors by id. The cluster's lock guards them.
type Cursors struct {
	Rand        *rand.Rand
	Open        map[int64]*Cursor
	IdleTimeout time.Duration
	// sweptAt is when idle cursors were looked for.
	sweptAt time.Time
	// bytes are those of all cursors, and most how many they may be.
	bytes, MaxBytes int64
}

// itemOverhead is what a document in an array takes besides its own bytes, at
// most: type, position and its end.
const itemOverhead = 10

// nextBatch cuts the next batch off: at most n documents (any number when n is
// negative) and 16 MiB, but always one if there is one. A stream is read with
// the lock given back.
func (c *Cursor) nextBatch(call *Call, n int) (bson.A, error) {
	if c.Stream == nil {
		return c.TakeBuffered(n), nil
	}
	var batch bson.A
	err := call.WithoutLock(func(ctx context.Context) (err error) {
		batch, err = c.Stream.batch(ctx, n)
		return err
	})
	if c.Stream.exhausted {
		if c.unwatch != nil {
			c.unwatch()
		}
		c.Stream.end()
		c.Stream = nil
	}
	return batch, err
}

// TakeBuffered takes documents at hand.
func (c *Cursor) TakeBuffered(n int) bson.A {
	b := batcher{most: n, docs: bson.A{}}
	for len(c.Buffered) > 0 && b.add(c.Buffered[0]) {
		c.Buffered[0] = nil // the cursor may live long
		c.Buffered = c.Buffered[1:]
	}
	return b.docs
}

// maxCursors is how many cursors may be open at once.
const maxCursors = 10_000

// keepCursor stores a cursor until it is closed, or the cluster is, and returns
// its id.
func (n *Node) keepCursor(c *Cursor) (int64, error) {
	if n.Cursors.Open == nil {
		n.Cursors.Open = map[int64]*Cursor{}
		n.Cluster.OnClose(func() { n.Cursors.killIf(func(*Cursor) bool { return true }) })
	}
	return n.Cursors.keep(c)
}

func (cs *Cursors) keep(c *Cursor) (int64, error) {
	now := time.Now()
	cs.sweep(now)
	if len(cs.Open) >= maxCursors {
		return 0, mongoerr.New(mongoerr.TemporarilyUnavailable,
			"%d cursors are open: close some, or wait %v until they time out", len(cs.Open), cs.IdleTimeout)
	}
	c.used = now
	c.updateBytes()
	for cs.bytes+c.bytes > cs.Limit() && cs.closeOldest() {
	}
	id := cs.Rand.Int64()
	for id == 0 || cs.Open[id] != nil {
		id = cs.Rand.Int64()
	}
	cs.Open[id] = c
	cs.bytes += c.bytes
	return id, nil
}

// cursorBytes is how much the open cursors may hold back from being freed. One
// alone may hold more.
const cursorBytes = 1 << 30

// Limit is how many bytes the open cursors may hold.
func (cs *Cursors) Limit() int64 {
	if cs.MaxBytes > 0 {
		return cs.MaxBytes
	}
	return cursorBytes
}

// updateBytes notes what a cursor holds at most: it may share documents with the
// collection.
func (c *Cursor) updateBytes() {
	var w ByteCount
	if c.Stream != nil {
		w = streamBytes
		w.Add(c.Stream.lookahead)
	}
	if c.HeldBytes != nil {
		w += *c.HeldBytes
	}
	for _, doc := range c.Buffered {
		w.Add(doc)
	}
	c.bytes = int64(w)
}

// closeOldest closes the cursor that was not read for longest; false where
// there is none, or somebody reads each.
func (cs *Cursors) closeOldest() bool {
	var oldest int64
	for id, c := range cs.Open {
		if !c.Busy && (oldest == 0 || c.used.Before(cs.Open[oldest].used)) {
			oldest = id
		}
	}
	return cs.Kill(oldest)
}

// sweep closes the cursors that were not read for too long. It looks for them
// ten times in their life, and when there is no more room.
func (cs *Cursors) sweep(now time.Time) {
	if now.Sub(cs.sweptAt) < cs.IdleTimeout/10 && len(cs.Open) < maxCursors {
		return
	}
	cs.sweptAt = now
	cs.killIf(func(c *Cursor) bool { return !c.NoTimeout && now.Sub(c.used) > cs.IdleTimeout })
}

// Kill closes a cursor; false where there is none.
func (cs *Cursors) Kill(id int64) bool {
	c, ok := cs.Open[id]
	if ok {
		c.close()
		cs.bytes -= c.bytes
		delete(cs.Open, id)
	}
	return ok
}

func (cs *Cursors) killIf(of func(*Cursor) bool) {
	maps.DeleteFunc(cs.Open, func(_ int64, c *Cursor) bool {
		if !of(c) {
			return false
		}
		c.close()
		cs.bytes -= c.bytes
		return true
	})
}

// KillWhere closes the cursors of some sessions.
func (cs *Cursors) KillWhere(of func(SessionID) bool) {
	cs.killIf(func(c *Cursor) bool { return c.LSID != nil && of(*c.LSID) })
}

// OpenedCursor is a cursor as a reply shows it.
type OpenedCursor struct {
	ID    int64
	Batch bson.A
}

// OpenCursor makes a cursor in the session of a call and takes its first batch. One
// that has nothing left is not kept, unless the first batch was to be empty.
func OpenCursor(call *Call, c *Cursor, size int, single bool) (OpenedCursor, error) {
	c.LSID, c.Owner = call.LSID, call.Peer.User
	kept := false
	defer func() {
		if !kept {
			c.close()
		}
	}()
	batch, err := c.nextBatch(call, size)
	if err != nil || single || c.Exhausted() && size != 0 {
		return OpenedCursor{Batch: batch}, err
	}
	if !c.Awaits() {
		c.time = call.timeLeft()
	}
	id, err := call.Node.keepCursor(c)
	if kept = err == nil; kept && c.Stream != nil {
		call.Node.watchRefusal(id, c)
		c.keepRanges(call)
	}
	return OpenedCursor{ID: id, Batch: batch}, err
}

// keepRanges has the shards that a cursor reads keep the ranges that they give away while it is open.
func (c *Cursor) keepRanges(call *Call) {
	if call.Node.Member != nil || c.Continuation != nil {
		return
	}
	var shards []catalog.ShardID
	call.Request.EachContacted(func(id catalog.ShardID, err error) {
		if err == nil {
			shards = append(shards, id)
		}
	})
	c.lost = call.Request.LostOnSecondaries()
	c.reader = call.Cluster.RangeDeleter().OpenReader(c.NS, shards, c.NoTimeout, c.lost)
	if call.Invoked == "find" && len(shards) > 0 {
		c.collection, c.home = call.Cluster.Collections().UUID(c.NS), shards[0]
	}
}

// CheckCollection tells whether the collection that a find reads is still there, under its name.
func (c *Cursor) CheckCollection(call *Call) error {
	if c.collection.Data == nil {
		return nil
	}
	err := call.Cluster.Collections().CheckOpen(c.NS, c.collection)
	if err != nil {
		return mongoerr.Wrap(err, "Error on remote shard "+call.Cluster.Addresses().FirstMember(c.home))
	}
	return nil
}

// watchRefusal gives back what a cursor keeps when the budget refuses it and
// nobody reads it.
func (n *Node) watchRefusal(id int64, c *Cursor) {
	rest := c.Stream
	c.unwatch = context.AfterFunc(rest.ctx, func() {
		n.Cluster.Lock()
		defer n.Cluster.Unlock()
		if n.Cursors.Open[id] == c && c.Stream == rest && !c.Busy {
			rest.failWith(context.Cause(rest.ctx))
		}
	})
}

// FirstBatchReply answers with documents at hand.
func FirstBatchReply(call *Call, ns string, results []bson.Raw, size int) (bson.D, error) {
	return CursorReply(call, &Cursor{NS: ns, Buffered: results}, size)
}

// CursorReply answers with a cursor, its fields in the order of all commands but
// find.
func CursorReply(call *Call, open *Cursor, size int) (bson.D, error) {
	ns := open.NS
	c, err := OpenCursor(call, open, size, false)
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: "id", Value: c.ID},
		{Key: "ns", Value: ns},
		{Key: "firstBatch", Value: c.Batch},
	}}}, nil
}

// Read takes the next batch for a getMore, and closes a cursor that fails.
func (c *Cursor) Read(call *Call, id int64, size int) (batch bson.A, err error) {
	c.Busy, err = true, mongoerr.New(mongoerr.InternalError, "cursor id %d failed", id) // if what follows panics
	defer func() {
		c.Busy = false
		switch {
		case call.Node.Cursors.Open[id] != c:
			c.close()
			err = mongoerr.New(mongoerr.CursorKilled, "cursor id %d was killed", id)
		case err != nil:
			call.Node.Cursors.Kill(id)
		}
		c.used = time.Now()
		c.reader.Touch()
	}()
	call.limit = c.time // a getMore has none of its own
	if err = c.lost.Failed(); err != nil {
		return nil, err
	}
	if err = readMore(call, c); err == nil {
		batch, err = c.nextBatch(call, size)
	}
	c.time = call.timeLeft()
	return batch, err
}

// awaitDefault is how long a getMore waits for documents when it does not say.
const awaitDefault = time.Second

// readMore adds to a cursor that has nothing left what has come meanwhile, and waits
// for that until maxTimeMS is over.
func readMore(c *Call, open *Cursor) error {
	if len(open.Buffered) > 0 || open.Stream != nil || open.Continuation == nil {
		return nil
	}
	deadline := c.Deadline
	if deadline.IsZero() {
		deadline = c.Cluster.Now().Add(awaitDefault)
	}
	return open.Continuation.Read(c, open, deadline)
}
