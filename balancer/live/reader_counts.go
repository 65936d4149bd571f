package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// ChunkKey returns the field by which chunks refer to their collection, with its value
// in the collection's document of config.collections: the uuid since 5.0, the namespace
// before.
func ChunkKey(entry bson.Raw) (field string, id bson.RawValue) {
	if _, err := entry.LookupErr("timestamp"); err == nil {
		return "uuid", entry.Lookup("uuid")
	}
	return "ns", entry.Lookup("_id")
}

// counts has the server count the chunks of all collections, in one command.
func (r *reading) counts(ctx context.Context) error {
	sum := func(of any) bson.D { return bson.D{{Key: "$sum", Value: of}} }
	flagged := bson.D{{Key: "$eq", Value: bson.A{"$jumbo", true}}}
	jumbo := bson.D{{Key: "$cond", Value: bson.A{flagged, int32(1), int32(0)}}}
	groups, err := r.source.list(ctx, query{collection: "chunks", pipeline: []bson.D{
		{{Key: "$match", Value: r.chunkFilter()}},
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: bson.D{
				{Key: "uuid", Value: "$uuid"}, {Key: "ns", Value: "$ns"}, {Key: "shard", Value: "$shard"},
			}},
			{Key: "n", Value: sum(int32(1))}, {Key: "jumbo", Value: sum(jumbo)},
		}}},
	}})
	if err != nil {
		return err
	}
	byNamespace := make(map[string]*catalog.CollectionState, len(r.parts.Collections))
	for _, c := range r.parts.Collections {
		byNamespace[c.Namespace] = c
	}
	byKey := map[string]*catalog.CollectionState{}
	for _, doc := range r.parts.Config["collections"] {
		_, id := ChunkKey(doc)
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
	return nil
}

// chunkFilter selects the chunks of the wanted collections and shard.
func (r *reading) chunkFilter() bson.D {
	filter := bson.D{}
	if len(r.options.Namespaces) > 0 {
		keys := map[string]bson.A{}
		for _, doc := range r.parts.Config["collections"] {
			field, id := ChunkKey(doc)
			keys[field] = append(keys[field], id)
		}
		either := bson.A{}
		for _, field := range []string{"uuid", "ns"} {
			if keys[field] != nil {
				either = append(either, bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: keys[field]}}}})
			}
		}
		if len(either) == 0 {
			either = append(either, bson.D{{Key: "_id", Value: nil}}) // none
		}
		filter = append(filter, bson.E{Key: "$or", Value: either})
	}
	if r.options.Shard != "" {
		filter = append(filter, bson.E{Key: "shard", Value: string(r.options.Shard)})
	}
	return filter
}
