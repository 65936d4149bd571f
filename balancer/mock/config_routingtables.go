package mock

import (
	"iter"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Table returns the routing table of a tracked collection; nil when there is
// none.
func (cfg *ConfigDB) Table(ns string) *catalog.RoutingTable { return cfg.table(ns) }

func (cfg *ConfigDB) table(ns string) *catalog.RoutingTable {
	if draft := cfg.tables[ns]; draft != nil {
		return draft.Table()
	}
	return nil
}

func (cfg *ConfigDB) setTable(ns string, table *catalog.RoutingTable) {
	cfg.tables[ns] = catalog.NewDraft(table)
}

// allTables returns the routing tables by namespace, in no order.
func (cfg *ConfigDB) allTables() iter.Seq2[string, *catalog.RoutingTable] {
	return func(yield func(string, *catalog.RoutingTable) bool) {
		for ns, draft := range cfg.tables {
			if !yield(ns, draft.Table()) {
				return
			}
		}
	}
}

// putChunks writes changed chunks of a tracked collection into the catalog,
// all or none.
func (cfg *ConfigDB) putChunks(ns string, changed ...catalog.Chunk) error {
	return cfg.tables[ns].Put(changed...)
}

// setJumbo writes a chunk's jumbo flag without a new version.
func (cfg *ConfigDB) setJumbo(ns string, min catalog.Key, flag catalog.Jumbo) error {
	table := cfg.table(ns)
	if table == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	chunk := table.Find(min)
	if !chunk.Min.Equal(min) {
		return mongoerr.New(mongoerr.NoMatchingDocument, "no chunk begins at %s", table.Pattern().Bound(min))
	}
	chunk.Jumbo = flag
	return cfg.putChunks(ns, chunk)
}

// ClearJumbo removes a chunk's jumbo flag and gives it a new major version
// (rules/02-migration-and-metadata §6.7); a chunk without the flag stays as it is. coll is the
// collection as the router knows it.
func (cfg *ConfigDB) ClearJumbo(known catalog.Collection, min, max catalog.Key) error {
	ns := known.Namespace
	coll, ok, err := cfg.Tracked(ns)
	switch {
	case err != nil:
		return err
	case !ok || coll.Unsplittable:
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case coll.Epoch != known.Epoch:
		return errStaleEpoch(ns)
	}
	table := cfg.table(ns)
	chunk := table.Find(min)
	if !chunk.Min.Equal(min) || !chunk.Max.Equal(max) {
		return mongoerr.New(mongoerr.ClearJumboChunkVanished, "no chunk of %s with these bounds", ns)
	}
	if chunk.Jumbo != catalog.JumboTrue {
		return nil
	}
	chunk.Jumbo = catalog.JumboUnset
	chunk.Version = catalog.ChunkVersion{Major: table.Version().Major + 1}
	return cfg.putChunks(ns, chunk)
}

// BumpVersion gives the newest chunk the next minor version, as metadata
// writes do (rules/02-migration-and-metadata §6.3).
func (cfg *ConfigDB) BumpVersion(ns string) error {
	table := cfg.table(ns)
	if table == nil {
		return nil
	}
	chunk := table.Newest()
	chunk.Version.Minor++
	return cfg.putChunks(ns, chunk)
}
