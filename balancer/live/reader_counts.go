package live

import (
	"context"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// ChunkCollectionRef returns the field by which chunks refer to their collection, and its value in the
// collection's document of config.collections: the UUID since 5.0, the namespace before.
func ChunkCollectionRef(entry bson.Raw) (field string, id bson.RawValue) {
	if _, err := entry.LookupErr("timestamp"); err == nil {
		return "uuid", entry.Lookup("uuid")
	}
	return "ns", entry.Lookup("_id")
}

// readCounts counts the chunks of the collections on the server, of many collections with each command.
// Each collection has its own bounds in an index of config.chunks.
func (r *reading) readCounts(ctx context.Context) error {
	owners := map[string]bson.A{}
	for _, doc := range r.parts.Config["collections"] {
		field, id := ChunkCollectionRef(doc)
		owners[field] = append(owners[field], id)
	}
	var batches []bson.D
	for _, field := range []string{"uuid", "ns"} {
		for ids := range slices.Chunk(owners[field], maxTablesPerBatch) {
			batches = append(batches, r.chunkFilter(field, ids))
		}
	}
	var mu sync.Mutex
	var groups []bson.Raw
	err := inParallel(ctx, r.options.Parallel, batches, func(ctx context.Context, filter bson.D) error {
		some, err := r.countChunks(ctx, filter)
		mu.Lock()
		defer mu.Unlock()
		groups = append(groups, some...)
		return err
	})
	if err == nil {
		r.addCounts(groups)
	}
	return err
}

// countChunks counts the chunks that a filter selects.
func (r *reading) countChunks(ctx context.Context, filter bson.D) ([]bson.Raw, error) {
	sum := func(of any) bson.D { return bson.D{{Key: "$sum", Value: of}} }
	flagged := bson.D{{Key: "$eq", Value: bson.A{"$jumbo", true}}}
	jumbo := bson.D{{Key: "$cond", Value: bson.A{flagged, int32(1), int32(0)}}}
	return r.source.list(ctx, query{collection: "chunks", maxTime: tableTimeout, pipeline: []bson.D{
		{{Key: "$match", Value: filter}},
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: bson.D{
				{Key: "uuid", Value: "$uuid"}, {Key: "ns", Value: "$ns"}, {Key: "shard", Value: "$shard"},
			}},
			{Key: "n", Value: sum(int32(1))}, {Key: "jumbo", Value: sum(jumbo)},
		}}},
	}})
}

// addCounts adds counts to their collections.
func (r *reading) addCounts(groups []bson.Raw) {
	byNamespace := make(map[string]*catalog.CollectionState, len(r.parts.Collections))
	for _, c := range r.parts.Collections {
		byNamespace[c.Namespace] = c
	}
	byKey := map[string]*catalog.CollectionState{}
	for _, doc := range r.parts.Config["collections"] {
		_, id := ChunkCollectionRef(doc)
		byKey[string(id.Value)] = byNamespace[text(doc, "_id")]
	}
	for _, g := range groups {
		key := g.Lookup("_id", "uuid")
		if ns := g.Lookup("_id", "ns"); ns.Type == bson.TypeString {
			key = ns
		}
		c := byKey[string(key.Value)]
		if c == nil {
			continue
		}
		if c.Counts == nil {
			c.Counts = map[catalog.ShardID]catalog.ChunkCount{}
		}
		c.Counts[catalog.ShardID(text(g, "_id", "shard"))] = catalog.ChunkCount{
			Chunks: integer(g, "n"), Jumbo: integer(g, "jumbo"),
		}
	}
}

// chunkFilter returns the filter for the chunks of some collections, on the wanted shard only if one is
// set.
func (r *reading) chunkFilter(field string, ids bson.A) bson.D {
	filter := bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: ids}}}}
	if r.options.Shard != "" {
		filter = append(filter, bson.E{Key: "shard", Value: string(r.options.Shard)})
	}
	return filter
}
