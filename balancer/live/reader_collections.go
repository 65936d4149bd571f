package live

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// readCollections reads config.collections, and with the part Chunks also the routing tables.
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

// collectionsQuery returns the query for the collections.
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
	return findQuery("collections", filter).sortedBy("_id", 1)
}

// namespacesToRead returns the namespaces to read, including those of the buckets, since a namespace
// may be a time series.
func (r *reading) namespacesToRead() []string {
	names := slices.Clone(r.options.Namespaces)
	for _, ns := range r.options.Namespaces {
		if catalog.TimeSeriesNamespace(ns) == ns {
			names = append(names, catalog.BucketsNamespace(ns))
		}
	}
	return names
}

// nameOnlyEntry returns an entry for a collection of which only the name is known.
func nameOnlyEntry(ns string) catalog.Collection {
	return catalog.Collection{Namespace: ns, AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true}
}

// parseEntry parses a document of config.collections. If the document is invalid, as for old servers,
// parseEntry keeps the valid fields, which suffices without routing tables.
func parseEntry(doc bson.Raw) catalog.Collection {
	c, err := catalog.ParseCollection(doc)
	if err == nil {
		return c
	}
	c = nameOnlyEntry(text(doc, "_id"))
	if key, ok := doc.Lookup("key").DocumentOK(); ok {
		c.Pattern, _ = catalog.ParseKeyPattern(key)
	}
	c.NoBalance, c.Unsplittable = catalog.IsTruthyInJS(doc.Lookup("noBalance")),
		catalog.IsTruthyInJS(doc.Lookup("unsplittable"))
	c.AllowMigrations = !catalog.IsFalse(doc.Lookup("allowMigrations"))
	c.PermitMigrations = !catalog.IsFalse(doc.Lookup("permitMigrations"))
	c.NoChunkOperations = catalog.IsFalse(doc.Lookup("allowChunkOperations"))
	c.MaxChunkSizeBytes = integer(doc, "maxChunkSizeBytes")
	c.Defragment = catalog.IsTruthyInJS(doc.Lookup("defragmentCollection"))
	c.DefragmentationPhase = text(doc, "defragmentationPhase")
	return c
}

// collectionRead is the state of reading a collection's chunks.
type collectionRead struct {
	catalog.Collection
	table *catalog.RoutingTable
	// outline is kept instead of the table, with the number of chunks by shard.
	outline *catalog.Outline
	counts  map[catalog.ShardID]catalog.ChunkCount
	// fromOldSnapshot says that the table is from an older Snapshot, so that its flags may be outdated.
	fromOldSnapshot bool
	// unchanged says that the last read found no change. refused says that the server refused the read.
	// tooLarge says that the chunks are not read together with those of other collections.
	unchanged, refused, tooLarge bool
	// failure is the reason why the last read has no table.
	failure error
}

// readTables reads config.collections and the chunks of each collection, and then both again. It reads
// collections that have changed in the meantime again, until nothing has changed or the maximum number
// of tries is reached. Each table is consistent at a point in time after the first read of the last
// table.
func (r *tableReading) readTables(ctx context.Context) error {
	known := r.olderTables()
	for try := 0; ; try++ {
		docs, err := r.source.list(ctx, r.collectionsQuery())
		if err != nil {
			return err
		}
		known = r.collectionReadsOf(docs, known, try == 0)
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

// collectionReadsOf returns the collections in some documents, with the known tables of collections that were not
// replaced.
func (r *tableReading) collectionReadsOf(docs []bson.Raw, known map[string]*collectionRead,
	first bool) map[string]*collectionRead {
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

// refresh updates the table of a collection, and records whether it was up to date.
func (r *tableReading) refresh(ctx context.Context, t *collectionRead) error {
	if t.outline != nil {
		return r.updateBatch(ctx, []*collectionRead{t})
	}
	if t.table != nil {
		same, err := r.updateTable(ctx, t, t.table.Version().ChunkVersion)
		if err == nil && t.fromOldSnapshot && r.wants(ChunkFlags) {
			err = r.readUnversioned(ctx, t)
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

// handleFailure handles a failed read of chunks. If the server has refused the read, it is not
// repeated. Malformed chunks have changed during the read, and are read again. Other failures end the
// read.
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
