package live

import (
	"context"

	"shardsh/balancer/catalog"
)

// tableReading reads collections and their routing tables.
type tableReading struct {
	*reading
	outlines outlines
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
func (r *tableReading) outline(t *tracked) {
	t.outlined = nil
	c := r.outlines.of[t.Namespace]
	if r.options.Outlined == nil || c == nil || t.table == nil {
		return
	}
	state := *c
	state.Collection, state.Table = t.Collection, t.table
	if r.options.Outlined(r.outlines.seen, &state) {
		t.outlined, t.table = state.Outlined(), nil
	}
}

// had reports whether the chunks of a collection were read before.
func (t *tracked) had() bool { return t.table != nil || t.outlined != nil }

// version returns that of the chunks that were read before.
func (t *tracked) version() catalog.ChunkVersion {
	if t.outlined != nil {
		return t.outlined.Outline.Version.ChunkVersion
	}
	return t.table.Version().ChunkVersion
}
