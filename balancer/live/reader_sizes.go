package live

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// unknownStage is the error code for a stage that the server does not have.
const unknownStage mongoerr.Code = 40324

// sizes reads how much data of the collections each shard has: from
// $shardedDataDistribution since 6.0.3 (rules/03-catalog-and-keys §2.1), and from $collStats before, for
// unsharded collections, and while a shard is down.
func (r *reading) sizes(ctx context.Context) error {
	defer r.noSizes()
	left := r.parts.Collections
	if !r.reads(OldSizes) || r.parts.Release.AtLeast(catalog.Release60) {
		err := r.distribution(ctx)
		old := r.reads(OldSizes) && mongoerr.Is(ServerError(err), unknownStage)
		if down := r.reads(EachSize) && unanswered(err); !old && !down {
			if err != nil || !r.reads(EachSize) {
				return err
			}
			left = slices.DeleteFunc(slices.Clone(left),
				func(c *catalog.CollectionState) bool { return !c.Unsplittable })
		}
	}
	down := r.down()
	return inParallel(ctx, r.options.Parallel, left, func(ctx context.Context, c *catalog.CollectionState) error {
		if slices.ContainsFunc(c.Owners(), func(id catalog.ShardID) bool { return down[id] }) {
			return r.check(ctx, Sizes, catalog.Gap{What: "sizes", Namespace: c.Namespace}, &NoAnswerError{Why: r.away()})
		}
		return r.check(ctx, Sizes, catalog.Gap{What: "sizes", Namespace: c.Namespace}, r.collStats(ctx, c))
	})
}

// noSizes notes that shards without chunks of a collection have no data of it: they
// were not asked.
func (r *reading) noSizes() {
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

// distribution reads the sizes of all sharded collections with one command.
func (r *reading) distribution(ctx context.Context) error {
	first := firstWait
	if r.reads(Reach) && r.reached && r.away() == "" {
		first = sizesWait
	}
	docs, err := r.collect(ctx, first, query{database: "admin",
		pipeline: []bson.D{{{Key: "$shardedDataDistribution", Value: bson.D{}}}}})
	if err != nil {
		return err
	}
	slices.SortStableFunc(docs, func(a, b bson.Raw) int { return strings.Compare(text(a, "ns"), text(b, "ns")) })
	r.report("shardedDataDistribution", docs)
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

// collStats reads the sizes of a collection on the shards that own its chunks. Since 6.0
// it includes the number of orphaned documents; their size is estimated from the average
// document (rules/03-catalog-and-keys §2.1).
func (r *reading) collStats(ctx context.Context, c *catalog.CollectionState) error {
	db, name, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return err
	}
	docs, err := r.collect(ctx, firstWait, query{database: db, collection: name, pipeline: []bson.D{
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
		c.Sizes[catalog.ShardID(text(doc, "shard"))] = collStatsOf(doc)
	}
	return nil
}

// collStatsOf reads what $collStats says about a shard.
func collStatsOf(doc bson.Raw) catalog.ShardData {
	size, count := integer(doc, "storageStats", "size"), integer(doc, "storageStats", "count")
	data := catalog.ShardData{Orphans: min(integer(doc, "storageStats", "numOrphanDocs"), count)}
	if count > 0 {
		data.OrphanBytes = size / count * data.Orphans
	}
	data.Bytes, data.Documents = size-data.OrphanBytes, count-data.Orphans
	return data
}
