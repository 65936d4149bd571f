package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// unknownStage is the code of a stage that a server does not have.
const unknownStage mongoerr.Code = 40324

// sizes reads what each shard has of the collections: from
// $shardedDataDistribution since 6.0.3 (rules/03-catalog-and-keys §2.1), from $collStats before,
// and for collections that are tracked and not sharded.
func (r *reading) sizes(ctx context.Context) error {
	defer r.noSizes()
	left := r.parts.Collections
	if r.parts.Release.AtLeast(catalog.Release60) {
		known, err := r.distribution(ctx)
		// With a shard down the others still tell, collection by collection.
		if !mongoerr.Is(ServerError(err), unknownStage) && !isDown(err) {
			if err := r.part(ctx, catalog.Gap{What: "sizes"}, err); err != nil {
				return err
			}
			left = nil
			for _, c := range r.parts.Collections {
				if c.Sizes = known[c.Namespace]; c.Unsplittable {
					left = append(left, c)
				}
			}
		}
	}
	return inParallel(ctx, r.options.Parallel, left, func(ctx context.Context, c *catalog.CollectionState) error {
		sizes, err := r.collStats(ctx, c.Namespace)
		c.Sizes = sizes
		return r.part(ctx, catalog.Gap{What: "sizes", Namespace: c.Namespace}, err)
	})
}

// noSizes notes that shards have nothing of a collection which were not asked, as
// they have no chunk of it.
func (r *reading) noSizes() {
	for _, c := range r.parts.Collections {
		if c.Sizes == nil || c.Table == nil || c.Unsplittable {
			continue
		}
		for _, s := range r.parts.Shards {
			if _, told := c.Sizes[s.ID]; !told && c.Table.Count(s.ID) == 0 {
				c.Sizes[s.ID] = catalog.ShardData{}
			}
		}
	}
}

// distribution asks for the sizes of all sharded collections at once.
func (r *reading) distribution(ctx context.Context) (map[string]map[catalog.ShardID]catalog.ShardData, error) {
	docs, err := rows(ctx, func() (*mongo.Cursor, error) {
		return r.admin.Aggregate(ctx, bson.A{bson.D{{Key: "$shardedDataDistribution", Value: bson.D{}}}})
	})
	known := map[string]map[catalog.ShardID]catalog.ShardData{}
	for _, doc := range docs {
		known[text(doc, "ns")] = sizesOf(doc)
	}
	return known, err
}

// collStats asks the shards that own a collection's chunks for its size there.
// Orphans are told since 6.0, as documents: what they take is reckoned from the
// average document (rules/03-catalog-and-keys §2.1).
func (r *reading) collStats(ctx context.Context, ns string) (map[catalog.ShardID]catalog.ShardData, error) {
	db, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	docs, err := rows(ctx, func() (*mongo.Cursor, error) {
		return r.client.Database(db).Collection(name).Aggregate(ctx, collStatsStages())
	})
	sizes := map[catalog.ShardID]catalog.ShardData{}
	for _, doc := range docs {
		sizes[catalog.ShardID(text(doc, "shard"))] = collStatsOf(doc)
	}
	return sizes, err
}

func collStatsStages() []bson.D {
	return []bson.D{
		{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}},
		{{Key: "$project", Value: bson.D{
			{Key: "shard", Value: 1}, {Key: "storageStats.size", Value: 1},
			{Key: "storageStats.count", Value: 1}, {Key: "storageStats.numOrphanDocs", Value: 1},
		}}},
	}
}

// collStatsOf reads what $collStats says of a shard.
func collStatsOf(doc bson.Raw) catalog.ShardData {
	size, count := integer(doc, "storageStats", "size"), integer(doc, "storageStats", "count")
	data := catalog.ShardData{Orphans: min(integer(doc, "storageStats", "numOrphanDocs"), count)}
	if count > 0 {
		data.OrphanBytes = size / count * data.Orphans
	}
	data.Bytes, data.Documents = size-data.OrphanBytes, count-data.Orphans
	return data
}
