package live

import (
	"context"

	"shardsh/balancer/catalog"
)

// tableReading reads collections and their routing tables.
type tableReading struct {
	*reading
	beforeTables knownCollections
	// patterns contains the interned shard keys, since many collections have the same shard key.
	patterns map[string]catalog.KeyPattern
}

// internPattern returns an equal pattern that all collections share.
func (r *tableReading) internPattern(p catalog.KeyPattern) catalog.KeyPattern {
	doc := string(p.Doc())
	if known, ok := r.patterns[doc]; ok {
		return known
	}
	if r.patterns == nil {
		r.patterns = map[string]catalog.KeyPattern{}
	}
	r.patterns[doc] = p
	return p
}

// knownCollections contains the data about collections that are known before their tables are read.
type knownCollections struct {
	snapshot    *catalog.Snapshot
	collections map[string]*catalog.CollectionState
}

// readTablesWithOutlines reads the selected tables if WantsOutline is set. At this point of the read,
// the operations in progress are known.
func (r *tableReading) readTablesWithOutlines(ctx context.Context) error {
	if r.options.WantsOutline == nil {
		return nil
	}
	return r.selectAndReadTables(ctx)
}

// outlineTable replaces the table of a collection by its outline if only the outline is to be kept.
func (r *tableReading) outlineTable(t *collectionRead) {
	t.outline = nil
	c := r.beforeTables.collections[t.Namespace]
	if r.options.WantsOutline == nil || c == nil || t.table == nil {
		return
	}
	state := *c
	state.Collection, state.Table = t.Collection, t.table
	if r.options.WantsOutline(r.beforeTables.snapshot, &state) {
		outlined := state.WithOutline()
		t.outline, t.counts, t.table = outlined.Outline, outlined.Counts, nil
	}
}

// chunksWereRead reports whether the chunks of the collection were read already.
func (c *collectionRead) chunksWereRead() bool { return c.table != nil || c.outline != nil }

// version returns the version of the chunks that were read before.
func (c *collectionRead) version() catalog.ChunkVersion {
	if c.outline != nil {
		return c.outline.Version.ChunkVersion
	}
	return c.table.Version().ChunkVersion
}
