package live

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// collections reads the entries of collections. Those that are only named have
// entries with nothing else.
func (o *overview) collections() error {
	if o.Parts&Collections == 0 {
		for _, ns := range o.Namespaces {
			o.parts.Collections = append(o.parts.Collections, &catalog.CollectionState{Collection: entryOf(ns)})
		}
		return nil
	}
	filter := bson.D{{Key: "dropped", Value: bson.D{{Key: "$ne", Value: true}}}}
	if o.Parts&Unsharded == 0 {
		filter = append(filter, bson.E{Key: "unsplittable", Value: bson.D{{Key: "$ne", Value: true}}})
	}
	if len(o.Namespaces) > 0 {
		filter = append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: o.Namespaces}}}}, filter...)
	}
	docs, err := o.find("collections", filter, sortedBy("_id", 1))
	o.parts.Config["collections"] = docs
	for _, doc := range docs {
		o.parts.Collections = append(o.parts.Collections, &catalog.CollectionState{Collection: entry(doc)})
	}
	return err
}

// entryOf returns a collection of which nothing is known but that it is
// sharded.
func entryOf(ns string) catalog.Collection {
	return catalog.Collection{Namespace: ns, AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true}
}

// entry reads a document of config.collections. One that does not parse, such as
// those that old servers wrote, tells as much as an overview needs.
func entry(doc bson.Raw) catalog.Collection {
	c, err := catalog.ParseCollection(doc)
	if err == nil {
		return c
	}
	c = entryOf(text(doc, "_id"))
	if key, ok := doc.Lookup("key").DocumentOK(); ok {
		c.Pattern, _ = catalog.ParseKeyPattern(key)
	}
	c.NoBalance, c.Unsplittable = isSet(doc.Lookup("noBalance")), isSet(doc.Lookup("unsplittable"))
	c.AllowMigrations = !isFalse(doc.Lookup("allowMigrations"))
	c.PermitMigrations = !isFalse(doc.Lookup("permitMigrations"))
	c.MaxChunkSizeBytes = integer(doc, "maxChunkSizeBytes")
	c.Defragment, c.DefragmentationPhase = isSet(doc.Lookup("defragmentCollection")), text(doc, "defragmentationPhase")
	return c
}

// ChunkKey returns what the chunks of a collection are told by, given its
// document in config.collections: its uuid since 5.0, its namespace before.
func ChunkKey(entry bson.Raw) (field string, id bson.RawValue) {
	if _, err := entry.LookupErr("timestamp"); err == nil {
		return "uuid", entry.Lookup("uuid")
	}
	return "ns", entry.Lookup("_id")
}

// counts has the server count chunks, of all collections in one command.
func (o *overview) counts() error {
	sum := func(of any) bson.D { return bson.D{{Key: "$sum", Value: of}} }
	flagged := bson.D{{Key: "$eq", Value: bson.A{"$jumbo", true}}}
	jumbo := bson.D{{Key: "$cond", Value: bson.A{flagged, int32(1), int32(0)}}}
	groups, err := o.aggregate("config", "chunks",
		bson.D{{Key: "$match", Value: o.chunkFilter()}},
		bson.D{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: bson.D{
				{Key: "uuid", Value: "$uuid"}, {Key: "ns", Value: "$ns"}, {Key: "shard", Value: "$shard"},
			}},
			{Key: "n", Value: sum(int32(1))}, {Key: "jumbo", Value: sum(jumbo)},
		}}},
	)
	if err != nil {
		return err
	}
	byKey := map[string]*catalog.CollectionState{}
	for i, doc := range o.parts.Config["collections"] {
		_, id := ChunkKey(doc)
		byKey[string(id.Value)] = o.parts.Collections[i]
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

// chunkFilter finds the chunks that count.
func (o *overview) chunkFilter() bson.D {
	filter := bson.D{}
	if len(o.Namespaces) > 0 {
		keys := map[string]bson.A{}
		for _, doc := range o.parts.Config["collections"] {
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
	if o.Shard != "" {
		filter = append(filter, bson.E{Key: "shard", Value: string(o.Shard)})
	}
	return filter
}

// sizes reads the data of shards, which servers before 6.0.3 do not tell.
func (o *overview) sizes() error {
	docs, err := o.aggregate("admin", int32(1), bson.D{{Key: "$shardedDataDistribution", Value: bson.D{}}})
	if o.Parts&OldSizes != 0 && mongoerr.Is(ServerError(err), unknownStage) {
		return o.oldSizes()
	}
	if err != nil {
		return o.gap(catalog.Gap{What: "sizes"}, err)
	}
	slices.SortStableFunc(docs, func(a, b bson.Raw) int { return strings.Compare(text(a, "ns"), text(b, "ns")) })
	o.distribution = docs
	byNamespace := make(map[string]bson.Raw, len(docs))
	for _, doc := range docs {
		byNamespace[text(doc, "ns")] = doc
	}
	for _, c := range o.parts.Collections {
		if doc := byNamespace[c.Namespace]; doc != nil {
			c.Sizes = sizesOf(doc)
		}
	}
	return nil
}

// oldSizes asks for the data of each collection.
func (o *overview) oldSizes() error {
	for _, c := range o.parts.Collections {
		db, name, err := catalog.SplitNamespace(c.Namespace)
		var docs []bson.Raw
		if err == nil {
			docs, err = o.aggregate(db, name, collStatsStages()...)
		}
		if err != nil {
			if err := o.gap(catalog.Gap{What: "sizes", Namespace: c.Namespace}, err); err != nil {
				return err
			}
			continue
		}
		c.Sizes = make(map[catalog.ShardID]catalog.ShardData, len(docs))
		for _, doc := range docs {
			c.Sizes[catalog.ShardID(text(doc, "shard"))] = collStatsOf(doc)
		}
	}
	return nil
}

func sizesOf(doc bson.Raw) map[catalog.ShardID]catalog.ShardData {
	sizes := map[catalog.ShardID]catalog.ShardData{}
	list, _ := doc.Lookup("shards").ArrayOK()
	values, _ := list.Values()
	for _, v := range values {
		shard, ok := v.DocumentOK()
		if !ok {
			continue
		}
		sizes[catalog.ShardID(text(shard, "shardName"))] = catalog.ShardData{
			Bytes: integer(shard, "ownedSizeBytes"), Documents: integer(shard, "numOwnedDocuments"),
			Orphans: integer(shard, "numOrphanedDocs"), OrphanBytes: integer(shard, "orphanedSizeBytes"),
		}
	}
	return sizes
}
