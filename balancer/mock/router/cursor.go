package router

import (
	"context"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// Limits of a batch: the size of a reply, and the first batch's length when
// none is asked for.
const (
	batchBytes        = 16 << 20
	firstBatchDefault = 101
)

// cursorLife is how long a cursor that nobody reads stays open, in real time.
const cursorLife = 10 * time.Minute

// more is what a cursor that has given everything goes on with.
type more interface {
	// read puts what has come meanwhile into the cursor. It may wait for it until a time.
	read(c *call, open *cursor, deadline time.Time) error
	// awaits reports whether it waits where nothing has come.
	awaits() bool
	// streams reports whether it gives changes, and not documents.
	streams() bool
}

// cursor is what a query has still to give: a stream of what it captured, so
// that later writes do not show, or documents at hand.
type cursor struct {
	ns   string
	left []bson.Raw
	rest *stream // nil when there is none, or it is at its end
	// unwatch ends the watch of what it keeps; nil without.
	unwatch func() bool
	used    time.Time
	// time is what is left of the maxTimeMS of the command that made it, for all
	// that is still to be computed; 0 without a limit.
	time time.Duration
	// lsid is the session it was made in; nil without one.
	lsid *sessionID
	// owner is who made it; nil without a login.
	owner *access.User
	// more gives what comes later; nil but for tailable cursors and change streams.
	more more
	// patient cursors are not closed when nobody reads them.
	patient bool
	// busy: a getMore waits for more, or reads.
	busy bool
	// held is what its stream keeps to put it in order; nil without.
	held *weight
	// bytes are what it holds at most.
	bytes int64
}

// over: there is nothing left to give, now or later.
func (c *cursor) over() bool {
	return len(c.left) == 0 && c.rest == nil && c.more == nil
}

// awaits reports whether getMore waits at the end.
func (c *cursor) awaits() bool { return c.more != nil && c.more.awaits() }

// streams reports whether the cursor gives changes.
func (c *cursor) streams() bool { return c.more != nil && c.more.streams() }

// close ends what the cursor reads. Who is reading is told, and ends it.
func (c *cursor) close() {
	if c.unwatch != nil {
		c.unwatch()
	}
	switch {
	case c.rest == nil:
	case c.busy:
		c.rest.cancel(mongoerr.New(mongoerr.CursorKilled, "the cursor was killed"))
	default:
		c.rest.end()
		c.rest = nil
	}
}

// cursors are the open cursors by id. The cluster's lock guards them.
type cursors struct {
	rand *rand.Rand
	open map[int64]*cursor
	life time.Duration
	// swept is when idle cursors were looked for.
	swept time.Time
	// bytes are those of all cursors, and most how many they may be.
	bytes, most int64
}

// itemOverhead is what a document in an array takes besides its own bytes, at
// most: type, position and its end.
const itemOverhead = 10

// take cuts the next batch off: at most n documents (any number when n is
// negative) and 16 MiB, but always one if there is one. A stream is read with
// the lock given back.
func (c *cursor) take(call *call, n int) (bson.A, error) {
	if c.rest == nil {
		return c.cut(n), nil
	}
	var batch bson.A
	err := call.outside(func(ctx context.Context) (err error) {
		batch, err = c.rest.batch(ctx, n)
		return err
	})
	if c.rest.over {
		if c.unwatch != nil {
			c.unwatch()
		}
		c.rest.end()
		c.rest = nil
	}
	return batch, err
}

// cut takes documents at hand.
func (c *cursor) cut(n int) bson.A {
	b := batcher{most: n, docs: bson.A{}}
	for len(c.left) > 0 && b.add(c.left[0]) {
		c.left[0] = nil // the cursor may live long
		c.left = c.left[1:]
	}
	return b.docs
}

// maxCursors is how many cursors may be open at once.
const maxCursors = 10_000

// keepCursor stores a cursor until it is closed, or the cluster is, and returns
// its id.
func (n *node) keepCursor(c *cursor) (int64, error) {
	if n.cursors.open == nil {
		n.cursors.open = map[int64]*cursor{}
		n.cluster.OnClose(func() { n.cursors.killIf(func(*cursor) bool { return true }) })
	}
	return n.cursors.keep(c)
}

func (cs *cursors) keep(c *cursor) (int64, error) {
	now := time.Now()
	cs.sweep(now)
	if len(cs.open) >= maxCursors {
		return 0, mongoerr.New(mongoerr.TemporarilyUnavailable,
			"%d cursors are open: close some, or wait %v until they time out", len(cs.open), cs.life)
	}
	c.used = now
	c.weigh()
	for cs.bytes+c.bytes > cs.limit() && cs.forgetOldest() {
	}
	id := cs.rand.Int64()
	for id == 0 || cs.open[id] != nil {
		id = cs.rand.Int64()
	}
	cs.open[id] = c
	cs.bytes += c.bytes
	return id, nil
}

// cursorBytes is how much the open cursors may hold back from being freed. One
// alone may hold more.
const cursorBytes = 1 << 30

func (cs *cursors) limit() int64 {
	if cs.most > 0 {
		return cs.most
	}
	return cursorBytes
}

// weigh notes what a cursor holds at most: it may share documents with the
// collection.
func (c *cursor) weigh() {
	var w weight
	if c.rest != nil {
		w = streamBytes
		w.add(c.rest.ahead)
	}
	if c.held != nil {
		w += *c.held
	}
	for _, doc := range c.left {
		w.add(doc)
	}
	c.bytes = int64(w)
}

// forgetOldest closes the cursor that nobody has read for longest; false where
// there is none, or somebody reads each.
func (cs *cursors) forgetOldest() bool {
	var oldest int64
	for id, c := range cs.open {
		if !c.busy && (oldest == 0 || c.used.Before(cs.open[oldest].used)) {
			oldest = id
		}
	}
	return cs.kill(oldest)
}

// sweep closes the cursors that nobody has read for too long. It looks for them
// ten times in their life, and when there is no more room.
func (cs *cursors) sweep(now time.Time) {
	if now.Sub(cs.swept) < cs.life/10 && len(cs.open) < maxCursors {
		return
	}
	cs.swept = now
	cs.killIf(func(c *cursor) bool { return !c.patient && now.Sub(c.used) > cs.life })
}

func (cs *cursors) kill(id int64) bool {
	c, ok := cs.open[id]
	if ok {
		c.close()
		cs.bytes -= c.bytes
		delete(cs.open, id)
	}
	return ok
}

func (cs *cursors) killIf(of func(*cursor) bool) {
	maps.DeleteFunc(cs.open, func(_ int64, c *cursor) bool {
		if !of(c) {
			return false
		}
		c.close()
		cs.bytes -= c.bytes
		return true
	})
}

// killWhere closes the cursors of some sessions.
func (cs *cursors) killWhere(of func(sessionID) bool) {
	cs.killIf(func(c *cursor) bool { return c.lsid != nil && of(*c.lsid) })
}

// opened is a cursor as a reply shows it.
type opened struct {
	id    int64
	batch bson.A
}

// openCursor makes a cursor in the session of a call and takes its first batch. One
// that has nothing left is not kept, unless the first batch was to be empty.
func openCursor(call *call, c *cursor, size int, single bool) (opened, error) {
	c.lsid, c.owner = call.lsid, call.peer.user
	kept := false
	defer func() {
		if !kept {
			c.close()
		}
	}()
	batch, err := c.take(call, size)
	if err != nil || single || c.over() && size != 0 {
		return opened{batch: batch}, err
	}
	if !c.awaits() {
		c.time = call.timeLeft()
	}
	id, err := call.node.keepCursor(c)
	if kept = err == nil; kept && c.rest != nil {
		call.node.watchRefusal(id, c)
	}
	return opened{id: id, batch: batch}, err
}

// watchRefusal gives back what a cursor keeps when the budget refuses it and
// nobody reads it.
func (n *node) watchRefusal(id int64, c *cursor) {
	rest := c.rest
	c.unwatch = context.AfterFunc(rest.ctx, func() {
		n.cluster.Lock()
		defer n.cluster.Unlock()
		if n.cursors.open[id] == c && c.rest == rest && !c.busy {
			rest.refused(context.Cause(rest.ctx))
		}
	})
}

// firstBatch answers with documents at hand.
func firstBatch(call *call, ns string, results []bson.Raw, size int) (bson.D, error) {
	return answerWith(call, &cursor{ns: ns, left: results}, size)
}

// answerWith answers with a cursor, its fields in the order of all commands but
// find.
func answerWith(call *call, open *cursor, size int) (bson.D, error) {
	ns := open.ns
	c, err := openCursor(call, open, size, false)
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: "id", Value: c.id},
		{Key: "ns", Value: ns},
		{Key: "firstBatch", Value: c.batch},
	}}}, nil
}

// checkSession: a cursor is read in the session it was made in.
func (c *call) checkSession(id int64, open *cursor) error {
	switch {
	case open.lsid == nil && c.lsid == nil || open.lsid != nil && c.lsid != nil && *open.lsid == *c.lsid:
		return nil
	case open.lsid == nil:
		return mongoerr.New(mongoerr.GetMoreForeignSession,
			"Cannot run getMore on cursor %d, which was not created in a session, in session %s", id, c.body.Lookup("lsid"))
	case c.lsid == nil:
		return mongoerr.New(mongoerr.GetMoreWithoutSession,
			"Cannot run getMore on cursor %d, which was created in session %s, without an lsid", id,
			bson.D{{Key: "id", Value: open.lsid.doc()[0].Value}})
	}
	return mongoerr.New(mongoerr.GetMoreOtherSession,
		"Cannot run getMore on cursor %d, which was created in session %s, in session %s", id,
		bson.D{{Key: "id", Value: open.lsid.doc()[0].Value}}, c.body.Lookup("lsid"))
}

func getMore(c *call) (bson.D, error) {
	id := c.args["getMore"].Int64()
	open := c.node.cursors.open[id]
	coll := c.args.Text("collection")
	switch {
	case coll == "":
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot be empty")
	case !catalog.ValidCollectionName(coll):
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name: '%s'", coll)
	}
	if open == nil {
		return nil, mongoerr.New(mongoerr.CursorNotFound, "cursor id %d not found", id)
	}
	if open.ns != c.db+"."+coll {
		return nil, mongoerr.New(mongoerr.Unauthorized,
			"Requested getMore on namespace '%s.%s', but cursor belongs to a different namespace %s", c.db, coll, open.ns)
	}
	if c.node.authRequired && !c.peer.is(open.owner) {
		return nil, mongoerr.New(mongoerr.Unauthorized, "cursor id %d was not created by the authenticated user", id)
	}
	if err := c.checkSession(id, open); err != nil {
		return nil, err
	}
	if err := failOn(open, c); err != nil {
		return nil, err
	}
	if !c.body.Lookup("maxTimeMS").IsZero() && !open.awaits() {
		return nil, mongoerr.New(mongoerr.BadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor")
	}
	size := -1
	if n, _ := args.Number(c.args["batchSize"]); n > 0 {
		size = int(n)
	}
	if open.busy {
		return nil, mongoerr.New(mongoerr.CursorInUse, "cursor id %d is already in use", id)
	}
	batch, err := open.read(c, id, size)
	if err != nil {
		return nil, err
	}
	if open.over() {
		c.node.cursors.kill(id)
		id = 0
	}
	return bson.D{{Key: "cursor", Value: resumableFrom(open, bson.D{
		{Key: "nextBatch", Value: batch},
		{Key: "id", Value: id},
		{Key: "ns", Value: open.ns},
	})}}, nil
}

// read takes the next batch for a getMore, and closes a cursor that fails.
func (c *cursor) read(call *call, id int64, size int) (batch bson.A, err error) {
	c.busy, err = true, mongoerr.New(mongoerr.InternalError, "cursor id %d failed", id) // if what follows panics
	defer func() {
		c.busy = false
		switch {
		case call.node.cursors.open[id] != c:
			c.close()
			err = mongoerr.New(mongoerr.CursorKilled, "cursor id %d was killed", id)
		case err != nil:
			call.node.cursors.kill(id)
		}
		c.used = time.Now()
	}()
	call.limit = c.time // a getMore has none of its own
	if err = readMore(call, c); err == nil {
		batch, err = c.take(call, size)
	}
	c.time = call.timeLeft()
	return batch, err
}

func killCursors(c *call) (bson.D, error) {
	values, err := c.args["cursors"].Array().Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for i, v := range values {
		if err := (args.Required(strconv.Itoa(i), args.Long)).Check("killCursors.cursors", v); err != nil {
			return nil, err
		}
	}
	killed, notFound := bson.A{}, bson.A{}
	for _, v := range values {
		id := v.Int64()
		if open := c.node.cursors.open[id]; open != nil && c.node.authRequired && !c.peer.is(open.owner) &&
			!c.node.grants(c.peer).Allows(access.TheCluster(), "killAnyCursor") {
			return nil, c.unauthorized()
		}
		if c.node.cursors.kill(id) {
			killed = append(killed, id)
		} else {
			notFound = append(notFound, id)
		}
	}
	return bson.D{
		{Key: "cursorsKilled", Value: killed},
		{Key: "cursorsNotFound", Value: notFound},
		{Key: "cursorsAlive", Value: bson.A{}},
		{Key: "cursorsUnknown", Value: bson.A{}},
	}, nil
}
