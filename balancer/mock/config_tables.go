package mock

import (
	"iter"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Table returns the routing table of a tracked collection, nil if there is none.
func (c *ConfigDB) Table(ns string) *catalog.RoutingTable {
	if draft := c.tables[ns]; draft != nil {
		return draft.Table()
	}
	return nil
}

func (c *ConfigDB) setTable(ns string, table *catalog.RoutingTable) {
	c.tables[ns] = catalog.NewDraft(table)
}

// allTables returns the routing tables by namespace in no particular order.
func (c *ConfigDB) allTables() iter.Seq2[string, *catalog.RoutingTable] {
	return func(yield func(string, *catalog.RoutingTable) bool) {
		for ns, draft := range c.tables {
			if !yield(ns, draft.Table()) {
				return
			}
		}
	}
}

// putChunks atomically writes changed chunks of a tracked collection to the catalog.
func (c *ConfigDB) putChunks(ns string, changed ...catalog.Chunk) error {
	return c.tables[ns].Put(changed...)
}

// setJumbo sets a chunk's jumbo flag without changing its version.
func (c *ConfigDB) setJumbo(ns string, min catalog.Key, flag catalog.Jumbo) error {
	table := c.Table(ns)
	if table == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	chunk := table.Find(min)
	if !chunk.Min.Equal(min) {
		return mongoerr.New(mongoerr.NoMatchingDocument, "no chunk begins at %s", table.Pattern().Bound(min))
	}
	chunk.Jumbo = flag
	return c.putChunks(ns, chunk)
}

// ClearJumbo clears a chunk's jumbo flag and increases its major version
// (rules/02-migration-and-metadata §6.7). It does not change a chunk without the flag. known is the
// collection according to the router.
func (c *ConfigDB) ClearJumbo(known catalog.Collection, min, max catalog.Key) error {
	ns := known.Namespace
	coll, ok, err := c.TrackedEntry(ns)
	switch {
	case err != nil:
		return err
	case !ok || coll.Unsplittable:
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case coll.Epoch != known.Epoch:
		return errStaleEpoch(ns)
	}
	table := c.Table(ns)
	chunk := table.Find(min)
	if !chunk.Min.Equal(min) || !chunk.Max.Equal(max) {
		return mongoerr.New(mongoerr.ClearJumboChunkVanished, "no chunk of %s with these bounds", ns)
	}
	if chunk.Jumbo != catalog.JumboTrue {
		return nil
	}
	chunk.Jumbo = catalog.JumboUnset
	chunk.Version = catalog.ChunkVersion{Major: table.Version().Major + 1}
	return c.putChunks(ns, chunk)
}

// BumpVersion increases the minor version of the newest chunk, as metadata writes do
// (rules/02-migration-and-metadata §6.3).
func (c *ConfigDB) BumpVersion(ns string) error {
	table := c.Table(ns)
	if table == nil {
		return nil
	}
	chunk := table.Newest()
	chunk.Version.Minor++
	return c.putChunks(ns, chunk)
}
