package mock

import (
	"slices"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// A secondary executes the range deletions of its primary regardless of its own cursors, because the
// primary does not know them. Up to 8.1 a query that began before the range was donated continues
// without the documents and without an error. Since 8.2 it is killed (rules/02-migration-and-metadata
// §5.6).

// SecondaryRead tracks the documents that a read from secondaries has lost since it began.
type SecondaryRead struct {
	// tables holds the routing tables by which the shards owned documents when the read began.
	tables   map[catalog.ShardID]*catalog.RoutingTable
	killable bool // a loss kills the read
	killed   atomic.Bool
	// deletedRanges holds the deleted ranges. It is read without the lock.
	deletedRanges atomic.Pointer[[]deletedRange]
}

type deletedRange struct {
	pattern  catalog.KeyPattern
	min, max catalog.Key
}

func (g deletedRange) contains(doc bson.Raw) bool {
	key, err := g.pattern.DocumentKey(doc)
	return err == nil && !key.Less(g.min) && (key.Less(g.max) || g.max.Equal(g.pattern.GlobalMax()))
}

// ReadFromSecondaries makes the reads of a request use secondaries, even ones without lag.
func (rq *Request) ReadFromSecondaries() {
	if rq.secondary != nil {
		return // other reads of the request end with the first batch
	}
	release := rq.env.config.fcv.applyTo(rq.env.release)
	rq.secondary = &SecondaryRead{
		tables:   map[catalog.ShardID]*catalog.RoutingTable{},
		killable: rq.env.bugs.FixSecondaryReads || release.EndsReadsOfOrphans() && release.FCVAtLeast(catalog.Release82),
	}
}

// addTarget adds a part of the read. It returns false for targets of other collections than the first
// one.
func (r *SecondaryRead) addTarget(t target) bool {
	if r == nil || t.table == nil {
		return false
	}
	if r.tables[t.shard.id] == nil {
		r.tables[t.shard.id] = t.table
	}
	return r.tables[t.shard.id] == t.table
}

// SecondaryRead returns what tracks the losses of the request's reads, nil for reads from primaries.
func (rq *Request) SecondaryRead() *SecondaryRead { return rq.secondary }

// Err returns the error if the read was killed, else nil. A nil SecondaryRead belongs to primaries.
func (r *SecondaryRead) Err() error {
	if r == nil || !r.killed.Load() {
		return nil
	}
	return mongoerr.New(mongoerr.QueryPlanKilled, "Read has been terminated due to orphan range cleanup")
}

// stillHas reports whether a document was not deleted.
func (r *SecondaryRead) stillHas(doc bson.Raw) bool {
	if r == nil {
		return true
	}
	gone := r.deletedRanges.Load()
	return gone == nil || !slices.ContainsFunc(*gone, func(g deletedRange) bool { return g.contains(doc) })
}

// applyToSecondaries removes a range that is about to be deleted from the reads of the shard's
// secondaries.
func (rd *RangeDeleter) applyToSecondaries(s *shard, task *rangeDeletion) {
	if task.begun {
		return
	}
	task.begun = true
	var reads []*SecondaryRead
	for r := range rd.cursors {
		if r.secondary.readsRangeOn(s.id, task) && r.ns == task.coll.Namespace {
			reads = append(reads, r.secondary)
		}
	}
	ends := rd.bugs.FixSecondaryReads || rd.release.EndsReadsOfOrphans() &&
		rd.parameters.Int("terminateSecondaryReadsOnOrphanCleanup") != 0
	gone := deletedRange{task.coll.Pattern, task.min, task.max}
	lose := func() {
		for _, r := range reads {
			r.applyDeletion(gone, ends)
		}
	}
	if behind := rd.faults.slow[s.id].SecondaryLag; behind > 0 {
		rd.clock.After(behind, lose)
		return
	}
	lose()
}

// readsRangeOn reports whether a shard owned a part of the range when the read began.
func (r *SecondaryRead) readsRangeOn(id catalog.ShardID, task *rangeDeletion) bool {
	return r != nil && r.tables[id] != nil && slices.Contains(r.tables[id].OwnersIn(task.min, task.max), id)
}

func (r *SecondaryRead) applyDeletion(g deletedRange, kills bool) {
	if r.killable && kills {
		r.killed.Store(true)
		return
	}
	gone := []deletedRange{g}
	if before := r.deletedRanges.Load(); before != nil {
		gone = append(gone, *before...)
	}
	r.deletedRanges.Store(&gone)
}
