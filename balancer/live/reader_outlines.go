package live

import (
	"context"

	"shardsh/balancer/catalog"
)

// tableReading reads collections and their routing tables.
type tableReading struct {
	*reading
	outlines outlines
	// patterns are the shard keys so far: many collections have the same.
	patterns map[string]catalog.KeyPattern
}

// shared returns a pattern like the given one, the same for all collections.
func (r *tableReading) shared(p catalog.KeyPattern) catalog.KeyPattern {
	doc := string(p.Doc())
	if known, is := r.patterns[doc]; is {
		return known
	}
	if r.patterns == nil {
		r.patterns = map[string]catalog.KeyPattern{}
	}
	r.patterns[doc] = p
	return p
}

// outlines are what is known of collections before their tables are read.
type outlines struct {
	seen *catalog.Snapshot
	of   map[string]*catalog.CollectionState
}

// lateTables are chosenTables of a reader that outlines some: by then it is known what is
// under way.
func (r *tableReading) lateTables(ctx context.Context) error {
	if r.options.Outlined == nil {
		return nil
	}
	return r.choose(ctx)
}

// outline drops the table of a collection that is to have only an outline.
func (r *tableReading) outline(t *collectionRead) {
	t.outline = nil
	c := r.outlines.of[t.Namespace]
	if r.options.Outlined == nil || c == nil || t.table == nil {
		return
	}
	state := *c
	state.Collection, state.Table = t.Collection, t.table
	if r.options.Outlined(r.outlines.seen, &state) {
		outlined := state.WithOutline()
		t.outline, t.counts, t.table = outlined.Outline, outlined.Counts, nil
	}
}

// had reports whether the chunks of a collection were read before.
func (t *collectionRead) had() bool { return t.table != nil || t.outline != nil }

// version returns that of the chunks that were read before.
func (t *collectionRead) version() catalog.ChunkVersion {
	if t.outline != nil {
		return t.outline.Version.ChunkVersion
	}
	return t.table.Version().ChunkVersion
}
