package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// unknownStage is the code of a stage that a server does not have.
const unknownStage mongoerr.Code = 40324

// sizes reads what each shard has of the collections: from
// $shardedDataDistribution since 6.0.3 (spec 03 §2.1), from $collStats before,
// and for collections that are tracked and not sharded.
func (r *reading) sizes(ctx context.Context) error {
	left := r.parts.Collections
	if r.parts.Release.AtLeast(catalog.Release60) {
		known, err := r.distribution(ctx)
		if !hasCode(err, unknownStage) {
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

// distribution asks for the sizes of all sharded collections at once.
func (r *reading) distribution(ctx context.Context) (map[string]map[catalog.ShardID]catalog.ShardData, error) {
	cursor, err := r.admin.Aggregate(ctx, bson.A{bson.D{{Key: "$shardedDataDistribution", Value: bson.D{}}}})
	if err != nil {
		return nil, err
	}
	known := map[string]map[catalog.ShardID]catalog.ShardData{}
	err = each(ctx, cursor, func(doc bson.Raw) error {
		ns, _ := doc.Lookup("ns").StringValueOK()
		shards, _ := doc.Lookup("shards").ArrayOK()
		list, err := shards.Values()
		if err != nil {
			return mongoerr.New(mongoerr.TypeMismatch, "the distribution of %s is no list of shards", ns)
		}
		of := make(map[catalog.ShardID]catalog.ShardData, len(list))
		for _, v := range list {
			shard, _ := v.DocumentOK()
			name, _ := shard.Lookup("shardName").StringValueOK()
			of[catalog.ShardID(name)] = catalog.ShardData{
				Bytes: number(shard, "ownedSizeBytes"), Documents: number(shard, "numOwnedDocuments"),
				Orphans: number(shard, "numOrphanedDocs"), OrphanBytes: number(shard, "orphanedSizeBytes"),
			}
		}
		known[ns] = of
		return nil
	})
	return known, err
}

// number is a whole number of a document; zero when it is missing.
func number(doc bson.Raw, path ...string) int64 {
	n, _ := doc.Lookup(path...).AsInt64OK()
	return n
}

// collStats asks the shards that own a collection's chunks for its size there.
// Orphans are told since 6.0, as documents: what they take is reckoned from the
// average document (spec 03 §2.1).
func (r *reading) collStats(ctx context.Context, ns string) (map[catalog.ShardID]catalog.ShardData, error) {
	db, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	cursor, err := r.client.Database(db).Collection(name).Aggregate(ctx, bson.A{
		bson.D{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}},
		bson.D{{Key: "$project", Value: bson.D{
			{Key: "shard", Value: 1}, {Key: "storageStats.size", Value: 1},
			{Key: "storageStats.count", Value: 1}, {Key: "storageStats.numOrphanDocs", Value: 1},
		}}},
	})
	if err != nil {
		return nil, err
	}
	sizes := map[catalog.ShardID]catalog.ShardData{}
	err = each(ctx, cursor, func(doc bson.Raw) error {
		shard, _ := doc.Lookup("shard").StringValueOK()
		size, count := number(doc, "storageStats", "size"), number(doc, "storageStats", "count")
		data := catalog.ShardData{Orphans: min(number(doc, "storageStats", "numOrphanDocs"), count)}
		if count > 0 {
			data.OrphanBytes = size / count * data.Orphans
		}
		data.Bytes, data.Documents = size-data.OrphanBytes, count-data.Orphans
		sizes[catalog.ShardID(shard)] = data
		return nil
	})
	return sizes, err
}
