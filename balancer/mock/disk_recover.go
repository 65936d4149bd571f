package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// rollBack ends what was under way when the state was written, as a shard does
// when it starts after a crash (spec 02 §5.5).
func (c *Cluster) rollBack() {
	c.rollBackReshardings()
	for _, id := range c.shardIDs() {
		c.rollBackMigrations(c.shards[id])
	}
}

// rollBackMigrations looks at what range deletions say of migrations. One of a
// range that the shard owns is that of a donor whose migration has not been
// committed: it goes. All others take effect: orphans of a migration that was
// committed, and copies of one that was not.
func (c *Cluster) rollBackMigrations(s *shard) {
	for _, task := range slices.Clone(s.deletions) {
		local := s.colls[task.coll.Namespace]
		coll, ok, err := c.config.Tracked(task.coll.Namespace)
		gone := err != nil || !ok || local == nil ||
			!local.uuid.Equal(task.coll.UUID) || !coll.UUID.Equal(task.coll.UUID)
		if gone || c.ownsSome(s, task) {
			s.removeDeletion(task)
			continue
		}
		task.coll = coll
		for range local.inRange(coll.Pattern, task.min, task.max) {
			task.orphans++
		}
		c.RangeDeleter().schedule(s, task)
	}
}

func (c *Cluster) ownsSome(s *shard, task *rangeDeletion) bool {
	for range c.config.tables[task.coll.Namespace].Owned(s.id, task.min, task.max) {
		return true
	}
	return false
}

// rollBackReshardings takes off what the catalog shows of operations under way.
// Until their end they have changed nothing else.
func (c *Cluster) rollBackReshardings() {
	operations := c.config.Collection(configReshardings)
	for record := range operations.Scan() {
		operations.Delete(record)
	}
	colls := c.config.Collection(configCollections)
	for record, raw := range colls.Scan() {
		if raw.Lookup("reshardingFields").IsZero() {
			continue
		}
		var doc bson.D
		if err := bson.Unmarshal(raw, &doc); err != nil {
			continue // who reads the entry will say so
		}
		unset(&doc, "reshardingFields")
		unset(&doc, "allowMigrations")
		if changed, err := bson.Marshal(doc); err == nil {
			_ = colls.Update(record, changed) // its _id stays
		}
	}
}
