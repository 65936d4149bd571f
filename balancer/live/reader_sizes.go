package live

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// readSizes reads the amount of data of the collections on each shard: from $shardedDataDistribution
// since 6.0.3 (rules/03-catalog-and-keys §2.1), and from $collStats before, for unsharded collections,
// and while a shard is down.
func (r *reading) readSizes(ctx context.Context) error {
	defer r.fillZeroSizes()
	left := r.parts.Collections
	if !r.wants(LegacySizes) || r.parts.Release.FCVAtLeast(catalog.Release60) {
		err := r.readDataDistribution(ctx)
		old := r.wants(LegacySizes) && mongoerr.Is(ServerError(err), mongoerr.UnknownStage)
		if down := r.wants(CollectionSizes) && isUnanswered(err); !old && !down {
			if err != nil || !r.wants(CollectionSizes) {
				return err
			}
			left = slices.DeleteFunc(slices.Clone(left),
				func(c *catalog.CollectionState) bool { return !c.Unsplittable })
		}
	}
	down := r.unreachableShards()
	return inParallel(ctx, r.options.Parallel, left, func(ctx context.Context, c *catalog.CollectionState) error {
		if slices.ContainsFunc(c.Owners(), func(id catalog.ShardID) bool { return down[id] }) {
			return r.gapOrError(ctx, Sizes, catalog.Gap{What: "sizes", Namespace: c.Namespace},
				&ShardTimeoutError{Why: r.unreachableText()})
		}
		return r.gapOrError(ctx, Sizes, catalog.Gap{What: "sizes", Namespace: c.Namespace}, r.readCollStats(ctx, c))
	})
}

// fillZeroSizes sets the size 0 for shards without chunks of a collection, since they were not asked.
func (r *reading) fillZeroSizes() {
	for _, c := range r.parts.Collections {
		if c.Sizes == nil || c.Table == nil && c.Counts == nil || c.Unsplittable {
			continue
		}
		for _, s := range r.parts.Shards {
			if _, known := c.Sizes[s.ID]; !known && c.CountOn(s.ID).Chunks == 0 {
				c.Sizes[s.ID] = catalog.ShardData{}
			}
		}
	}
}

// readDataDistribution reads the sizes of all sharded collections with one command.
func (r *reading) readDataDistribution(ctx context.Context) error {
	first := firstShardTimeout
	if r.wants(Reachability) && r.reachabilityKnown && r.unreachableText() == "" {
		first = sizesTimeout
	}
	docs, err := r.listFromShards(ctx, first, query{database: "admin",
		pipeline: []bson.D{{{Key: "$shardedDataDistribution", Value: bson.D{}}}}})
	if err != nil {
		return err
	}
	slices.SortStableFunc(docs, func(a, b bson.Raw) int { return strings.Compare(text(a, "ns"), text(b, "ns")) })
	r.passDocuments("shardedDataDistribution", docs)
	byNamespace := make(map[string]bson.Raw, len(docs))
	for _, doc := range docs {
		byNamespace[text(doc, "ns")] = doc
	}
	for _, c := range r.parts.Collections {
		if doc := byNamespace[c.Namespace]; doc != nil {
			_, c.Sizes = catalog.ParseDistribution(doc)
		}
	}
	return nil
}

// readCollStats reads the sizes of a collection on the shards that own its chunks. Since 6.0
// it includes the number of orphaned documents; their size is estimated from the average
// document (rules/03-catalog-and-keys §2.1).
func (r *reading) readCollStats(ctx context.Context, c *catalog.CollectionState) error {
	db, name, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return err
	}
	docs, err := r.listFromShards(ctx, firstShardTimeout, query{database: db, collection: name, pipeline: []bson.D{
		{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}},
		{{Key: "$project", Value: bson.D{
			{Key: "shard", Value: 1}, {Key: "storageStats.size", Value: 1},
			{Key: "storageStats.count", Value: 1}, {Key: "storageStats.numOrphanDocs", Value: 1},
		}}},
	}})
	if err != nil {
		return err
	}
	c.Sizes = make(map[catalog.ShardID]catalog.ShardData, len(docs))
	for _, doc := range docs {
		c.Sizes[catalog.ShardID(text(doc, "shard"))] = parseCollStats(doc)
	}
	return nil
}

// parseCollStats parses the document of a shard in the result of $collStats.
func parseCollStats(doc bson.Raw) catalog.ShardData {
	size, count := integer(doc, "storageStats", "size"), integer(doc, "storageStats", "count")
	data := catalog.ShardData{Orphans: min(integer(doc, "storageStats", "numOrphanDocs"), count)}
	if count > 0 {
		data.OrphanBytes = size / count * data.Orphans
	}
	data.Bytes, data.Documents = size-data.OrphanBytes, count-data.Orphans
	return data
}
