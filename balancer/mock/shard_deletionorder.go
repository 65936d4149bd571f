package mock

import (
	"bytes"
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
)

// deletionOrder finds range deletions by their ranges. The tasks of a shard do
// not overlap, as data comes into no range that waits for its deletion; should
// some do all the same, all are looked at. The zero value has to be made.
type deletionOrder struct {
	tasks []*rangeDeletion // by collection and lower bound
	apart bool             // no two overlap
}

func byRange(a, b *rangeDeletion) int {
	return cmp.Or(bytes.Compare(a.coll.UUID.Data, b.coll.UUID.Data), a.min.Compare(b.min))
}

// order is up to date but for bounds that have changed: who changes some empties
// it.
func (s *shard) order() *deletionOrder {
	o := &s.byRange
	if len(o.tasks) != len(s.deletions) || len(o.tasks) == 0 {
		o.tasks, o.apart = slices.SortedStableFunc(slices.Values(s.deletions), byRange), true
		for i := 1; i < len(o.tasks); i++ {
			o.apart = o.apart && !o.tasks[i].overlaps(o.tasks[i-1])
		}
	}
	return o
}

func (o *deletionOrder) add(task *rangeDeletion) {
	i, found := slices.BinarySearchFunc(o.tasks, task, byRange)
	o.apart = o.apart && !found && (i == 0 || !task.overlaps(o.tasks[i-1])) && (i == len(o.tasks) || !task.overlaps(o.tasks[i]))
	o.tasks = slices.Insert(o.tasks, i, task)
}

func (o *deletionOrder) remove(task *rangeDeletion) {
	if i, _ := slices.BinarySearchFunc(o.tasks, task, byRange); o.apart && i < len(o.tasks) && o.tasks[i] == task {
		o.tasks = slices.Delete(o.tasks, i, i+1)
		return
	}
	*o = deletionOrder{} // to be made anew
}

func (t *rangeDeletion) overlaps(o *rangeDeletion) bool {
	return t.min.Less(o.max) && o.min.Less(t.max) && t.coll.UUID.Equal(o.coll.UUID)
}

// overlappingDeletion finds a task, decided or not, that shares keys with the
// range: no data may come into such a range.
func (s *shard) overlappingDeletion(coll catalog.Collection, min, max catalog.Key) *rangeDeletion {
	asked := &rangeDeletion{coll: coll, min: min, max: max}
	o := s.order()
	if !o.apart {
		if i := slices.IndexFunc(o.tasks, asked.overlaps); i >= 0 {
			return o.tasks[i]
		}
		return nil
	}
	// The last one that begins below the end of the range.
	i, _ := slices.BinarySearchFunc(o.tasks, &rangeDeletion{coll: coll, min: max}, byRange)
	if i > 0 && o.tasks[i-1].overlaps(asked) {
		return o.tasks[i-1]
	}
	return nil
}
