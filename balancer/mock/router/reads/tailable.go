package reads

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// tail continues a tailable cursor with new documents.
type tail struct {
	position *mock.Tail
	query    call.Query
	await    bool
	// remaining is the rest of the limit; negative without a limit.
	remaining int64
}

func (t *tail) Awaits() bool { return t.await }

func (t *tail) HasChangeEvents() bool { return false }

// startTail makes a cursor continue from the current end of a capped collection, if the collection
// exists.
func startTail(c *call.Call, open *call.Cursor, q call.Query) error {
	place, err := c.Cluster.Collections().StartTail(q.NS)
	if err == nil && place != nil {
		open.Continuation = &tail{position: place, query: q, await: c.Args.Bool("awaitData"), remaining: -1}
	}
	return err
}

// limitTail subtracts the documents that the find returned from the limit of a tailable cursor.
func limitTail(open *call.Cursor, q call.Query, found int) {
	t, ok := open.Continuation.(*tail)
	if !ok || q.Limit == 0 {
		return
	}
	if t.remaining = q.Limit - int64(found); t.remaining <= 0 {
		open.Continuation = nil
	}
}

// Read appends new documents. If there are none and the cursor has awaitData, it waits for some.
func (t *tail) Read(c *call.Call, open *call.Cursor, deadline time.Time) error {
	for {
		docs, err := c.Request.ReadTail(t.position, t.query.Filter)
		if err != nil {
			return err
		}
		if len(docs) > 0 || !t.await || !c.Cluster.Now().Before(deadline) {
			open.Buffered, err = t.project(docs)
			if t.remaining == 0 {
				open.Continuation = nil
			}
			return err
		}
		grown := func() bool { return c.Cluster.Collections().CanReadTail(t.position) }
		if over, err := isWaitOver(c.Cluster.ClockUnderLock().Await(c.Ctx, deadline, grown)); over {
			return err
		}
	}
}

// isWaitOver reports whether a wait has ended without new documents. A timeout is not an error, nor is the
// fact that nothing can happen any more.
func isWaitOver(err error) (over bool, failure error) {
	if err == nil {
		return false, nil
	}
	if code, known := mongoerr.CodeOf(err); known && code != mongoerr.MaxTimeMSExpired {
		return true, err
	}
	return true, nil
}

// project projects documents and applies the limit.
func (t *tail) project(docs []bson.Raw) ([]bson.Raw, error) {
	if t.remaining >= 0 {
		docs = docs[:min(t.remaining, int64(len(docs)))]
		t.remaining -= int64(len(docs))
	}
	docs = slices.Clone(docs)
	for i, doc := range docs {
		out, err := t.query.Projection.Apply(doc)
		if err != nil {
			return nil, err
		}
		docs[i] = out
	}
	return docs, nil
}
