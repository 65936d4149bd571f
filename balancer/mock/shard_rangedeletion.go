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
	*clusterSettings
	clock      *clock.Clock
	faults     *Faults
	failPoints *FailPoints
	shards     shardSet
	// cursors are the open cursors; openedCursors is the number of cursors ever opened.
	cursors       map[*OpenCursor]struct{}
	openedCursors int
}

// RangeDeleter returns the RangeDeleter of the cluster.
func (c *Cluster) RangeDeleter() *RangeDeleter { return c.deleter }

type deletionTiming uint8

const (
	deletionDelayed deletionTiming = iota // after orphanCleanupDelaySecs
	deletionNow
)

// rangeDeletion is a range deletion task (rules/02-migration-and-metadata §5.4 and §5.6): documents in a
// range that the shard does not own or will not own.
type rangeDeletion struct {
	coll     deletionTarget
	min, max catalog.Key
	timing   deletionTiming
	// orphans is the number of documents that remain to be deleted.
	orphans int64
	// ready reports whether the migration is decided and the shard knows the decision.
	ready bool
	// begun reports whether the deletion of the first batch has begun.
	begun bool
	// donor is the donor of the migration, migrationStart the start of the migration.
	donor          catalog.ShardID
	migrationStart bson.Timestamp
}

// deletionTarget identifies the collection of a range deletion.
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
		if i == 0 && len(s.deletions) > 1 { // the usual case: no copy needed
			s.deletions[0], s.deletions = nil, s.deletions[1:]
		} else {
			s.deletions = slices.Delete(s.deletions, i, i+1)
		}
	}
	s.deletionsChanged = true
}

// schedule makes a task ready. A delayed task waits so that queries that still read the range can end.
func (rd *RangeDeleter) schedule(s *shard, task *rangeDeletion) {
	var delay time.Duration
	if task.timing == deletionDelayed {
		delay = rd.parameters.Seconds("orphanCleanupDelaySecs")
	}
	rd.scheduleDeletion(s, task, delay, nil)
}

// scheduleDeletion deletes a task's documents in batches and removes the task. Then it calls then, if it
// is not nil.
func (rd *RangeDeleter) scheduleDeletion(s *shard, task *rangeDeletion, delay time.Duration, then func()) {
	task.ready = true
	rd.scheduleBatch(delay, s, task, then)
}

// deletionRetry is the delay before a task is retried after a panic.
const deletionRetry = time.Minute

// scheduleBatch deletes the next batch in d. After a panic, waiters continue and the task is retried
// later.
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
	// The task no longer exists if the collection was dropped.
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

// UnreadyDeletionCount returns the number of tasks whose migration is undecided or whose shard does not know
// the decision.
func (st *Statistics) UnreadyDeletionCount(id catalog.ShardID) int {
	return st.shards[id].countUnready()
}

func (s *shard) countUnready() (n int) {
	for _, task := range s.deletions {
		if !task.ready {
			n++
		}
	}
	return n
}

// DeletionTask is a range deletion task in the shard's format.
type DeletionTask struct {
	Namespace      string
	UUID           bson.Binary
	Donor          catalog.ShardID
	Key            bson.Raw // the shard key
	Min, Max       bson.Raw
	Immediate      bool // no delay for running queries
	Pending        bool // the migration is in progress and undecided
	Orphans        int64
	MigrationStart bson.Timestamp
}

// Tasks returns a shard's tasks in the order of their creation.
func (rd *RangeDeleter) Tasks(id catalog.ShardID) []DeletionTask {
	s := rd.shards[id]
	if s == nil {
		return nil
	}
	var list []DeletionTask
	for _, task := range s.deletions {
		p := task.coll.Pattern
		list = append(list, DeletionTask{
			Namespace: task.coll.Namespace, UUID: task.coll.UUID, Donor: task.donor, Key: p.Doc(),
			Min: p.Bound(task.min), Max: p.Bound(task.max), Immediate: task.timing == deletionNow,
			Pending: !task.ready,
			Orphans: task.orphans, MigrationStart: task.migrationStart,
		})
	}
	return list
}

// deleteDocuments deletes one batch and returns the number of deleted documents.
func (rd *RangeDeleter) deleteDocuments(s *shard, local *localCollection, task *rangeDeletion) int {
	limit := int(rd.parameters.Int("rangeDeleterBatchSize"))
	limit = cmp.Or(limit, math.MaxInt32)
	if local.docs.Count() == 0 {
		return 0 // for example if all data is virtual
	}
	var records []store.RecordID
	for record := range local.documentsInRange(task.coll.Pattern, task.min, task.max) {
		records = append(records, record)
		if len(records) == limit {
			break
		}
	}
	local.fileBytes = local.storageSize()
	before := local.docs.Bytes()
	for _, record := range records {
		local.docs.Delete(record)
	}
	s.counters.deletedDocs += int64(len(records))
	s.counters.deletedBytes += before - local.docs.Bytes()
	return len(records)
}

// Await blocks until a shard has no range deletions of a collection.
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

// deletionIndex finds range deletions by range. The tasks of a shard do not overlap, because no data
// enters a range with a pending deletion. If some tasks overlap nevertheless, all tasks are searched.
// The zero value must be built before use.
type deletionIndex struct {
	tasks    []*rangeDeletion // sorted by collection and lower bound
	disjoint bool             // no two tasks overlap
}

// deletionRange is a range of a collection.
type deletionRange struct {
	uuid     bson.Binary
	min, max catalog.Key
}

func (d *rangeDeletion) span() deletionRange { return deletionRange{d.coll.UUID, d.min, d.max} }

func compareDeletions(a, b *rangeDeletion) int { return a.compareStart(b.span()) }

// compareStart compares the beginning of a task with the beginning of a range.
func (d *rangeDeletion) compareStart(r deletionRange) int {
	if order := bytes.Compare(d.coll.UUID.Data, r.uuid.Data); order != 0 {
		return order
	}
	return d.min.Compare(r.min)
}

// currentDeletionIndex returns the up-to-date index. Code that changes the bounds of tasks must reset
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

func (d *deletionIndex) add(task *rangeDeletion) {
	keys := task.span()
	i, found := d.find(keys)
	d.disjoint = d.disjoint && !found && (i == 0 || !d.tasks[i-1].overlaps(keys)) &&
		(i == len(d.tasks) || !d.tasks[i].overlaps(keys))
	d.tasks = slices.Insert(d.tasks, i, task)
}

// find returns the index of the task that begins where a range begins, and whether there is one. Shards
// donate chunks in key order, so the result is nearly always the end.
func (d *deletionIndex) find(r deletionRange) (i int, found bool) {
	if n := len(d.tasks); n == 0 || d.tasks[n-1].compareStart(r) < 0 {
		return n, false
	}
	return slices.BinarySearchFunc(d.tasks, r, (*rangeDeletion).compareStart)
}

func (d *deletionIndex) remove(task *rangeDeletion) {
	if d.disjoint && len(d.tasks) > 1 && d.tasks[0] == task { // the usual case: no copy needed
		d.tasks[0], d.tasks = nil, d.tasks[1:]
		return
	}
	if i, _ := d.find(task.span()); d.disjoint && i < len(d.tasks) && d.tasks[i] == task {
		d.tasks = slices.Delete(d.tasks, i, i+1)
		return
	}
	*d = deletionIndex{} // to be rebuilt
}

func (d *rangeDeletion) overlaps(r deletionRange) bool {
	return catalog.Overlap(d.min, d.max, r.min, r.max) && d.coll.UUID.Equal(r.uuid)
}

// overlappingDeletion returns a task, decided or not, that overlaps the range. No data may enter such a
// range.
func (s *shard) overlappingDeletion(asked deletionRange) *rangeDeletion {
	o := s.currentDeletionIndex()
	if !o.disjoint {
		if i := slices.IndexFunc(o.tasks, func(t *rangeDeletion) bool { return t.overlaps(asked) }); i >= 0 {
			return o.tasks[i]
		}
		return nil
	}
	// The last task that begins below the end of the range.
	i, _ := o.find(deletionRange{uuid: asked.uuid, min: asked.max})
	if i > 0 && o.tasks[i-1].overlaps(asked) {
		return o.tasks[i-1]
	}
	return nil
}
