package sim

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// adoptMigrations continues the migrations that are running in the snapshot, and returns the time at
// which the last one ends.
func (c *cluster) adoptMigrations(s *catalog.Snapshot) time.Time {
	last := c.queue.Now()
	for _, m := range s.Parts().Migrations {
		x, ok := c.adoptMigration(m)
		if !ok {
			continue
		}
		took, err := x.prepare()
		if !m.Since.IsZero() {
			// A running migration cannot have ended, even if it has already taken longer than expected.
			took = max(took/20, took-s.Time().Sub(m.Since))
		}
		c.activeOps++
		c.sawActivity = true
		c.donatingNamespace[m.From] = m.Namespace
		if at := x.began.Add(took); at.After(last) {
			last = at
		}
		c.queue.After(took, func() { x.finish(err) })
	}
	return last
}

// adoptMigration continues a running migration in this run. It returns false if the migration's chunk is
// not on its donor.
func (c *cluster) adoptMigration(m catalog.ActiveMigration) (*move, bool) {
	coll := c.collections[m.Namespace]
	if coll == nil || coll.isOutlineOnly() || m.From == m.To || c.donatingNamespace[m.From] != "" {
		return nil, false
	}
	lower, err := coll.entry.Pattern.ParseKey(m.Min)
	if err != nil {
		return nil, false
	}
	chunk := coll.chunks.Find(lower)
	if chunk.Shard != m.From {
		return nil, false
	}
	as := policy.Migration{
		From: m.From, To: m.To, Namespace: m.Namespace, UUID: coll.entry.UUID, Min: lower, ChunkVersion: chunk.Version,
		MaxChunkSizeBytes: coll.entry.ChunkSize(c.settings),
	}
	// For a whole chunk the donor chooses the range.
	if upper, err := coll.entry.Pattern.ParseKey(m.Max); err == nil && lower.Less(upper) && upper.Less(chunk.Max) {
		as.Max = upper
	}
	return &move{Migration: as, cluster: c, began: c.queue.Now(), done: func(error) {}}, true
}

// lastAutoMergeRound returns the start of the auto-merger's last round if the round has ended. It
// returns the zero time if the round has not ended or the log has no round.
func lastAutoMergeRound(log []catalog.LogEntry) (began time.Time) {
	over := false
	for _, e := range log {
		switch policy.MergerEvent(e.What) {
		case policy.MergerStarts:
			began, over = e.Time, false
		case policy.MergerEnds:
			over = true
		case policy.MergerDisabled:
			began = time.Time{} // after it is switched on again, a round starts at once
		}
	}
	if !over {
		return time.Time{}
	}
	return began
}
