package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// These constants limit the part KeySamples. A storage engine can draw up to a twentieth of a shard's
// documents without a scan. It scans the collection if the shard has less than twenty times the sample.
const (
	maxSampledKeys        = 1000 // per collection
	maxSampledCollections = 100  // the largest collections
	maxSplitVectorChunks  = 32   // per collection whose documents the user may not read
	splitVectorPieces     = 500  // number of pieces into which a collection is divided
	minSplitVectorBytes   = 1 << 20
	maxSplitVectorBytes   = 1 << 30
	splitVectorSizeFactor = 2 // splitVector returns points for pieces of half the given size
)

// readSamples reads the key distribution of the collections whose chunks may be split. A collection
// that is smaller than a chunk, or hashed, needs no sample.
func (r *reading) readSamples(ctx context.Context) error {
	large := map[*catalog.CollectionState]int64{}
	for _, c := range r.selectedCollections() {
		size := c.ChunkSize(r.parts.Settings)
		if bytes := totalBytes(c); c.Table != nil && !c.KnowsKeyDistribution() && bytes > size {
			large[c] = bytes
		}
	}
	var list []*catalog.CollectionState
	for _, c := range r.parts.Collections { // keeps the order
		if large[c] > 0 {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *catalog.CollectionState) int { return cmp.Compare(large[b], large[a]) })
	if n := len(list); n > maxSampledCollections {
		r.addGap(catalog.Gap{}, fmt.Errorf("keys were sampled in the %d largest of %d collections", maxSampledCollections, n))
		list = list[:maxSampledCollections]
	}
	return inParallel(ctx, r.options.Parallel, list, func(ctx context.Context, c *catalog.CollectionState) error {
		err := r.sampleKeys(ctx, c)
		if isRefused(err) {
			_ = r.readSplitVectors(ctx, c, large[c])
			return nil // plans without a sample say that they estimate
		}
		return r.gapOrError(ctx, KeySamples, catalog.Gap{What: "keys", Namespace: c.Namespace}, err)
	})
}

// totalBytes returns the total size of a collection.
func totalBytes(c *catalog.CollectionState) (bytes int64) {
	for _, data := range c.Sizes {
		bytes += data.Bytes
	}
	return bytes
}

// sampleKeys reads the shard keys of random documents.
func (r *reading) sampleKeys(ctx context.Context, c *catalog.CollectionState) error {
	db, name, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return err
	}
	docs, err := r.listFromShards(ctx, firstShardTimeout, query{
		database: db, collection: name, pipeline: SampleStages(c.Pattern, maxSampledKeys),
	})
	if err != nil {
		return err
	}
	for _, doc := range docs {
		key, err := c.Pattern.DocumentKey(doc)
		if err != nil {
			return err
		}
		c.Sampled = append(c.Sampled, key)
	}
	slices.SortFunc(c.Sampled, catalog.Key.Compare)
	return nil
}

// SampleStages returns the pipeline for a random sample with the fields of a shard key.
func SampleStages(p catalog.KeyPattern, size int) []bson.D {
	fields := bson.D{{Key: "_id", Value: 0}}
	for _, f := range p.Fields() {
		if f == "_id" {
			fields = fields[1:]
		}
		fields = append(fields, bson.E{Key: f, Value: 1})
	}
	return []bson.D{
		{{Key: "$sample", Value: bson.D{{Key: "size", Value: int32(size)}}}}, {{Key: "$project", Value: fields}},
	}
}

// readSplitVectors reads the points at which the shards would split all chunks of a collection into
// pieces of one size. This needs another privilege than reading the collection, and an index scan per
// chunk.
func (r *reading) readSplitVectors(ctx context.Context, c *catalog.CollectionState, bytes int64) error {
	if n := c.Table.Len(); n > maxSplitVectorChunks {
		return fmt.Errorf("splitVector is not asked for more than %d chunks, and it has %d", maxSplitVectorChunks, n)
	}
	size := min(maxSplitVectorBytes, max(minSplitVectorBytes, splitVectorSizeFactor*bytes/splitVectorPieces))
	var keys []catalog.Key
	for chunk := range c.Table.All() {
		points, err := splitVector(ctx, r.askShards, c.Pattern, c.Namespace, chunk.Min, chunk.Max, size)
		if err != nil {
			return err
		}
		keys = append(keys, points...)
	}
	c.Sampled = keys
	return nil
}
