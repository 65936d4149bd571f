package live

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// collections reads config.collections, with the part Chunks also the routing tables.
func (r *tableReading) collections(ctx context.Context) error {
	switch {
	case !r.reads(Collections):
		for _, ns := range r.options.Namespaces {
			r.parts.Collections = append(r.parts.Collections, &catalog.CollectionState{Collection: unreadEntry(ns)})
		}
		return nil
	case r.reads(Chunks) && !r.chooses():
		return r.tables(ctx)
	}
	docs, err := r.source.list(ctx, r.entries())
	r.keep("collections", docs)
	for _, doc := range docs {
		entry := entryOf(doc)
		entry.Pattern = r.shared(entry.Pattern)
		r.parts.Collections = append(r.parts.Collections, &catalog.CollectionState{Collection: entry})
	}
	return err
}

// entries is the query for the collections.
func (r *reading) entries() query {
	filter := bson.D{notDropped}
	if !r.reads(Unsharded) {
		filter = append(filter, bson.E{Key: "unsplittable", Value: bson.D{{Key: "$ne", Value: true}}})
	}
	if len(r.only) > 0 && len(r.only) <= namedTogether {
		filter = append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: slices.Sorted(maps.Keys(r.only))}}}}, filter...)
	} else if len(r.options.Namespaces) > 0 {
		filter = append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: r.named()}}}}, filter...)
	}
	return find("collections", filter).sorted("_id", 1)
}

// named returns the namespaces to read, with those of the buckets of what may be a time
// series.
func (r *reading) named() []string {
	names := slices.Clone(r.options.Namespaces)
	for _, ns := range r.options.Namespaces {
		if catalog.TimeSeriesNamespace(ns) == ns {
			names = append(names, catalog.BucketsNamespace(ns))
		}
	}
	return names
}

// unreadEntry returns the entry of a collection of which only the name is known.
func unreadEntry(ns string) catalog.Collection {
	return catalog.Collection{Namespace: ns, AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true}
}

// entryOf parses a document of config.collections. Where it does not parse, such as
// those of old servers, the fields that do are enough without routing tables.
func entryOf(doc bson.Raw) catalog.Collection {
	c, err := catalog.ParseCollection(doc)
	if err == nil {
		return c
	}
	c = unreadEntry(text(doc, "_id"))
	if key, ok := doc.Lookup("key").DocumentOK(); ok {
		c.Pattern, _ = catalog.ParseKeyPattern(key)
	}
	c.NoBalance, c.Unsplittable = isSet(doc.Lookup("noBalance")), isSet(doc.Lookup("unsplittable"))
	c.AllowMigrations = !isFalse(doc.Lookup("allowMigrations"))
	c.PermitMigrations = !isFalse(doc.Lookup("permitMigrations"))
	c.NoChunkOperations = isFalse(doc.Lookup("allowChunkOperations"))
	c.MaxChunkSizeBytes = integer(doc, "maxChunkSizeBytes")
	c.Defragment, c.DefragmentationPhase = isSet(doc.Lookup("defragmentCollection")), text(doc, "defragmentationPhase")
	return c
}

// collectionRead is a collection while its chunks are read.
type collectionRead struct {
	catalog.Collection
	table *catalog.RoutingTable
	// outline is kept in place of the table, with the number of chunks by shard.
	outline *catalog.Outline
	counts  map[catalog.ShardID]catalog.ChunkCount
	// older: the table is that of an older Snapshot, and its flags may be outdated.
	older bool
	// settled: the last read found no change. refused: the server refused it.
	// large: its chunks are not read together with those of others.
	settled, refused, large bool
	// failure is why the last read has no table.
	failure error
}

// tables reads config.collections and the chunks of each collection, then both again.
// What has changed meanwhile is read again, until nothing has changed or the tries are
// used up: each table is consistent at a moment after the last one was first read.
func (r *tableReading) tables(ctx context.Context) error {
	known := r.olderTables()
	for try := 0; ; try++ {
		docs, err := r.source.list(ctx, r.entries())
		if err != nil {
			return err
		}
		known = r.track(docs, known, try == 0)
		r.told.of(len(known))
		var unsettled []*collectionRead
		for _, t := range known {
			if !t.refused && (try < 2 || !t.settled) {
				unsettled = append(unsettled, t)
			}
		}
		if len(unsettled) > 0 && try <= r.options.Tries {
			if err := r.refreshAll(ctx, unsettled); err != nil {
				return err
			}
			continue
		}
		if r.only == nil {
			r.keep("collections", docs)
		}
		r.keepTables(known, try)
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
			known[c.Namespace] = &collectionRead{Collection: c.Collection, table: c.Table, older: true}
		}
	}
	return known
}

// track returns the collections of some documents, with the known tables of those that
// were not replaced.
func (r *tableReading) track(docs []bson.Raw, known map[string]*collectionRead, first bool) map[string]*collectionRead {
	next := map[string]*collectionRead{}
	for _, doc := range docs {
		if r.only != nil && !r.only[text(doc, "_id")] {
			continue
		}
		entry, err := catalog.ParseCollection(doc)
		if err != nil {
			if first {
				r.gap(catalog.Gap{What: "collections", Namespace: text(doc, "_id")}, err)
			}
			continue
		}
		t := known[entry.Namespace]
		if t == nil || !sameIncarnation(t.Collection, entry) {
			t = &collectionRead{}
		}
		entry.Pattern = r.shared(entry.Pattern)
		t.Collection = entry
		next[entry.Namespace] = t
	}
	return next
}

func sameIncarnation(a, b catalog.Collection) bool {
	return a.Epoch == b.Epoch && a.Timestamp == b.Timestamp && a.UUID.Equal(b.UUID) && a.Pattern.Equal(b.Pattern)
}

func (r *tableReading) keepTables(known map[string]*collectionRead, tries int) {
	counted := make(map[string]*catalog.CollectionState, len(r.parts.Collections))
	for _, c := range r.parts.Collections {
		counted[c.Namespace] = c
	}
	for _, t := range known {
		gap := catalog.Gap{What: "chunks", Namespace: t.Namespace}
		switch {
		case t.failure != nil:
			r.gap(gap, t.failure)
		case !t.settled:
			r.gap(gap, fmt.Errorf("they changed during each of %d reads: newer changes are missing", tries))
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
		return r.updateTogether(ctx, []*collectionRead{t})
	}
	if t.table != nil {
		same, err := r.update(ctx, t, t.table.Version().ChunkVersion)
		if err == nil && t.older && r.reads(Flags) {
			err = r.flags(ctx, t)
		}
		if err == nil {
			t.settled, t.older = same, false
			return nil
		}
		if err := r.failed(ctx, t, err); err != nil || t.refused {
			return err
		}
	}
	t.older, t.settled = false, false
	err := r.readAll(ctx, t)
	if err == nil {
		r.outline(t)
	}
	return r.failed(ctx, t, err)
}

// failed handles the failure to read chunks. What the server refuses is not read again;
// chunks that make no sense have changed during the read, and are; other failures end
// the read.
func (r *tableReading) failed(ctx context.Context, t *collectionRead, err error) error {
	t.failure = err
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
	case refused(err) && r.options.Required&Chunks == 0:
		t.table, t.outline, t.settled, t.refused = nil, nil, true, true
		return nil
	case malformed(err):
		t.table, t.outline = nil, nil
		return nil
	}
	return &ReadError{What: "chunks", Namespace: t.Namespace, Err: err}
}
