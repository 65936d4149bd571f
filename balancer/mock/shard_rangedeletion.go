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

// RangeDeleter deletes the orphans of shards.
type RangeDeleter struct {
	*setup
	clock      *clock.Clock
	faults     *Faults
	failPoints *FailPoints
	shards     shardSet
	// readers are the cursors that are open, and opened is how many ever were.
	readers map[*Reader]struct{}
	opened  int
}

// RangeDeleter is that of the cluster.
func (c *Cluster) RangeDeleter() *RangeDeleter { return c.deleter }

type deletionTiming uint8

const (
	deletionDelayed deletionTiming = iota // after orphanCleanupDelaySecs
	deletionNow
)

// rangeDeletion is a range deletion task (rules/02-migration-and-metadata §5.4 and §5.6): documents
// in a range that a shard does not own, or will not.
type rangeDeletion struct {
	coll     deletionTarget
	min, max catalog.Key
	timing   deletionTiming
	// orphans is the number of documents that are still to be deleted.
	orphans int64
	// ready: its migration is decided, and the shard knows it.
	ready bool
	// begun: the first batch was, or is about to be, deleted.
	begun bool
	// donor is the shard that the migration came from, at when it began.
	donor          catalog.ShardID
	migrationStart bson.Timestamp
}

// deletionTarget is what a range deletion knows of its collection.
type deletionTarget struct {
	Namespace string
	UUID      bson.Binary
	Pattern   catalog.KeyPattern
}

func newDeletionTarget(coll catalog.Collection) deletionTarget {
	return deletionTarget{coll.Namespace, coll.UUID, coll.Pattern}
}

func (s *shard) addDeletion(m *migration, when deletionTiming) *rangeDeletion {
	task := &rangeDeletion{
		coll:           newDeletionTarget(m.coll),
		min:            m.min,
		max:            m.max,
		timing:         when,
		donor:          m.req.From,
		migrationStart: m.startedAt,
	}
	s.currentDeletionIndex().add(task)
	s.deletions = append(s.deletions, task)
	s.deletionsChanged = true
	return task
}

func (s *shard) removeDeletion(task *rangeDeletion) {
	if i := slices.Index(s.deletions, task); i >= 0 {
		s.currentDeletionIndex().remove(task)
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
	if task.timing == deletionDelayed {
		delay = rd.parameters.Seconds("orphanCleanupDelaySecs")
	}
	rd.delete(s, task, delay, nil)
}

// delete deletes a task's documents in batches, removes the task and
// calls then, if there is one.
func (rd *RangeDeleter) delete(s *shard, task *rangeDeletion, delay time.Duration, then func()) {
	task.ready = true
	rd.scheduleBatch(delay, s, task, then)
}

// deletionRetry is when a task is taken up again that panicked.
const deletionRetry = time.Minute

// scheduleBatch deletes the next batch in d. Should that panic, whoever waits goes on,
// and the task is tried again later.
func (rd *RangeDeleter) scheduleBatch(d time.Duration, s *shard, task *rangeDeletion, then func()) {
	run := func() {
		rd.clock.Attempt("a range deletion", func() { rd.deleteBatch(s, task, then) }, func(error) {
			rd.scheduleBatch(deletionRetry, s, task, nil)
			if then != nil {
				then()
			}
		})
	}
	rd.clock.After(d, func() { rd.failPoints.pass(suspendRangeDeletion, s.id, run) })
}

func (rd *RangeDeleter) deleteBatch(s *shard, task *rangeDeletion, then func()) {
	if s.down {
		rd.scheduleBatch(deletionPoll, s, task, then)
		return
	}
	deleted := 0
	local := s.colls[task.coll.Namespace]
	// The task is gone when the collection was dropped.
	if slices.Contains(s.deletions, task) && local != nil && local.uuid.Equal(task.coll.UUID) {
		rd.applyToSecondaries(s, task)
		deleted = rd.deleteDocuments(s, local, task)
	}
	task.orphans = max(0, task.orphans-int64(deleted))
	if deleted > 0 {
		rd.scheduleBatch(rd.parameters.Milliseconds("rangeDeleterBatchDelayMS"), s, task, then)
		return
	}
	// The task goes when a majority of the shard's nodes has deleted the range.
	if behind := rd.faults.majorityLag(s.id); behind > 0 {
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

// UnreadyDeletions counts those whose migration is not decided, or whose shard does not know it.
func (st *Statistics) UnreadyDeletions(id catalog.ShardID) int { return st.shards[id].countUnready() }

func (s *shard) countUnready() (n int) {
	for _, task := range s.deletions {
		if !task.ready {
			n++
		}
	}
	return n
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
			Min: p.Bound(task.min), Max: p.Bound(task.max), Now: task.timing == deletionNow,
			Pending: !task.ready,
			Orphans: task.orphans, At: task.migrationStart,
		})
	}
	return list
}

// deleteDocuments deletes one batch and returns how many documents it held.
func (rd *RangeDeleter) deleteDocuments(s *shard, local *localCollection, task *rangeDeletion) int {
	limit := int(rd.parameters.Int("rangeDeleterBatchSize"))
	limit = cmp.Or(limit, math.MaxInt32)
	if local.docs.Count() == 0 {
		return 0 // as where its data are virtual
	}
	var records []store.RecordID
	for record := range local.documentsInRange(task.coll.Pattern, task.min, task.max) {
		records = append(records, record)
		if len(records) == limit {
			break
		}
	}
	local.fileBytes = local.storedBytes()
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

// deletionIndex finds range deletions by their ranges. The tasks of a shard do
// not overlap, as data comes into no range that waits for its deletion; should
// some do all the same, all are looked at. The zero value has to be made.
type deletionIndex struct {
	tasks    []*rangeDeletion // by collection and lower bound
	disjoint bool             // no two overlap
}

// deletionRange is a range of a collection.
type deletionRange struct {
	uuid     bson.Binary
	min, max catalog.Key
}

func (t *rangeDeletion) span() deletionRange { return deletionRange{t.coll.UUID, t.min, t.max} }

func compareDeletions(a, b *rangeDeletion) int { return a.compareStart(b.span()) }

// compareStart compares where a task begins with where a range does.
func (t *rangeDeletion) compareStart(r deletionRange) int {
	if order := bytes.Compare(t.coll.UUID.Data, r.uuid.Data); order != 0 {
		return order
	}
	return t.min.Compare(r.min)
}

// currentDeletionIndex returns the current index. Code that changes the bounds of tasks must empty
// it.
func (s *shard) currentDeletionIndex() *deletionIndex {
	o := &s.deletionsByRange
	if len(s.deletions) == 0 {
		*o = deletionIndex{tasks: o.tasks[:0], disjoint: true}
		return o
	}
	if len(o.tasks) != len(s.deletions) || len(o.tasks) == 0 {
		o.tasks, o.disjoint = slices.SortedStableFunc(slices.Values(s.deletions), compareDeletions), true
		for i := 1; i < len(o.tasks); i++ {
			o.disjoint = o.disjoint && !o.tasks[i].overlaps(o.tasks[i-1].span())
		}
	}
	return o
}

func (o *deletionIndex) add(task *rangeDeletion) {
	keys := task.span()
	i, found := o.find(keys)
	o.disjoint = o.disjoint && !found && (i == 0 || !o.tasks[i-1].overlaps(keys)) &&
		(i == len(o.tasks) || !o.tasks[i].overlaps(keys))
	o.tasks = slices.Insert(o.tasks, i, task)
}

// find returns the place of a task that begins where a range does, and whether there
// is one. Shards give their chunks away in key order: nearly always it comes last.
func (o *deletionIndex) find(r deletionRange) (i int, found bool) {
	if n := len(o.tasks); n == 0 || o.tasks[n-1].compareStart(r) < 0 {
		return n, false
	}
	return slices.BinarySearchFunc(o.tasks, r, (*rangeDeletion).compareStart)
}

func (o *deletionIndex) remove(task *rangeDeletion) {
	if o.disjoint && len(o.tasks) > 1 && o.tasks[0] == task { // as nearly always: nothing has to move
		o.tasks[0], o.tasks = nil, o.tasks[1:]
		return
	}
	if i, _ := o.find(task.span()); o.disjoint && i < len(o.tasks) && o.tasks[i] == task {
		o.tasks = slices.Delete(o.tasks, i, i+1)
		return
	}
	*o = deletionIndex{} // to be made again
}

func (t *rangeDeletion) overlaps(r deletionRange) bool {
	return catalog.Overlap(t.min, t.max, r.min, r.max) && t.coll.UUID.Equal(r.uuid)
}

// overlappingDeletion finds a task, decided or not, that shares keys with the
// range: no data may come into such a range.
func (s *shard) overlappingDeletion(asked deletionRange) *rangeDeletion {
	o := s.currentDeletionIndex()
	if !o.disjoint {
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
