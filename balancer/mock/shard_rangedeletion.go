package mock

import (
	"context"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

type whenToDelete uint8

const (
	deletionDelayed whenToDelete = iota // after orphanCleanupDelaySecs
	deletionNow
)

// rangeDeletion is a range deletion task (spec 02 §5.4 and §5.6): documents
// in a range that a shard does not own, or will not.
type rangeDeletion struct {
	coll     catalog.Collection
	min, max catalog.Key
	when     whenToDelete
	// orphans is the number of documents that are still to be deleted.
	orphans int64
}

func (s *shard) addDeletion(m *migration, when whenToDelete) *rangeDeletion {
	task := &rangeDeletion{coll: m.coll, min: m.min, max: m.max, when: when}
	s.order().add(task)
	s.deletions = append(s.deletions, task)
	s.deletionsChanged = true
	return task
}

func (s *shard) removeDeletion(task *rangeDeletion) {
	if i := slices.Index(s.deletions, task); i >= 0 {
		s.order().remove(task)
		s.deletions = slices.Delete(s.deletions, i, i+1)
	}
	s.deletionsChanged = true
}

// scheduleDeletion makes a task ready: a delayed one waits, so that queries
// that still read the range can end.
func (c *Cluster) scheduleDeletion(s *shard, task *rangeDeletion) {
	var delay time.Duration
	if task.when == deletionDelayed {
		delay = c.parameters.Seconds("orphanCleanupDelaySecs")
	}
	c.deleteRange(s, task, delay, nil)
}

// deleteRange deletes a task's documents in batches, removes the task and
// calls then, if there is one.
func (c *Cluster) deleteRange(s *shard, task *rangeDeletion, delay time.Duration, then func()) {
	c.after(delay, func() { c.deleteBatch(s, task, then) })
}

func (c *Cluster) deleteBatch(s *shard, task *rangeDeletion, then func()) {
	if s.down {
		c.after(deletionPoll, func() { c.deleteBatch(s, task, then) })
		return
	}
	deleted := 0
	local := s.colls[task.coll.Namespace]
	// The task is gone when the collection was dropped.
	if slices.Contains(s.deletions, task) && local != nil && local.uuid.Equal(task.coll.UUID) {
		deleted = c.deleteSome(s, local, task)
	}
	task.orphans = max(0, task.orphans-int64(deleted))
	if deleted > 0 {
		c.after(c.parameters.Milliseconds("rangeDeleterBatchDelayMS"), func() { c.deleteBatch(s, task, then) })
		return
	}
	s.removeDeletion(task)
	if then != nil {
		then()
	}
}

// ScheduledDeletions counts the range deletion tasks of a shard.
func (c *Cluster) ScheduledDeletions(id catalog.ShardID) int { return len(c.shards[id].deletions) }

// deleteSome deletes one batch and tells how many documents it held.
func (c *Cluster) deleteSome(s *shard, local *localCollection, task *rangeDeletion) int {
	limit := int(c.parameters.Int("rangeDeleterBatchSize"))
	if limit == 0 {
		limit = maxInt32
	}
	var records []store.RecordID
	for record := range local.inRange(task.coll.Pattern, task.min, task.max) {
		records = append(records, record)
		if len(records) == limit {
			break
		}
	}
	before := local.docs.Bytes()
	for _, record := range records {
		local.docs.Delete(record)
	}
	s.counters.deletedDocs += int64(len(records))
	s.counters.deletedBytes += before - local.docs.Bytes()
	return len(records)
}

// AwaitDeletions blocks until a shard has no range of a collection to delete.
func (c *Cluster) AwaitDeletions(ctx context.Context, deadline time.Time, id catalog.ShardID, ns string) error {
	if c.parameters.Int("disableResumableRangeDeleter") != 0 {
		return mongoerr.New(mongoerr.ResumableRangeDeleterDisabled, "Failing cleanupOrphaned because the disableResumableRangeDeleter server parameter is set to true")
	}
	return c.Await(ctx, deadline, func() bool {
		s := c.shards[id]
		return s == nil || !slices.ContainsFunc(s.deletions, func(task *rangeDeletion) bool { return task.coll.Namespace == ns })
	})
}
