package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// pendingRange is a range that a shard has donated and has not deleted yet.
type pendingRange struct {
	catalog.RangeDeletion
	since, due time.Time // due is zero when the time is unknown
}

// deletionsWithDocuments returns the ranges of a collection that shards have not deleted yet. The
// ranges come from the shards if the shards were reachable. Otherwise they are inferred from recent
// migrations in the change log of shards that have orphans of the collection.
func (d *Diagnosis) deletionsWithDocuments(c *catalog.CollectionState) []pendingRange {
	return slices.DeleteFunc(d.pendingRanges(c), func(l pendingRange) bool {
		return !d.Parts().DeletionsKnown && l.Orphans == 0
	})
}

// pendingRanges returns the ranges of deletionsWithDocuments and the ranges without documents on the
// shard. The latter also block migrations, until they are due.
func (d *Diagnosis) pendingRanges(c *catalog.CollectionState) (list []pendingRange) {
	p := d.Parts()
	for _, deletion := range p.Deletions {
		if deletion.Namespace == c.Namespace {
			one := pendingRange{RangeDeletion: deletion, since: time.Unix(int64(deletion.Timestamp.T), 0).UTC()}
			if deletion.Delayed {
				one.due = one.since.Add(CleanupDelayOf(d.Snapshot, deletion.Shard))
			}
			list = append(list, one)
		}
	}
	if p.DeletionsKnown {
		return list
	}
	for _, entry := range p.Changes {
		if entry.Namespace != c.Namespace {
			continue
		}
		m, ended := entry.Migration()
		due := entry.Time.Add(CleanupDelayOf(d.Snapshot, m.From))
		if !ended || m.Error != "" || !due.After(d.Time()) {
			continue
		}
		lower, _ := entry.Detail("min").DocumentOK()
		upper, _ := entry.Detail("max").DocumentOK()
		list = append(list, pendingRange{since: entry.Time, due: due, RangeDeletion: catalog.RangeDeletion{
			Shard: m.From, Namespace: c.Namespace, Min: lower, Max: upper, Orphans: c.Sizes[m.From].Orphans,
		}})
	}
	return list
}

// PendingDeletions returns the pending range deletions: those that the shards reported, or else those
// that can be inferred from the change log, with or without documents. The Timestamp is the time of the
// migration.
func PendingDeletions(s *catalog.Snapshot) (list []catalog.RangeDeletion) {
	if s.Parts().DeletionsKnown {
		return s.Parts().Deletions
	}
	d := &Diagnosis{Snapshot: s}
	for _, c := range Sharded(s) {
		for _, left := range d.pendingRanges(c) {
			one := left.RangeDeletion
			one.UUID, one.Delayed = c.UUID, !left.due.IsZero()
			one.Timestamp = bson.Timestamp{T: uint32(left.since.Unix())}
			list = append(list, one)
		}
	}
	return list
}

// CleanupDelayOf returns how long a shard keeps a donated range: the shard's orphanCleanupDelaySecs
// parameter, or its default when the shard did not report it.
func CleanupDelayOf(s *catalog.Snapshot, id catalog.ShardID) time.Duration {
	if shard, ok := s.Shard(id); ok && shard.CleanupDelay > 0 {
		return shard.CleanupDelay
	}
	return s.Release().CleanupDelay()
}

// deletionFindings finds range deletions that the next moves have to wait for, because the recipient
// still has documents of the range.
func (d *Diagnosis) deletionFindings(c *catalog.CollectionState, report *policy.Report) (list []Finding) {
	all := d.deletionsWithDocuments(c)
	for move := range report.Chosen() {
		for _, left := range all {
			if left.Shard != move.Recipient || !left.Overlaps(c.Pattern, move.Min, move.Max) {
				continue
			}
			f := finding(MoveWaitsForDeletion, Scope{Namespace: c.Namespace, Shard: left.Shard}, fmt.Sprintf(
				"waiting for range deletion on %s: %s from %s to %s",
				left.Shard, c.Namespace, humanize.Literal(left.Min), humanize.Literal(left.Max)))
			f.Since, f.BalancerActsAt = left.since, left.due
			f.Numbers = countNumbers("orphans", left.Orphans)
			if !slices.ContainsFunc(list, func(have Finding) bool { return have.Sentence == f.Sentence }) {
				list = append(list, f)
			}
		}
	}
	return list
}
