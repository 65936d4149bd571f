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

// Limits of a batch: the size of a reply, and the default number of documents of the first batch.
const (
	BatchBytes        = 16 << 20
	firstBatchDefault = 101
)

// CursorTimeout is the real time after which an idle cursor is closed.
const CursorTimeout = 10 * time.Minute

// Continuation supplies further documents to a cursor whose initial results are exhausted.
type Continuation interface {
	// Read appends new results to the cursor. It may wait for them until deadline.
	Read(c *Call, open *Cursor, deadline time.Time) error
	// Awaits reports whether a read waits if there are no new results.
	Awaits() bool
	// HasChangeEvents reports whether the results are change events instead of documents.
	HasChangeEvents() bool
}

// Cursor holds the remaining results of a query: a stream of captured documents, so that later writes
// are not visible, or buffered documents.
type Cursor struct {
	NS       string
	Buffered []bson.Raw
	Stream   *stream // nil if there is none or it is exhausted
	// unwatch ends the watch for a refusal of the memory budget (see watchBudget); nil without a watch.
	unwatch func() bool
	used    time.Time
	// timeLeft is the rest of maxTimeMS of the command that created the cursor, for all later computations;
	// 0 without a limit.
	timeLeft time.Duration
	// LSID is the session that created the cursor; nil without a session.
	LSID *SessionID
	// Owner is the user who created the cursor; nil without authentication.
	Owner *access.User
	// Continuation supplies later results. It is nil except for tailable cursors and change streams.
	Continuation Continuation
	// NoTimeout cursors are not closed when idle.
	NoTimeout bool
	// Busy reports whether a getMore is reading or waiting.
	Busy bool
	// SortBytes counts the documents that the stream holds for sorting; nil if it does not sort.
	SortBytes *ByteCount
	// bytes is the maximum memory that the cursor holds.
	bytes int64
	// keptRanges keeps the ranges that the cursor reads from being deleted; nil if it reads none.
	keptRanges *mock.OpenCursor
	// secondaryRead tracks the documents that the cursor loses on secondaries; nil if it reads primaries.
	secondaryRead *mock.SecondaryRead
	// collectionUUID is the UUID of the collection that a find reads. It is empty for other cursors, which
	// may have read all results already.
	collectionUUID bson.Binary
	// firstShard is the first shard that the cursor reads.
	firstShard catalog.ShardID
}

// IsExhausted reports whether no more documents can follow, now or later.
func (c *Cursor) IsExhausted() bool {
	return len(c.Buffered) == 0 && c.Stream == nil && c.Continuation == nil
}

// Awaits reports whether getMore waits at the end of the results.
func (c *Cursor) Awaits() bool { return c.Continuation != nil && c.Continuation.Awaits() }

// HasChangeEvents reports whether the cursor returns change events.
func (c *Cursor) HasChangeEvents() bool {
	return c.Continuation != nil && c.Continuation.HasChangeEvents()
}

// close ends the reads of the cursor. If a getMore is reading, close interrupts it, and the getMore
// closes the stream.
func (c *Cursor) close() {
	c.keptRanges.Close()
	c.keptRanges = nil
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
	// sweptAt is the time of the last search for idle cursors, nextSweep that of the next scheduled one.
	sweptAt, nextSweep time.Time
	// bytes is the memory of all cursors, MaxBytes its limit. Above it, the cursor that has been idle for
	// the longest time is closed.
	bytes, MaxBytes int64
}

// itemOverhead is the maximum size of an array element besides the document itself: type, index and
// terminator.
const itemOverhead = 10

// nextBatch removes and returns the next batch: at most n documents (any number if n is negative) and 16
// MiB, but always one document if there is one. It releases the lock while it reads a stream.
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

// TakeBuffered removes and returns up to n buffered documents.
func (c *Cursor) TakeBuffered(n int) bson.A {
	b := batcher{maxDocs: n, docs: bson.A{}}
	for len(c.Buffered) > 0 && b.add(c.Buffered[0]) {
		c.Buffered[0] = nil // releases the document; the cursor may live long
		c.Buffered = c.Buffered[1:]
	}
	return b.docs
}

// maxCursors is the maximum number of open cursors.
const maxCursors = 10_000

// keepCursor stores a cursor until it or the cluster is closed and returns its id.
func (n *Node) keepCursor(c *Cursor) (int64, error) {
	if n.Cursors.Open == nil {
		n.Cursors.Open = map[int64]*Cursor{}
		n.Cluster.OnClose(func() { n.Cursors.killIf(func(*Cursor) bool { return true }) })
	}
	id, err := n.Cursors.keep(c)
	n.scheduleSweep()
	return id, err
}

// sweepInterval is the interval at which a server searches for idle cursors
// (clientCursorMonitorFrequencySecs).
const sweepInterval = 4 * time.Second

// scheduleSweep lets a cluster on real time close its idle cursors even if nobody opens new ones: a
// migration may wait for them.
func (n *Node) scheduleSweep() {
	now := time.Now()
	if !n.Cluster.ClockUnderLock().IsRealTime() || len(n.Cursors.Open) == 0 || now.Before(n.Cursors.nextSweep) {
		return
	}
	n.Cursors.nextSweep = now.Add(sweepInterval)
	n.Cluster.After(sweepInterval, func() {
		n.Cursors.sweep(time.Now())
		n.scheduleSweep()
	})
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
	for cs.bytes+c.bytes > cs.MaxBytes && cs.closeOldest() {
	}
	id := cs.Rand.Int64()
	for id == 0 || cs.Open[id] != nil {
		id = cs.Rand.Int64()
	}
	cs.Open[id] = c
	cs.bytes += c.bytes
	return id, nil
}

// MaxCursorBytes is the usual maximum memory, in bytes, that the open cursors hold. A single cursor may
// hold more.
const MaxCursorBytes = 1 << 30

// updateBytes updates the maximum memory that a cursor holds. It is an upper bound because a cursor may
// share documents with the collection.
func (c *Cursor) updateBytes() {
	var w ByteCount
	if c.Stream != nil {
		w = streamBytes
		w.Add(c.Stream.lookahead)
	}
	if c.SortBytes != nil {
		w += *c.SortBytes
	}
	for _, doc := range c.Buffered {
		w.Add(doc)
	}
	c.bytes = int64(w)
}

// closeOldest closes the cursor that has been idle for the longest time. It returns false if there is no
// idle cursor.
func (cs *Cursors) closeOldest() bool {
	var oldest int64
	for id, c := range cs.Open {
		if !c.Busy && (oldest == 0 || c.used.Before(cs.Open[oldest].used)) {
			oldest = id
		}
	}
	return cs.Kill(oldest)
}

// sweep closes the cursors that were idle for too long. It searches for them ten times per IdleTimeout,
// and when the number of cursors is at its limit.
func (cs *Cursors) sweep(now time.Time) {
	if now.Sub(cs.sweptAt) < cs.IdleTimeout/10 && len(cs.Open) < maxCursors {
		return
	}
	cs.sweptAt = now
	cs.killIf(func(c *Cursor) bool { return !c.NoTimeout && now.Sub(c.used) > cs.IdleTimeout })
}

// Kill closes a cursor. It returns false if the cursor does not exist.
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

// KillWhere closes the cursors of the sessions that of selects.
func (cs *Cursors) KillWhere(of func(SessionID) bool) {
	cs.killIf(func(c *Cursor) bool { return c.LSID != nil && of(*c.LSID) })
}

// OpenedCursor is the cursor document of a reply.
type OpenedCursor struct {
	ID    int64
	Batch bson.A
}

// OpenCursor creates a cursor in the session of a call and takes its first batch. An exhausted cursor is
// not stored, unless the first batch has size 0.
func OpenCursor(call *Call, c *Cursor, size int, single bool) (OpenedCursor, error) {
	c.LSID, c.Owner = call.LSID, call.Conn.User
	kept := false
	defer func() {
		if !kept {
			c.close()
		}
	}()
	batch, err := c.nextBatch(call, size)
	if err != nil || single || c.IsExhausted() && size != 0 {
		return OpenedCursor{Batch: batch}, err
	}
	if !c.Awaits() {
		c.timeLeft = call.timeLeft()
	}
	id, err := call.Node.keepCursor(c)
	if kept = err == nil; kept && c.Stream != nil {
		call.Node.watchBudget(id, c)
		c.keepRanges(call)
	}
	return OpenedCursor{ID: id, Batch: batch}, err
}

// keepRanges makes the shards that the cursor reads keep the ranges that they donate while it is open.
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
	c.secondaryRead = call.Request.SecondaryRead()
	c.keptRanges = call.Cluster.RangeDeleter().OpenCursor(c.NS, shards, c.NoTimeout, c.secondaryRead)
	if call.InvokedAs == "find" && len(shards) > 0 {
		c.collectionUUID, c.firstShard = call.Cluster.Collections().UUID(c.NS), shards[0]
	}
}

// CheckCollection fails if the collection that a find reads was dropped or renamed.
func (c *Cursor) CheckCollection(call *Call) error {
	if c.collectionUUID.Data == nil {
		return nil
	}
	err := call.Cluster.Collections().CheckCursor(c.NS, c.collectionUUID)
	if err != nil {
		return mongoerr.Wrap(err, "Error on remote shard "+call.Cluster.Addresses().FirstMember(c.firstShard))
	}
	return nil
}

// watchBudget frees the results of an idle cursor when the memory budget refuses it.
func (n *Node) watchBudget(id int64, c *Cursor) {
	rest := c.Stream
	c.unwatch = context.AfterFunc(rest.ctx, func() {
		n.Cluster.Lock()
		defer n.Cluster.Unlock()
		if n.Cursors.Open[id] == c && c.Stream == rest && !c.Busy {
			rest.failWith(context.Cause(rest.ctx))
		}
	})
}

// FirstBatchReply replies with a cursor of the given results.
func FirstBatchReply(call *Call, ns string, results []bson.Raw, size int) (bson.D, error) {
	return CursorReply(call, &Cursor{NS: ns, Buffered: results}, size)
}

// CursorReply replies with a cursor. The order of the fields is that of all commands except find.
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

// Read takes the next batch for a getMore. It closes the cursor on an error.
func (c *Cursor) Read(call *Call, id int64, size int) (batch bson.A, err error) {
	c.Busy, err = true, mongoerr.New(mongoerr.InternalError, "cursor id %d failed", id) // in case of a panic below
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
		c.keptRanges.Touch()
	}()
	call.computeLimit = c.timeLeft // a getMore has no limit of its own
	if err = c.secondaryRead.Err(); err != nil {
		return nil, err
	}
	if err = readMore(call, c); err == nil {
		batch, err = c.nextBatch(call, size)
	}
	c.timeLeft = call.timeLeft()
	return batch, err
}

// awaitDefault is how long a getMore without maxTimeMS waits for documents.
const awaitDefault = time.Second

// readMore adds new results to a cursor that has no results left, and waits for them up to maxTimeMS.
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
