package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// Tail is a place in a capped collection, from which later documents are read.
// It is the caller's; the cluster's lock guards it.
type Tail struct {
	ns   string
	uuid bson.Binary
	last store.RecordID
}

// StartTail is a tail behind what a capped collection holds now. There is none
// (nil) of a collection that is empty or does not exist: the server's cursors of
// these are at their end for good.
func (cs *Collections) StartTail(ns string) (*Tail, error) {
	l := cs.tailed(ns)
	if l == nil {
		return nil, nil
	}
	if l.maxBytes == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "error processing query: ns=%s: tailable cursor requested on non capped collection", ns)
	}
	if l.docs.Count() == 0 {
		return nil, nil
	}
	return &Tail{ns: ns, uuid: l.uuid, last: l.docs.Last()}, nil
}

// tailed is the collection on the one shard that has it.
func (cs *Collections) tailed(ns string) *localCollection {
	targets := cs.c.targets(ns, nil)
	if len(targets) != 1 || targets[0].shard == nil {
		return nil
	}
	return targets[0].shard.colls[ns]
}

// ReadTail gives the documents that have come since the last call and match.
// It fails when the collection is gone (QueryPlanKilled) or has dropped
// documents that were not read (CappedPositionLost).
func (rq *Request) ReadTail(t *Tail, filter *store.Filter) ([]bson.Raw, error) {
	l := rq.c.collections.tailed(t.ns)
	if l == nil || !l.uuid.Equal(t.uuid) {
		return nil, mongoerr.New(mongoerr.QueryPlanKilled, "collection dropped. UUID %x", t.uuid.Data)
	}
	if err := rq.Ask(t.ns, nil); err != nil {
		return nil, err
	}
	if t.last == l.docs.Last() {
		return nil, nil
	}
	if _, there := l.docs.Get(t.last); !there {
		return nil, mongoerr.New(mongoerr.CappedPositionLost, "CollectionScan died due to position in capped collection being deleted. Last seen record id: RecordId(%d)", t.last)
	}
	var docs []bson.Raw
	for id, doc := range l.docs.After(t.last) {
		t.last = id
		matches, err := filter.Test(doc)
		if err != nil {
			return nil, err
		}
		if matches {
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

// TailGrown tells whether there may be something to read, or a reason why not.
func (cs *Collections) TailGrown(t *Tail) bool {
	l := cs.tailed(t.ns)
	return l == nil || !l.uuid.Equal(t.uuid) || l.docs.Last() != t.last
}

// wakeTails lets those look again who wait for a capped collection to grow.
func (cs *Collections) wakeTails(l *localCollection) {
	if l.maxBytes > 0 {
		cs.c.cond.Broadcast()
	}
}
