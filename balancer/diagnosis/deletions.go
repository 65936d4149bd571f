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

// pendingRange is a range that a shard has given away and has not deleted yet.
type pendingRange struct {
	catalog.RangeDeletion
	since, due time.Time // due is zero when that is not known
}

// deletionsWithDocuments returns the ranges of a collection that shards have not deleted yet: from
// the shards if they were reachable, else inferred from what the change log says
// they gave away a short while ago, if they have orphans of the collection.
func (d *Diagnosis) deletionsWithDocuments(c *catalog.CollectionState) []pendingRange {
	return slices.DeleteFunc(d.pendingRanges(c), func(l pendingRange) bool {
		return !d.Parts().DeletionsKnown && l.Orphans == 0
	})
}

// pendingRanges is leftovers plus ranges without documents on the shard: these
// block migrations, too, until they are due.
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

// PendingDeletions returns the range deletions that shards have still to do: as the
// shards say, where the reader had a way there, else those that the change log lets
// expect, with documents or without. The Timestamp is that of the migration.
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

// CleanupDelayOf returns how long a shard keeps what it gave away: by default,
// unless it says that its parameter orphanCleanupDelaySecs is another one.
func CleanupDelayOf(s *catalog.Snapshot, id catalog.ShardID) time.Duration {
	if shard, there := s.Shard(id); there && shard.CleanupDelay > 0 {
		return shard.CleanupDelay
	}
	return s.Release().CleanupDelay()
}

// deletionFindings finds range deletions that the moves which would be chosen have to
// wait for: the recipient still has documents of the range.
func (d *Diagnosis) deletionFindings(c *catalog.CollectionState, report *policy.Report) (list []Finding) {
	all := d.deletionsWithDocuments(c)
	for move := range report.Chosen() {
		for _, left := range all {
			if left.Shard != move.Recipient || !left.Overlaps(c.Pattern, move.Min, move.Max) {
				continue
			}
			f := finding(PendingDeletion, Scope{Namespace: c.Namespace, Shard: left.Shard}, fmt.Sprintf(
				"waiting for range deletion on %s: %s from %s to %s",
				left.Shard, c.Namespace, humanize.Literal(left.Min), humanize.Literal(left.Max)))
			f.Since, f.Due = left.since, left.due
			f.Numbers = countNumbers("orphans", left.Orphans)
			if !slices.ContainsFunc(list, func(have Finding) bool { return have.Sentence == f.Sentence }) {
				list = append(list, f)
			}
		}
	}
	return list
}
