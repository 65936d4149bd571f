package live

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// readCollections reads config.collections, with the part Chunks also the routing tables.
func (r *tableReading) readCollections(ctx context.Context) error {
	switch {
	case !r.wants(Collections):
		for _, ns := range r.options.Namespaces {
			r.parts.Collections = append(r.parts.Collections, &catalog.CollectionState{Collection: nameOnlyEntry(ns)})
		}
		return nil
	case r.wants(Chunks) && !r.selectsTables():
		return r.readTables(ctx)
	}
	docs, err := r.source.list(ctx, r.collectionsQuery())
	r.retainDocuments("collections", docs)
	for _, doc := range docs {
		entry := parseEntry(doc)
		entry.Pattern = r.internPattern(entry.Pattern)
		r.parts.Collections = append(r.parts.Collections, &catalog.CollectionState{Collection: entry})
	}
	return err
}

// collectionsQuery is the query for the collections.
func (r *reading) collectionsQuery() query {
	filter := bson.D{notDropped}
	if !r.wants(Unsharded) {
		filter = append(filter, bson.E{Key: "unsplittable", Value: bson.D{{Key: "$ne", Value: true}}})
	}
	if len(r.wantedTables) > 0 && len(r.wantedTables) <= maxNamedCollections {
		filter = append(
			bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: slices.Sorted(maps.Keys(r.wantedTables))}}}},
			filter...)
	} else if len(r.options.Namespaces) > 0 {
		filter = append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: r.namespacesToRead()}}}}, filter...)
	}
	return find("collections", filter).sortedBy("_id", 1)
}

// namespacesToRead returns the namespaces to read, with those of the buckets of what may be a time
// series.
func (r *reading) namespacesToRead() []string {
	names := slices.Clone(r.options.Namespaces)
	for _, ns := range r.options.Namespaces {
		if catalog.TimeSeriesNamespace(ns) == ns {
			names = append(names, catalog.BucketsNamespace(ns))
		}
	}
	return names
}

// nameOnlyEntry returns the entry of a collection of which only the name is known.
func nameOnlyEntry(ns string) catalog.Collection {
	return catalog.Collection{Namespace: ns, AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true}
}

// parseEntry parses a document of config.collections. Where it does not parse, such as
// old servers, it keeps the valid fields: enough without routing tables.
func parseEntry(doc bson.Raw) catalog.Collection {
	c, err := catalog.ParseCollection(doc)
	if err == nil {
		return c
	}
	c = nameOnlyEntry(text(doc, "_id"))
	if key, ok := doc.Lookup("key").DocumentOK(); ok {
		c.Pattern, _ = catalog.ParseKeyPattern(key)
	}
	c.NoBalance, c.Unsplittable = catalog.IsTruthy(doc.Lookup("noBalance")), catalog.IsTruthy(doc.Lookup("unsplittable"))
	c.AllowMigrations = !isFalse(doc.Lookup("allowMigrations"))
	c.PermitMigrations = !isFalse(doc.Lookup("permitMigrations"))
	c.NoChunkOperations = isFalse(doc.Lookup("allowChunkOperations"))
	c.MaxChunkSizeBytes = integer(doc, "maxChunkSizeBytes")
	c.Defragment, c.DefragmentationPhase = catalog.IsTruthy(doc.Lookup("defragmentCollection")), text(doc, "defragmentationPhase")
	return c
}

// collectionRead is a collection while its chunks are read.
type collectionRead struct {
	catalog.Collection
	table *catalog.RoutingTable
	// outline is kept in place of the table, with the number of chunks by shard.
	outline *catalog.Outline
	counts  map[catalog.ShardID]catalog.ChunkCount
	// fromOldSnapshot: the table is that of an older Snapshot, and its flags may be outdated.
	fromOldSnapshot bool
	// unchanged: the last read found no change. refused: the server refused it.
	// large: its chunks are not read together with those of others.
	unchanged, refused, tooLarge bool
	// failure is why the last read has no table.
	failure error
}

// readTables reads config.collections and the chunks of each collection, then both again.
// What has changed meanwhile is read again, until nothing has changed or the tries are
// used up: each table is consistent at a moment after the last one was first read.
func (r *tableReading) readTables(ctx context.Context) error {
	known := r.olderTables()
	for try := 0; ; try++ {
		docs, err := r.source.list(ctx, r.collectionsQuery())
		if err != nil {
			return err
		}
		known = r.track(docs, known, try == 0)
		r.progress.setTotal(len(known))
		var unsettled []*collectionRead
		for _, t := range known {
			if !t.refused && (try < 2 || !t.unchanged) {
				unsettled = append(unsettled, t)
			}
		}
		if len(unsettled) > 0 && try <= r.options.MaxTries {
			if err := r.refreshAll(ctx, unsettled); err != nil {
				return err
			}
			continue
		}
		if r.wantedTables == nil {
			r.retainDocuments("collections", docs)
		}
		r.storeTables(known, try)
		return nil
	}
}

// olderTables returns the tables of the older Snapshot.
func (r *tableReading) olderTables() map[string]*collectionRead {
	known := map[string]*collectionRead{}
	if r.old == nil {
		return known
	}
	for _, c := range r.old.Collections() {
		if c.Table != nil {
			known[c.Namespace] = &collectionRead{Collection: c.Collection, table: c.Table, fromOldSnapshot: true}
		}
	}
	return known
}

// track returns the collections of some documents, with the known tables of those that
// were not replaced.
func (r *tableReading) track(docs []bson.Raw, known map[string]*collectionRead, first bool) map[string]*collectionRead {
	next := map[string]*collectionRead{}
	for _, doc := range docs {
		if r.wantedTables != nil && !r.wantedTables[text(doc, "_id")] {
			continue
		}
		entry, err := catalog.ParseCollection(doc)
		if err != nil {
			if first {
				r.addGap(catalog.Gap{What: "collections", Namespace: text(doc, "_id")}, err)
			}
			continue
		}
		t := known[entry.Namespace]
		if t == nil || !sameIncarnation(t.Collection, entry) {
			t = &collectionRead{}
		}
		entry.Pattern = r.internPattern(entry.Pattern)
		t.Collection = entry
		next[entry.Namespace] = t
	}
	return next
}

func sameIncarnation(a, b catalog.Collection) bool {
	return a.Epoch == b.Epoch && a.Timestamp == b.Timestamp && a.UUID.Equal(b.UUID) && a.Pattern.Equal(b.Pattern)
}

func (r *tableReading) storeTables(known map[string]*collectionRead, tries int) {
	counted := make(map[string]*catalog.CollectionState, len(r.parts.Collections))
	for _, c := range r.parts.Collections {
		counted[c.Namespace] = c
	}
	for _, t := range known {
		gap := catalog.Gap{What: "chunks", Namespace: t.Namespace}
		switch {
		case t.failure != nil:
			r.addGap(gap, t.failure)
		case !t.unchanged:
			r.addGap(gap, fmt.Errorf("they changed during each of %d reads: newer changes are missing", tries))
		}
		if c := counted[t.Namespace]; c != nil {
			c.Collection, c.Table = t.Collection, t.table
			if t.outline != nil {
				c.Counts, c.Outline = t.counts, t.outline
			}
			continue
		}
		r.parts.Collections = append(r.parts.Collections, &catalog.CollectionState{Collection: t.Collection, Table: t.table})
	}
}

// refresh brings the table of a collection up to date, and notes whether it was.
func (r *tableReading) refresh(ctx context.Context, t *collectionRead) error {
	if t.outline != nil {
		return r.updateBatch(ctx, []*collectionRead{t})
	}
	if t.table != nil {
		same, err := r.updateTable(ctx, t, t.table.Version().ChunkVersion)
		if err == nil && t.fromOldSnapshot && r.wants(Flags) {
			err = r.readFlags(ctx, t)
		}
		if err == nil {
			t.unchanged, t.fromOldSnapshot = same, false
			return nil
		}
		if err := r.handleFailure(ctx, t, err); err != nil || t.refused {
			return err
		}
	}
	t.fromOldSnapshot, t.unchanged = false, false
	err := r.readAllChunks(ctx, t)
	if err == nil {
		r.outlineTable(t)
	}
	return r.handleFailure(ctx, t, err)
}

// handleFailure handles the failure to read chunks. What the server refuses is not read again;
// malformed chunks have changed during the read and are read again; other failures end
// the read.
func (r *tableReading) handleFailure(ctx context.Context, t *collectionRead, err error) error {
	t.failure = err
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
	case isRefused(err) && r.options.Required&Chunks == 0:
		t.table, t.outline, t.unchanged, t.refused = nil, nil, true, true
		return nil
	case isMalformed(err):
		t.table, t.outline = nil, nil
		return nil
	}
	return &ReadError{What: "chunks", Namespace: t.Namespace, Err: err}
}
