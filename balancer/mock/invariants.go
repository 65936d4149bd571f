package mock

import (
	"errors"
	"fmt"

	"shardsh/balancer/catalog"
)

// CheckInvariants checks the invariants of the cluster: chunks cover the key space, every document is visible
// exactly once, a shard takes part in at most one migration. It returns all violations.
func (c *Cluster) CheckInvariants() error {
	colls, err := c.config.ShardedCollections()
	if err != nil {
		return err
	}
	inv := &invariantCheck{c: c}
	for _, coll := range colls {
		if c.config.tables[coll.Namespace] == nil {
			inv.fail("%s has no routing table", coll.Namespace)
			continue
		}
		inv.checkChunks(coll)
		inv.checkDocuments(coll)
	}
	inv.checkMigrations()
	inv.checkLeftovers()
	return errors.Join(inv.broken...)
}

// invariantCheck collects violations.
type invariantCheck struct {
	c      *Cluster
	broken []error
}

func (inv *invariantCheck) fail(format string, args ...any) {
	inv.broken = append(inv.broken, fmt.Errorf(format, args...))
}

func (inv *invariantCheck) checkChunks(coll catalog.Collection) {
	table := inv.c.config.Table(coll.Namespace)
	at := coll.Pattern.GlobalMin()
	versions := map[catalog.ChunkVersion]bool{}
	for chunk := range table.All() {
		if !chunk.Min.Equal(at) {
			inv.fail("%s: a chunk begins at %s where %s is due", coll.Namespace, chunk.Min, at)
		}
		if chunk.Min.Compare(chunk.Max) >= 0 {
			inv.fail("%s: the chunk at %s is empty", coll.Namespace, chunk.Min)
		}
		if inv.c.shards[chunk.Shard] == nil {
			inv.fail("%s: the chunk at %s is on %s, which does not exist", coll.Namespace, chunk.Min, chunk.Shard)
		}
		if versions[chunk.Version] {
			inv.fail("%s: version %s is there twice", coll.Namespace, chunk.Version)
		}
		versions[chunk.Version] = true
		if len(chunk.History) > 0 && (chunk.History[0].Shard != chunk.Shard ||
			chunk.History[0].ValidAfter != chunk.OnCurrentShardSince) {
			inv.fail("%s: the history of the chunk at %s does not begin with its shard", coll.Namespace, chunk.Min)
		}
		at = chunk.Max
	}
	if !at.Equal(coll.Pattern.GlobalMax()) {
		inv.fail("%s: the chunks end at %s", coll.Namespace, at)
	}
}

// checkDocuments checks that no _id is owned by two shards, and that documents on a shard that does not
// own them are in a range with a pending deletion.
func (inv *invariantCheck) checkDocuments(coll catalog.Collection) {
	table := inv.c.config.Table(coll.Namespace)
	owners := map[string]catalog.ShardID{}
	for _, id := range inv.c.ShardIDs() {
		local := inv.c.shards[id].colls[coll.Namespace]
		if local == nil {
			continue
		}
		for _, doc := range local.docs.Scan() {
			key, err := coll.Pattern.DocumentKey(doc)
			if err != nil {
				inv.fail("%s on %s: %s", coll.Namespace, id, err)
				continue
			}
			if table.Find(key).Shard != id {
				if !inv.c.shards[id].waitsForDeletion(coll, key) {
					inv.fail("%s: shard %s holds an orphan at %s that nothing will delete", coll.Namespace, id, key)
				}
				continue
			}
			name := doc.Lookup("_id").String()
			if other, taken := owners[name]; taken {
				inv.fail("%s: _id %s is visible on %s and %s", coll.Namespace, name, other, id)
			}
			owners[name] = id
		}
	}
}

func (s *shard) waitsForDeletion(coll catalog.Collection, key catalog.Key) bool {
	for _, task := range s.deletions {
		inside := task.min.Compare(key) <= 0 && (key.Compare(task.max) < 0 || task.max.Equal(coll.Pattern.GlobalMax()))
		if task.coll.UUID.Equal(coll.UUID) && inside {
			return true
		}
	}
	return false
}

func (inv *invariantCheck) checkMigrations() {
	taking := map[catalog.ShardID]int{}
	for m := range inv.c.migrations.active {
		for _, s := range []*shard{m.donor, m.recipient} {
			if s.migration == m {
				taking[s.id]++
			}
		}
		if m.donor.migration != m {
			inv.fail("a migration of %s is under way and its donor %s does not know", m.req.Namespace, m.donor.id)
		}
	}
	for id, n := range taking {
		if n > 1 {
			inv.fail("shard %s takes part in %d migrations", id, n)
		}
	}
}

// checkLeftovers checks that shards have no data of collections that are no longer in the catalog.
func (inv *invariantCheck) checkLeftovers() {
	for _, id := range inv.c.ShardIDs() {
		s := inv.c.shards[id]
		if s.migration != nil && !inv.c.migrations.active[s.migration] {
			inv.fail("shard %s takes part in a migration of %s that has ended", id, s.migration.req.Namespace)
		}
		for ns, local := range s.colls {
			coll, tracked, err := inv.c.config.TrackedEntry(ns)
			db, _, _ := catalog.SplitNamespace(ns)
			switch {
			case err != nil:
				inv.fail("%s: %w", ns, err)
			case tracked && !local.uuid.Equal(coll.UUID):
				inv.fail("shard %s holds another %s than the catalog has", id, ns)
			case !tracked && !inv.c.config.isPrimary(db, id):
				inv.fail("shard %s holds %s, which is gone", id, ns)
			}
			inv.checkVirtual(s, local, coll, tracked)
		}
		for _, task := range s.deletions {
			if local := s.colls[task.coll.Namespace]; local == nil || !local.uuid.Equal(task.coll.UUID) {
				inv.fail("shard %s has a range deletion of %s, which is gone", id, task.coll.Namespace)
			}
			if task.orphans < 0 {
				inv.fail("shard %s counts %d orphans of %s", id, task.orphans, task.coll.Namespace)
			}
			if task.orphans > 0 && !s.mayHaveOrphans {
				inv.fail("shard %s does not know of its orphans of %s", id, task.coll.Namespace)
			}
		}
	}
}

// checkVirtual checks that a shard's virtual data is sorted and inside the shard's chunks.
func (inv *invariantCheck) checkVirtual(s *shard, local *localCollection, coll catalog.Collection, tracked bool) {
	if !tracked || inv.c.config.tables[coll.Namespace] == nil {
		return
	}
	table := inv.c.config.Table(coll.Namespace)
	var end catalog.Key
	for e := range local.virtual.all() {
		if e.min.Less(end) {
			inv.fail("%s: virtual data of %s overlaps at %s", coll.Namespace, s.id, e.min)
		}
		end = e.max
		for chunk := range table.Overlapping(e.min, e.max) {
			if chunk.Shard != s.id {
				inv.fail("%s: virtual data of %s lies in the chunk at %s of %s", coll.Namespace, s.id, chunk.Min, chunk.Shard)
			}
		}
	}
}
