package router

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

// awaitDefault is how long a getMore waits for documents when it does not say.
const awaitDefault = time.Second

// tail is what a tailable cursor goes on with at its end.
type tail struct {
	place *mock.Tail
	query query
	await bool
	// wanted is how many documents the limit leaves; negative without one.
	wanted int64
}

func (t *tail) awaits() bool { return t.await }

func (t *tail) streams() bool { return false }

// checkTailable checks the arguments of find that go with tailable.
func (c *call) checkTailable() error {
	if !c.args.Truth("tailable") {
		if c.args.Truth("awaitData") {
			return mongoerr.New(mongoerr.FailedToParse, "Cannot set 'awaitData' without also setting 'tailable'")
		}
		return nil
	}
	if c.args.Truth("singleBatch") {
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with the 'singleBatch' option")
	}
	sort := c.args.Object("sort")
	elems, _ := sort.Elements()
	if natural, _ := sort.Lookup("$natural").AsInt64OK(); len(elems) > 0 && natural != 1 {
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with a sort other than {$natural: 1}")
	}
	return nil
}

// startTail lets a cursor go on from the end of a capped collection as it is now, where
// there is one.
func startTail(c *call, open *cursor, q query) error {
	place, err := c.cluster.Collections().StartTail(q.ns)
	if err == nil && place != nil {
		open.more = &tail{place: place, query: q, await: c.args.Truth("awaitData"), wanted: -1}
	}
	return err
}

// limitTail takes off the limit of a tailable cursor what the find gave.
func limitTail(open *cursor, q query, found int) {
	t, is := open.more.(*tail)
	if !is || q.limit == 0 {
		return
	}
	if t.wanted = q.limit - int64(found); t.wanted <= 0 {
		open.more = nil
	}
}

// readMore adds to a cursor that has nothing left what has come meanwhile, and waits
// for that until maxTimeMS is over.
func readMore(c *call, open *cursor) error {
	if len(open.left) > 0 || open.rest != nil || open.more == nil {
		return nil
	}
	deadline := c.deadline
	if deadline.IsZero() {
		deadline = c.cluster.Now().Add(awaitDefault)
	}
	return open.more.read(c, open, deadline)
}

// read takes the documents that have come. Without any it waits for some, where it was
// asked to.
func (t *tail) read(c *call, open *cursor, deadline time.Time) error {
	for {
		docs, err := c.request.ReadTail(t.place, t.query.filter)
		if err != nil {
			return err
		}
		if len(docs) > 0 || !t.await || !c.cluster.Now().Before(deadline) {
			open.left, err = t.give(docs)
			if t.wanted == 0 {
				open.more = nil
			}
			return err
		}
		grown := func() bool { return c.cluster.Collections().TailGrown(t.place) }
		if over, err := waitIsOver(c.cluster.Await(c.ctx, deadline, grown)); over {
			return err
		}
	}
}

// waitIsOver reports whether a wait has ended without what it was for. That its
// time is over, or that nothing can happen any more, is no error.
func waitIsOver(err error) (over bool, failure error) {
	if err == nil {
		return false, nil
	}
	if code, known := mongoerr.CodeOf(err); known && code != mongoerr.MaxTimeMSExpired {
		return true, err
	}
	return true, nil
}

// give projects documents, and keeps to the limit.
func (t *tail) give(docs []bson.Raw) ([]bson.Raw, error) {
	if t.wanted >= 0 {
		docs = docs[:min(t.wanted, int64(len(docs)))]
		t.wanted -= int64(len(docs))
	}
	docs = slices.Clone(docs)
	for i, doc := range docs {
		out, err := t.query.projection.Apply(doc)
		if err != nil {
			return nil, err
		}
		docs[i] = out
	}
	return docs, nil
}
