package plan

import (
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

// steps returns the steps for the moves of a search.
func (f *fitSearch) steps(moves []fitMove) []Step {
	steps := make([]Step, len(moves))
	for i, m := range moves {
		c := f.chunks[m.chunk]
		s := Step{
			Kind: Move, Namespace: f.colls[c.coll].Namespace, From: f.shards[m.from].ID, To: f.shards[m.to].ID, Min: c.Min,
			Max: c.Max, Bytes: c.bytes, Documents: c.docs, Reason: policy.ReasonChunksImbalance,
		}
		limit := humanize.Percent(f.b.o.Limits.Disk)
		switch {
		case f.shards[m.from].Draining:
			s.Reason = policy.ReasonDrain
			s.Why = fmt.Sprintf("Shard %s is draining; on %s the chunk fits below the disk limit of %s.", s.From, s.To, limit)
		case f.b.o.Goal.Kind != Drain && f.isDisplaced(c, m.from):
			s.Reason = policy.ReasonZoneViolation
			s.Why = fmt.Sprintf("Shard %s is not in the chunk's zone; on %s it fits below the disk limit of %s.", s.From, s.To,
				limit)
		default:
			s.Why = fmt.Sprintf("With the chunk on %s all of the goal fits below the disk limit of %s.", s.To, limit)
		}
		steps[i] = s
	}
	return steps
}

// pendingDeletion is a range that a shard is to delete, and when.
type pendingDeletion struct {
	ns       string
	shard    catalog.ShardID
	min, max catalog.Key // zero if not known
	bytes    int64
	dueAt    time.Time
}

// pendingDeletions returns the range deletions in the snapshot. The orphans of a collection on a shard
// count as deleted with the last of its range deletions.
func (b *builder) pendingDeletions() (list []pendingDeletion) {
	s := b.input.start
	for _, x := range s.Parts().Deletions {
		c := s.Collection(x.Namespace)
		if c == nil || !c.UUID.Equal(x.UUID) {
			continue
		}
		d := pendingDeletion{ns: x.Namespace, shard: x.Shard, bytes: c.Sizes[x.Shard].OrphanBytes,
			dueAt: sim.DeletionDue(x, s.Time(), b.o.Costs.OrphanDelay)}
		d.min, _ = c.Pattern.ParseKey(x.Min)
		d.max, _ = c.Pattern.ParseKey(x.Max)
		at := slices.IndexFunc(list, func(had pendingDeletion) bool {
			return had.ns == d.ns && had.shard == d.shard && had.bytes > 0
		})
		switch {
		case at < 0:
		case list[at].dueAt.Before(d.dueAt):
			list[at].bytes = 0
		default:
			d.bytes = 0
		}
		list = append(list, d)
	}
	return list
}

// scheduleInRoom schedules steps one after the other. Each step begins when there is room for it. It
// waits for range deletions on its recipient if a file would otherwise grow permanently. scheduleInRoom
// returns false if a step never has room.
func (b *builder) scheduleInRoom(steps []Step) bool {
	at, pending := b.input.start.Time(), b.pendingDeletions()
	for _, s := range steps {
		for {
			pending = slices.DeleteFunc(pending, func(d pendingDeletion) bool {
				gone := !d.dueAt.After(at)
				if gone {
					b.volumes.RemoveData(d.ns, d.shard, d.bytes)
				}
				return gone
			})
			next := firstDeletionFor(pending, s, b.volumes.WouldGrow(s.Namespace, s.To, s.Bytes))
			if next.IsZero() {
				break
			}
			at = next
		}
		if b.volumes.MissingBytes(s.Namespace, s.To, s.Bytes) > 0 {
			return false
		}
		b.volumes.AddData(s.Namespace, s.To, s.Bytes)
		ended := at.Add(b.stepTime(s))
		pending = append(pending, pendingDeletion{
			s.Namespace, s.From, s.Min, s.Max, s.Bytes, ended.Add(b.o.Costs.OrphanDelay),
		})
		b.addStep(s, sim.Event{
			Began: at, Ended: ended, Namespace: s.Namespace, From: s.From, Min: s.Min, Max: s.Max,
		})
		b.engineRound++
		at = ended
	}
	return true
}

// firstDeletionFor returns the end of the first range deletion for which a step waits: a deletion in
// its range or, if a file would grow otherwise, any deletion of the collection on its recipient. It
// returns the zero time if there is none.
func firstDeletionFor(pending []pendingDeletion, s Step, grows bool) (first time.Time) {
	for _, d := range pending {
		same := d.shard == s.From || d.shard == s.To
		overlaps := same && !d.min.IsZero() && !d.max.IsZero() && catalog.Overlap(d.min, d.max, s.Min, s.Max)
		if d.ns == s.Namespace && (overlaps || grows && d.shard == s.To) && (first.IsZero() || d.dueAt.Before(first)) {
			first = d.dueAt
		}
	}
	return first
}
