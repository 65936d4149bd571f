package live

import (
	"context"
	"errors"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/runner"
)

// tablesPerRead and tablesPerUpdate are the numbers of collections in one command that reads chunks, or
// changed chunks. Each alternative of the filter has its own bounds in an index of config.chunks.
const (
	tablesPerRead       = 200
	tablesPerUpdate     = 1000
	maxNamedCollections = 1000 // with more, all collections are read
)

// ReadCatalog reads the state that a round needs. Of the routing tables that an earlier Catalog
// contains, it reads only the changes.
func (s *StepExecutor) ReadCatalog(
	ctx context.Context, namespaces []string, before *runner.Catalog,
) (*runner.Catalog, error) {
	d := s.executor
	read := &runner.Catalog{
		Settings: map[string]bson.Raw{}, Routings: map[string]balancer.Routing{}, FullyRead: map[string]bool{},
	}
	settings, err := d.findInConfig(ctx, "settings", bson.D{})
	if err != nil {
		return nil, err
	}
	for _, doc := range settings {
		read.Settings[text(doc, "_id")] = doc
	}
	if read.Shards, err = d.Shards(ctx); err != nil {
		return nil, err
	}
	if read.Collections, err = d.listShardedAmong(ctx, namespaces); err != nil {
		return nil, err
	}
	zones, err := d.readZonesByCollection(ctx, read.Collections)
	if err != nil {
		return nil, err
	}
	tables, err := d.readRoutingTables(ctx, read, before)
	if err != nil {
		return nil, err
	}
	for _, coll := range read.Collections {
		if table := tables[coll.Namespace]; table != nil {
			read.Routings[coll.Namespace] = balancer.Routing{Collection: coll, Table: table, Zones: zones[coll.Namespace]}
		}
	}
	return read, nil
}

// listShardedAmong returns the sharded collections among namespaces.
func (d *Executor) listShardedAmong(ctx context.Context, namespaces []string) ([]catalog.Collection, error) {
	if len(namespaces) > maxNamedCollections {
		all, err := d.Collections(ctx)
		named := make(map[string]bool, len(namespaces))
		for _, ns := range namespaces {
			named[ns] = true
		}
		return slices.DeleteFunc(all, func(c catalog.Collection) bool { return !named[c.Namespace] }), err
	}
	return d.listSharded(ctx, bson.E{Key: "_id", Value: bson.D{{Key: "$in", Value: namespaces}}})
}

// readZonesByCollection returns the zones of collections.
func (d *Executor) readZonesByCollection(
	ctx context.Context,
	colls []catalog.Collection,
) (map[string]*catalog.ZoneSet, error) {
	filter, names := bson.D{}, make(bson.A, len(colls))
	zones := make(map[string]*catalog.ZoneSet, len(colls))
	patterns := make(map[string]catalog.KeyPattern, len(colls))
	for i, coll := range colls {
		names[i] = coll.Namespace
		zones[coll.Namespace], patterns[coll.Namespace] = catalog.NewZoneSet(coll.Pattern), coll.Pattern
	}
	if len(colls) <= maxNamedCollections {
		filter = bson.D{{Key: "ns", Value: bson.D{{Key: "$in", Value: names}}}}
	}
	order := bson.E{Key: "sort", Value: bson.D{{Key: "ns", Value: 1}, {Key: "min", Value: 1}}}
	docs, err := d.findInConfig(ctx, "tags", filter, order)
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		ns := text(doc, "ns")
		if zones[ns] == nil {
			continue
		}
		zone, err := catalog.ParseZone(patterns[ns], doc)
		if err == nil {
			err = zones[ns].Add(zone)
		}
		if err != nil {
			return nil, err
		}
	}
	return zones, nil
}

// readRoutingTables returns the routing tables of the collections of a Catalog.
func (d *Executor) readRoutingTables(ctx context.Context, read *runner.Catalog, before *runner.Catalog) (
	map[string]*catalog.RoutingTable, error,
) {
	tables := map[string]*catalog.RoutingTable{}
	var known, unknown []catalog.Collection
	for _, coll := range read.Collections {
		if before != nil {
			if old, ok := before.Routings[coll.Namespace]; ok && sameIncarnation(old.Collection, coll) {
				tables[coll.Namespace] = old.Table
				known = append(known, coll)
				continue
			}
		}
		unknown = append(unknown, coll)
	}
	for batch := range slices.Chunk(known, tablesPerUpdate) {
		failed, err := d.updateTables(ctx, batch, tables)
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, failed...)
	}
	for batch := range slices.Chunk(unknown, tablesPerRead) {
		if err := d.readTables(ctx, batch, tables); err != nil {
			return nil, err
		}
		for _, coll := range batch {
			read.FullyRead[coll.Namespace] = true
		}
	}
	return tables, nil
}

// updateTables reads the chunks that are newer than tables. It returns the collections whose tables
// have to be read completely.
func (d *Executor) updateTables(
	ctx context.Context, colls []catalog.Collection, tables map[string]*catalog.RoutingTable,
) (failed []catalog.Collection, err error) {
	either := make(bson.A, len(colls))
	for i, coll := range colls {
		newest := tables[coll.Namespace].Version().ChunkVersion
		either[i] = bson.D{coll.ChunkFilter(),
			{Key: "lastmod", Value: bson.D{{Key: "$gt", Value: newest.Timestamp()}}}}
	}
	docs, err := d.findInConfig(ctx, "chunks", bson.D{{Key: "$or", Value: either}})
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	byOwner := groupByCollection(docs)
	for _, coll := range colls {
		changed, err := parseChunks(coll, byOwner[collectionID(coll)])
		if err == nil && len(changed) > 0 {
			tables[coll.Namespace], err = tables[coll.Namespace].Apply(changed)
		}
		if err != nil {
			delete(tables, coll.Namespace)
			failed = append(failed, coll)
		}
	}
	return failed, nil
}

// readTables reads all chunks of collections. A collection that is dropped during the read has no
// table. Chunks are read in the order of versions, so a chunk that changes during the read is returned
// again, and the newer version is used.
func (d *Executor) readTables(
	ctx context.Context, colls []catalog.Collection, tables map[string]*catalog.RoutingTable,
) error {
	owners := map[string]bson.A{}
	for _, coll := range colls {
		f := coll.ChunkFilter()
		owners[f.Key] = append(owners[f.Key], f.Value)
	}
	byOwner := map[string][]bson.Raw{}
	for field, list := range owners {
		docs, err := d.listDocsWithTimeout(ctx, tableTimeout, "config", bson.D{
			{Key: "find", Value: "chunks"},
			{Key: "filter", Value: bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: list}}}}},
			{Key: "sort", Value: bson.D{{Key: field, Value: 1}, {Key: "lastmod", Value: 1}}}, fullBatch, ReadConcernMajority,
		})
		if err != nil {
			return err
		}
		maps.Copy(byOwner, groupByCollection(docs))
	}
	for _, coll := range colls {
		chunks, err := parseChunks(coll, byOwner[collectionID(coll)])
		if err == nil {
			tables[coll.Namespace], err = catalog.NewRoutingTableUnsorted(coll.Pattern, coll.Epoch, coll.Timestamp, chunks)
		}
		if err == nil {
			continue
		}
		// The chunks have changed during the read.
		routing, err := d.Routing(ctx, coll.Namespace)
		delete(tables, coll.Namespace)
		switch {
		case mongoerr.Is(err, mongoerr.NamespaceNotFound):
		case err != nil:
			return err
		case !sameIncarnation(routing.Collection, coll):
			return mongoerr.New(mongoerr.ConflictingOperationInProgress, "%s was replaced while it was read", coll.Namespace)
		default:
			tables[coll.Namespace] = routing.Table
		}
	}
	return nil
}

// groupByCollection groups chunks by their collection (UUID, or namespace before 5.0).
func groupByCollection(chunks []bson.Raw) map[string][]bson.Raw {
	by := map[string][]bson.Raw{}
	for _, doc := range chunks {
		key := chunkCollectionID(doc)
		by[key] = append(by[key], doc)
	}
	return by
}

// chunkCollectionID returns the collection of a chunk: its UUID, or the namespace before 5.0.
func chunkCollectionID(chunk bson.Raw) string {
	if _, uuid, ok := chunk.Lookup("uuid").BinaryOK(); ok {
		return string(uuid)
	}
	return text(chunk, "ns")
}

// collectionID returns the chunkCollectionID of a collection's chunks.
func collectionID(coll catalog.Collection) string {
	if uuid, ok := coll.ChunkFilter().Value.(bson.Binary); ok {
		return string(uuid.Data)
	}
	return coll.Namespace
}

func parseChunks(coll catalog.Collection, docs []bson.Raw) ([]catalog.Chunk, error) {
	chunks := make([]catalog.Chunk, len(docs))
	var errs error
	for i, doc := range docs {
		var err error
		chunks[i], err = catalog.ParseChunk(coll.Pattern, doc)
		errs = errors.Join(errs, err)
	}
	return chunks, errs
}
