package mock

import (
	"slices"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// A secondary carries out the range deletions of its primary, whatever its own cursors read: the primary knows
// nothing of those. Up to 8.1 a query that began before the range was given away then goes on without the
// documents, and without an error; from 8.2 on it is killed (rules/02-migration-and-metadata §5.6).

// SecondaryRead is what a read of secondaries has lost since it began.
type SecondaryRead struct {
	// tables are those by which the shards owned documents when it began.
	tables   map[catalog.ShardID]*catalog.RoutingTable
	killable bool // it is killed, and loses nothing
	killed   atomic.Bool
	// gone are the ranges that were deleted. Who reads them does not hold the lock.
	gone atomic.Pointer[[]goneRange]
}

type goneRange struct {
	pattern  catalog.KeyPattern
	min, max catalog.Key
}

func (g goneRange) has(doc bson.Raw) bool {
	key, err := g.pattern.DocumentKey(doc)
	return err == nil && !key.Less(g.min) && (key.Less(g.max) || g.max.Equal(g.pattern.GlobalMax()))
}

// FromSecondaries has the reads of a request go to secondaries, also where those are not behind.
func (rq *Request) FromSecondaries() {
	if rq.secondary != nil {
		return // what else the request reads ends with its first batch
	}
	release := rq.env.config.fcv.applyTo(rq.env.release)
	rq.secondary = &SecondaryRead{
		tables:   map[catalog.ShardID]*catalog.RoutingTable{},
		killable: rq.env.bugs.FixSecondaryReads || release.EndsReadsOfOrphans() && release.AtLeast(catalog.Release82),
	}
}

// addTarget notes a part of the read, and reports whether it is one: of the collection that was read first.
func (r *SecondaryRead) addTarget(t target) bool {
	if r == nil || t.table == nil {
		return false
	}
	if r.tables[t.shard.id] == nil {
		r.tables[t.shard.id] = t.table
	}
	return r.tables[t.shard.id] == t.table
}

// LostOnSecondaries returns what the reads of the request lose; nil where they go to primaries.
func (rq *Request) LostOnSecondaries() *SecondaryRead { return rq.secondary }

// Failed returns why a read can't go on; nil if it can. A nil SecondaryRead is one of primaries.
func (r *SecondaryRead) Failed() error {
	if r == nil || !r.killed.Load() {
		return nil
	}
	return mongoerr.New(mongoerr.QueryPlanKilled, "Read has been terminated due to orphan range cleanup")
}

// stillHas reports whether a document is still there.
func (r *SecondaryRead) stillHas(doc bson.Raw) bool {
	if r == nil {
		return true
	}
	gone := r.gone.Load()
	return gone == nil || !slices.ContainsFunc(*gone, func(g goneRange) bool { return g.has(doc) })
}

// applyToSecondaries has the reads of a shard's secondaries lose a range that is about to be deleted.
func (rd *RangeDeleter) applyToSecondaries(s *shard, task *rangeDeletion) {
	if task.begun {
		return
	}
	task.begun = true
	var reads []*SecondaryRead
	for r := range rd.readers {
		if r.secondary.ownedByShard(s.id, task) && r.ns == task.coll.Namespace {
			reads = append(reads, r.secondary)
		}
	}
	ends := rd.bugs.FixSecondaryReads || rd.release.EndsReadsOfOrphans() &&
		rd.parameters.Int("terminateSecondaryReadsOnOrphanCleanup") != 0
	gone := goneRange{task.coll.Pattern, task.min, task.max}
	lose := func() {
		for _, r := range reads {
			r.lose(gone, ends)
		}
	}
	if behind := rd.faults.slow[s.id].Secondary; behind > 0 {
		rd.clock.After(behind, lose)
		return
	}
	lose()
}

// ownedByShard reports whether a shard owned some of a range when the read began.
func (r *SecondaryRead) ownedByShard(id catalog.ShardID, task *rangeDeletion) bool {
	return r != nil && r.tables[id] != nil && slices.Contains(r.tables[id].OwnersIn(task.min, task.max), id)
}

func (r *SecondaryRead) lose(g goneRange, ends bool) {
	if r.killable && ends {
		r.killed.Store(true)
		return
	}
	gone := []goneRange{g}
	if before := r.gone.Load(); before != nil {
		gone = append(gone, *before...)
	}
	r.gone.Store(&gone)
}
