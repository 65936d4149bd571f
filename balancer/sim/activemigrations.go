package sim

import (
	"cmp"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// adoptMigrations continues the migrations that are running in the snapshot to
// their ends, and returns when the last of them has ended.
func (c *cluster) adoptMigrations(s *catalog.Snapshot) time.Time {
	last := c.queue.Now()
	for _, m := range s.Parts().Migrations {
		x, ok := c.adoptMigration(m)
		if !ok {
			continue
		}
		took, err := x.prepare()
		if !m.Since.IsZero() {
			// However long it has taken already, it is not over.
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

// adoptMigration makes a migration under way one of this run; false for what is none of
// a chunk that is where it says.
func (c *cluster) adoptMigration(m catalog.ActiveMigration) (*move, bool) {
	coll := c.collections[m.Namespace]
	if coll == nil || coll.isStatic() || m.From == m.To || c.donatingNamespace[m.From] != "" {
		return nil, false
	}
	lower, err := coll.entry.Pattern.Key(m.Min)
	if err != nil {
		return nil, false
	}
	chunk := coll.chunks.Find(lower)
	if chunk.Shard != m.From {
		return nil, false
	}
	as := policy.Migration{
		From: m.From, To: m.To, Namespace: m.Namespace, UUID: coll.entry.UUID, Min: lower, ChunkVersion: chunk.Version,
		MaxChunkSizeBytes: cmp.Or(coll.entry.MaxChunkSizeBytes, c.settings.MaxChunkSizeBytes),
	}
	// Of a chunk as a whole its donor gives what it will.
	if upper, err := coll.entry.Pattern.Key(m.Max); err == nil && lower.Less(upper) && upper.Less(chunk.Max) {
		as.Max = upper
	}
	return &move{Migration: as, cluster: c, began: c.queue.Now(), done: func(error) {}}, true
}

// lastAutoMergeRound returns when the last round of the auto-merger began, if it is over:
// the zero time for one that is not, and where the log tells of none.
func lastAutoMergeRound(log []catalog.LogEntry) (began time.Time) {
	over := false
	for _, e := range log {
		switch policy.MergerEvent(e.What) {
		case policy.MergerStarts:
			began, over = e.Time, false
		case policy.MergerEnds:
			over = true
		case policy.MergerDisabled:
			began = time.Time{} // switched on again it begins at once
		}
	}
	if !over {
		return time.Time{}
	}
	return began
}
