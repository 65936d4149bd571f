package mock

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// RangeDeleter deletes what shards hold and do not own.
type RangeDeleter struct {
	*setup
	clock  *clock.Clock
	faults *Faults
	pauses *Pauses
	shards shardSet
	// readers are the cursors that are open.
	readers map[*Reader]struct{}
}

// RangeDeleter is that of the cluster.
func (c *Cluster) RangeDeleter() *RangeDeleter { return c.deleter }

type whenToDelete uint8

const (
	deletionDelayed whenToDelete = iota // after orphanCleanupDelaySecs
	deletionNow
)

// rangeDeletion is a range deletion task (rules/02-migration-and-metadata §5.4 and §5.6): documents
// in a range that a shard does not own, or will not.
type rangeDeletion struct {
	coll     deletionTarget
	min, max catalog.Key
	when     whenToDelete
	// orphans is the number of documents that are still to be deleted.
	orphans int64
	// donor is the shard that the migration came from, at when it began.
	donor catalog.ShardID
	at    bson.Timestamp
}

// deletionTarget is what a range deletion knows of its collection.
type deletionTarget struct {
	Namespace string
	UUID      bson.Binary
	Pattern   catalog.KeyPattern
}

func deletionFrom(coll catalog.Collection) deletionTarget {
	return deletionTarget{coll.Namespace, coll.UUID, coll.Pattern}
}

func (s *shard) addDeletion(m *migration, when whenToDelete) *rangeDeletion {
	task := &rangeDeletion{coll: deletionFrom(m.coll), min: m.min, max: m.max, when: when, donor: m.req.From, at: m.at}
	s.order().add(task)
	s.deletions = append(s.deletions, task)
	s.deletionsChanged = true
	return task
}

func (s *shard) removeDeletion(task *rangeDeletion) {
	if i := slices.Index(s.deletions, task); i >= 0 {
		s.order().remove(task)
		if i == 0 && len(s.deletions) > 1 { // as nearly always: nothing has to move
			s.deletions[0], s.deletions = nil, s.deletions[1:]
		} else {
			s.deletions = slices.Delete(s.deletions, i, i+1)
		}
	}
	s.deletionsChanged = true
}

// schedule makes a task ready: a delayed one waits, so that queries
// that still read the range can end.
func (rd *RangeDeleter) schedule(s *shard, task *rangeDeletion) {
	var delay time.Duration
	if task.when == deletionDelayed {
		delay = rd.parameters.Seconds("orphanCleanupDelaySecs")
	}
	rd.delete(s, task, delay, nil)
}

// delete deletes a task's documents in batches, removes the task and
// calls then, if there is one.
func (rd *RangeDeleter) delete(s *shard, task *rangeDeletion, delay time.Duration, then func()) {
	rd.after(delay, s, task, then)
}

// deletionRetry is when a task is taken up again that panicked.
const deletionRetry = time.Minute

// after deletes the next batch in d. Should that panic, whoever waits goes on,
// and the task is tried again later.
func (rd *RangeDeleter) after(d time.Duration, s *shard, task *rangeDeletion, then func()) {
	run := func() {
		rd.clock.Attempt("a range deletion", func() { rd.deleteBatch(s, task, then) }, func(error) {
			rd.after(deletionRetry, s, task, nil)
			if then != nil {
				then()
			}
		})
	}
	rd.clock.After(d, func() { rd.pauses.at(suspendRangeDeletion, s.id, run) })
}

func (rd *RangeDeleter) deleteBatch(s *shard, task *rangeDeletion, then func()) {
	if s.down {
		rd.after(deletionPoll, s, task, then)
		return
	}
	deleted := 0
	local := s.colls[task.coll.Namespace]
	// The task is gone when the collection was dropped.
	if slices.Contains(s.deletions, task) && local != nil && local.uuid.Equal(task.coll.UUID) {
		deleted = rd.deleteSome(s, local, task)
	}
	task.orphans = max(0, task.orphans-int64(deleted))
	if deleted > 0 {
		rd.after(rd.parameters.Milliseconds("rangeDeleterBatchDelayMS"), s, task, then)
		return
	}
	// The task goes when a majority of the shard's nodes has deleted the range.
	if behind := rd.faults.behind(s.id); behind > 0 {
		rd.clock.After(behind, func() { s.endDeletion(task, then) })
		return
	}
	s.endDeletion(task, then)
}

func (s *shard) endDeletion(task *rangeDeletion, then func()) {
	s.removeDeletion(task)
	if then != nil {
		then()
	}
}

// ScheduledDeletions counts the range deletion tasks of a shard.
func (st *Statistics) ScheduledDeletions(id catalog.ShardID) int {
	return len(st.shards[id].deletions)
}

// PendingDeletion is a range deletion task as a shard keeps it.
type PendingDeletion struct {
	Namespace string
	UUID      bson.Binary
	Donor     catalog.ShardID
	Key       bson.Raw // the shard key
	Min, Max  bson.Raw
	Now       bool // without the delay that lets queries end
	Pending   bool // not decided yet: the migration is under way
	Orphans   int64
	At        bson.Timestamp
}

// Tasks lists a shard's tasks, in the order they were made.
func (rd *RangeDeleter) Tasks(id catalog.ShardID) []PendingDeletion {
	s := rd.shards[id]
	if s == nil {
		return nil
	}
	var list []PendingDeletion
	for _, task := range s.deletions {
		p := task.coll.Pattern
		list = append(list, PendingDeletion{
			Namespace: task.coll.Namespace, UUID: task.coll.UUID, Donor: task.donor, Key: p.Doc(),
			Min: p.Bound(task.min), Max: p.Bound(task.max), Now: task.when == deletionNow,
			Pending: s.busy != nil && (s.busy.donorTask == task || s.busy.recvTask == task),
			Orphans: task.orphans, At: task.at,
		})
	}
	return list
}

// deleteSome deletes one batch and returns how many documents it held.
func (rd *RangeDeleter) deleteSome(s *shard, local *localCollection, task *rangeDeletion) int {
	limit := int(rd.parameters.Int("rangeDeleterBatchSize"))
	limit = cmp.Or(limit, math.MaxInt32)
	if local.docs.Count() == 0 {
		return 0 // as where its data are virtual
	}
	var records []store.RecordID
	for record := range local.inRange(task.coll.Pattern, task.min, task.max) {
		records = append(records, record)
		if len(records) == limit {
			break
		}
	}
	local.file = local.stored()
	before := local.docs.Bytes()
	for _, record := range records {
		local.docs.Delete(record)
	}
	s.counters.deletedDocs += int64(len(records))
	s.counters.deletedBytes += before - local.docs.Bytes()
	return len(records)
}

// Await blocks until a shard has no range of a collection to delete.
func (rd *RangeDeleter) Await(ctx context.Context, deadline time.Time, id catalog.ShardID, ns string) error {
	if rd.parameters.Int("disableResumableRangeDeleter") != 0 {
		return mongoerr.New(mongoerr.ResumableRangeDeleterDisabled,
			"Failing cleanupOrphaned because the disableResumableRangeDeleter server parameter is set to true")
	}
	return rd.clock.Await(ctx, deadline, func() bool {
		s := rd.shards[id]
		return s == nil || !slices.ContainsFunc(s.deletions,
			func(task *rangeDeletion) bool { return task.coll.Namespace == ns })
	})
}

// deletionOrder finds range deletions by their ranges. The tasks of a shard do
// not overlap, as data comes into no range that waits for its deletion; should
// some do all the same, all are looked at. The zero value has to be made.
type deletionOrder struct {
	tasks []*rangeDeletion // by collection and lower bound
	apart bool             // no two overlap
}

// deletionRange is a range of a collection.
type deletionRange struct {
	uuid     bson.Binary
	min, max catalog.Key
}

func (t *rangeDeletion) keys() deletionRange { return deletionRange{t.coll.UUID, t.min, t.max} }

func byRange(a, b *rangeDeletion) int { return a.begins(b.keys()) }

// begins compares where a task begins with where a range does.
func (t *rangeDeletion) begins(r deletionRange) int {
	if order := bytes.Compare(t.coll.UUID.Data, r.uuid.Data); order != 0 {
		return order
	}
	return t.min.Compare(r.min)
}

// order is up to date but for bounds that have changed: who changes some empties
// it.
func (s *shard) order() *deletionOrder {
	o := &s.byRange
	if len(s.deletions) == 0 {
		*o = deletionOrder{tasks: o.tasks[:0], apart: true}
		return o
	}
	if len(o.tasks) != len(s.deletions) || len(o.tasks) == 0 {
		o.tasks, o.apart = slices.SortedStableFunc(slices.Values(s.deletions), byRange), true
		for i := 1; i < len(o.tasks); i++ {
			o.apart = o.apart && !o.tasks[i].overlaps(o.tasks[i-1].keys())
		}
	}
	return o
}

func (o *deletionOrder) add(task *rangeDeletion) {
	keys := task.keys()
	i, found := o.find(keys)
	o.apart = o.apart && !found && (i == 0 || !o.tasks[i-1].overlaps(keys)) &&
		(i == len(o.tasks) || !o.tasks[i].overlaps(keys))
	o.tasks = slices.Insert(o.tasks, i, task)
}

// find returns the place of a task that begins where a range does, and whether there
// is one. Shards give their chunks away in key order: nearly always it comes last.
func (o *deletionOrder) find(r deletionRange) (i int, found bool) {
	if n := len(o.tasks); n == 0 || o.tasks[n-1].begins(r) < 0 {
		return n, false
	}
	return slices.BinarySearchFunc(o.tasks, r, (*rangeDeletion).begins)
}

func (o *deletionOrder) remove(task *rangeDeletion) {
	if o.apart && len(o.tasks) > 1 && o.tasks[0] == task { // as nearly always: nothing has to move
		o.tasks[0], o.tasks = nil, o.tasks[1:]
		return
	}
	if i, _ := o.find(task.keys()); o.apart && i < len(o.tasks) && o.tasks[i] == task {
		o.tasks = slices.Delete(o.tasks, i, i+1)
		return
	}
	*o = deletionOrder{} // to be made again
}

func (t *rangeDeletion) overlaps(r deletionRange) bool {
	return t.min.Less(r.max) && r.min.Less(t.max) && t.coll.UUID.Equal(r.uuid)
}

// overlappingDeletion finds a task, decided or not, that shares keys with the
// range: no data may come into such a range.
func (s *shard) overlappingDeletion(asked deletionRange) *rangeDeletion {
	o := s.order()
	if !o.apart {
		if i := slices.IndexFunc(o.tasks, func(t *rangeDeletion) bool { return t.overlaps(asked) }); i >= 0 {
			return o.tasks[i]
		}
		return nil
	}
	// The last one that begins below the end of the range.
	i, _ := o.find(deletionRange{uuid: asked.uuid, min: asked.max})
	if i > 0 && o.tasks[i-1].overlaps(asked) {
		return o.tasks[i-1]
	}
	return nil
}
