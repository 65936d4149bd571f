package sim

import (
	"slices"
	"sort"
	"time"

	"github.com/tidwall/btree"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// deletion is a pending range deletion of a shard, and the time when it is done.
type deletion struct {
	min, max catalog.Key
	doneAt   time.Time
	amount   Amount
}

// deletions are the pending deletions of a collection on a shard.
type deletions struct {
	byKey *btree.BTreeG[*deletion]
	byEnd []*deletion // sorted by doneAt
}

func newDeletions() *deletions {
	less := func(a, b *deletion) bool { return a.min.Less(b.min) }
	return &deletions{byKey: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

func (d *deletions) add(x *deletion) {
	d.byKey.Set(x)
	// A small range that came later may be deleted earlier.
	at := sort.Search(len(d.byEnd), func(i int) bool { return d.byEnd[i].doneAt.After(x.doneAt) })
	d.byEnd = slices.Insert(d.byEnd, at, x)
}

// expire removes the deletions that are done by now.
func (d *deletions) expire(now time.Time, onExpired func(*deletion)) {
	n := 0
	for ; n < len(d.byEnd) && !d.byEnd[n].doneAt.After(now); n++ {
		if have, ok := d.byKey.Get(d.byEnd[n]); ok && have == d.byEnd[n] {
			d.byKey.Delete(have)
		}
		onExpired(d.byEnd[n])
	}
	d.byEnd = d.byEnd[n:]
}

// lastOverlapEnd returns the time when the last deletion that overlaps [lower, upper) is done, the zero
// time if there is none.
func (d *deletions) lastOverlapEnd(lower, upper catalog.Key) (last time.Time) {
	note := func(x *deletion) {
		if catalog.Overlap(lower, upper, x.min, x.max) && x.doneAt.After(last) {
			last = x.doneAt
		}
	}
	d.byKey.Descend(&deletion{min: lower}, func(x *deletion) bool {
		note(x)
		return false
	})
	d.byKey.Ascend(&deletion{min: lower}, func(x *deletion) bool {
		note(x)
		return x.min.Less(upper)
	})
	return last
}

// leaveOrphans keeps the moved data on the donor until its range deletion.
func (c *cluster) leaveOrphans(coll *collection, m policy.Migration, lower, upper catalog.Key, amount Amount) {
	now := c.queue.Now()
	takes := c.costs.transferTime(amount.Bytes, c.costs.DeleteBytesPerSecond)
	if c.settings.WaitForDelete || c.costs.OrphanDelay+takes == 0 {
		coll.stored[m.From] = coll.stored[m.From].minus(amount)
		c.scheduleSpaceRelease(coll, m.From, now, amount.Bytes)
		return
	}
	gone := now.Add(c.costs.OrphanDelay + takes)
	c.scheduleSpaceRelease(coll, m.From, gone, amount.Bytes)
	coll.deletionsOf(m.From).add(&deletion{min: lower, max: upper, doneAt: gone, amount: amount})
}

func (coll *collection) deletionsOf(id catalog.ShardID) *deletions {
	d := coll.deletions[id]
	if d == nil {
		d = newDeletions()
		coll.deletions[id] = d
	}
	return d
}

// deletionWait returns how long a migration waits for range deletions on its two shards that overlap its
// range. If the error is not nil, the migration fails after that time (rules/02-migration-and-metadata
// §5.3 and §5.4).
func (c *cluster) deletionWait(coll *collection, m policy.Migration, lower, upper catalog.Key) (time.Duration, error) {
	now := c.queue.Now()
	var wait time.Duration
	for _, id := range []catalog.ShardID{m.From, m.To} {
		d := coll.deletions[id]
		if d == nil {
			continue
		}
		d.expire(now, func(x *deletion) { coll.stored[id] = coll.stored[id].minus(x.amount) })
		last := d.lastOverlapEnd(lower, upper)
		if last.IsZero() {
			continue
		}
		left := last.Sub(now)
		if left > c.costs.MaxDeletionWait {
			err := mongoerr.New(mongoerr.ExceededTimeLimit, policy.OrphansNotCleared)
			if id == m.To {
				err = mongoerr.New(mongoerr.OperationFailed,
					"Data transfer error: migrate failed: %s: %s", err.CodeName(), err.Message)
			}
			return c.costs.MaxDeletionWait, err
		}
		wait = max(wait, left)
	}
	return wait, nil
}

// adoptDeletions adopts the range deletions in the snapshot.
func (c *cluster) adoptDeletions(parts catalog.SnapshotParts) {
	last := map[collectionOnShard]time.Time{}
	defer func() { c.scheduleOrphanRemoval(last) }()
	for _, x := range parts.Deletions {
		coll := c.collections[x.Namespace]
		if coll == nil || coll.isOutlineOnly() || !coll.entry.UUID.Equal(x.UUID) {
			continue
		}
		lower, errLower := coll.entry.Pattern.ParseKey(x.Min)
		upper, errUpper := coll.entry.Pattern.ParseKey(x.Max)
		if errLower != nil || errUpper != nil {
			continue
		}
		gone := DeletionDue(x, parts.Time, c.costs.OrphanDelay)
		coll.deletionsOf(x.Shard).add(&deletion{min: lower, max: upper, doneAt: gone})
		if at := (collectionOnShard{coll, x.Shard}); last[at].Before(gone) {
			last[at] = gone
		}
	}
}

// DeletionDue returns when a range deletion in a snapshot is due. The time is never in the past, because
// the deletion is still pending.
func DeletionDue(x catalog.RangeDeletion, now time.Time, delay time.Duration) time.Time {
	gone := now
	if x.Delayed {
		if x.Timestamp.T > 0 {
			gone = time.Unix(int64(x.Timestamp.T), 0).UTC()
		}
		gone = gone.Add(delay)
	}
	if gone.Before(now) {
		return now
	}
	return gone
}
