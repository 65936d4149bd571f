package live

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Limits of what the part Causes reads.
const (
	probedChunks = 10 // jumbo ones, of each collection
	probedZones  = 50 // ranges, of each collection
	probedDocs   = 1_000_000
	probedDBs    = 200
)

// causes reads what only explanations need: the indexes for shard keys, the contents of
// jumbo chunks and of the ranges of zones, and how much data is not sharded.
func (r *reading) causes(ctx context.Context) error {
	err := inParallel(ctx, r.options.Parallel, r.parts.Collections,
		func(ctx context.Context, c *catalog.CollectionState) error {
			if c.Unsplittable || c.Table == nil {
				return nil
			}
			for _, probe := range []struct {
				what string
				read func(context.Context, *catalog.CollectionState) error
			}{{"indexes", r.indexes}, {"jumbo chunks", r.jumboChunks}, {"ranges of zones", r.zoneContents}} {
				err := probe.read(ctx, c)
				if err := r.check(ctx, Causes, catalog.Gap{What: probe.what, Namespace: c.Namespace}, err); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return r.check(ctx, Causes, catalog.Gap{What: "unsharded data"}, r.unsharded(ctx))
}

// indexes finds shards that have chunks of a collection but no index that begins with its
// shard key: no chunk can be moved away from them.
func (r *reading) indexes(ctx context.Context, c *catalog.CollectionState) error {
	db, name, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return err
	}
	docs, err := r.collect(ctx, firstWait, query{database: db, collection: name, pipeline: indexStages()})
	var usable, asked []catalog.ShardID
	for _, doc := range docs {
		id := catalog.ShardID(text(doc, "shard"))
		asked = append(asked, id)
		if servesKey(doc, c.Pattern) {
			usable = append(usable, id)
		}
	}
	if err != nil {
		return err
	}
	c.IndexesKnown = true
	for _, id := range c.Owners() {
		// Every collection has an index on _id: a shard without any index was not asked.
		if slices.Contains(asked, id) && !slices.Contains(usable, id) {
			c.Unindexed = append(c.Unindexed, id)
		}
	}
	return nil
}

// indexStages returns the indexes of a collection on each shard that has chunks of it.
func indexStages() []bson.D {
	return []bson.D{
		{{Key: "$indexStats", Value: bson.D{}}},
		{{Key: "$project", Value: bson.D{{Key: "shard", Value: 1}, {Key: "key", Value: 1}, {Key: "name", Value: 1},
			{Key: "spec.partialFilterExpression", Value: 1}, {Key: "spec.sparse", Value: 1}}}},
	}
}

// servesKey reports whether chunks can be moved by an index.
func servesKey(index bson.Raw, p catalog.KeyPattern) bool {
	partial, _ := index.Lookup("spec", "partialFilterExpression").DocumentOK()
	return partial == nil && !isSet(index.Lookup("spec", "sparse")) && beginsWith(document(index, "key"), p.Doc())
}

// beginsWith reports whether the first fields of an index are those of a key.
func beginsWith(index, key bson.Raw) bool {
	want, err := key.Elements()
	have, failed := index.Elements()
	if err != nil || failed != nil || len(have) < len(want) {
		return false
	}
	for i := range want {
		if want[i].Key() != have[i].Key() || kindOf(want[i].Value()) != kindOf(have[i].Value()) {
			return false
		}
	}
	return true
}

// kindOf returns the kind of a field of an index, such as "hashed"; empty if it is ordered.
func kindOf(v bson.RawValue) string {
	kind, _ := v.StringValueOK()
	return kind
}

// unsharded adds up the data of unsharded collections on each shard: all data of a
// database, minus that of its sharded collections.
func (r *reading) unsharded(ctx context.Context) error {
	if slices.ContainsFunc(r.gaps, func(g catalog.Gap) bool { return g.What == "sizes" }) ||
		len(r.parts.Databases) > probedDBs {
		return nil
	}
	type place struct {
		database string
		shard    catalog.ShardID
	}
	sharded := map[place]int64{}
	for _, c := range r.parts.Collections {
		db, _, err := catalog.SplitNamespace(c.Namespace)
		if err != nil || c.Unsplittable {
			continue
		}
		for id, data := range c.Sizes {
			sharded[place{db, id}] += data.Bytes + data.OrphanBytes
		}
	}
	list := []catalog.UnshardedData{}
	for _, d := range r.parts.Databases {
		reply, err := r.ask(ctx, d.Name, bson.D{{Key: "dbStats", Value: 1}})
		if err != nil {
			return err
		}
		for _, s := range r.parts.Shards {
			n := integer(ofShard(reply, s.Host), "dataSize") - sharded[place{d.Name, s.ID}]
			if n > 0 {
				list = append(list, catalog.UnshardedData{Database: d.Name, Shard: s.ID, Bytes: n})
			}
		}
	}
	r.parts.Unsharded = list
	return nil
}
