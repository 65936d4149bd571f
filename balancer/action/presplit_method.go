package action

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// PresplitMethod says how a collection is presplit. Exactly one of the methods is set.
type PresplitMethod struct {
	Namespace string
	// Chunks and ChunksPerShard split the range of hashes evenly: into the given number of parts, or into
	// that number for each shard that is not draining.
	Chunks, ChunksPerShard int
	// ChunksFromSample is the number of chunks. The split points are such that each chunk has the same number
	// of documents of a sample.
	ChunksFromSample int
	// Points are the split points, as documents. The last fields of the key may be missing.
	Points []bson.Raw
	// ReadTemplate reads a cluster whose chunks and distribution of the collection are to be copied.
	ReadTemplate func(ctx context.Context) (*catalog.Snapshot, error)
}

// NewTemplateReader returns a function for PresplitMethod.ReadTemplate that reads a cluster.
func NewTemplateReader(client *mongo.Client, address, ns string) func(ctx context.Context) (*catalog.Snapshot, error) {
	return func(ctx context.Context) (*catalog.Snapshot, error) {
		s, err := live.NewSecondaryReader(client, nil, live.ReaderOptions{
			Parts: live.Identity | live.Settings | live.Shards | live.Collections | live.Chunks | live.Zones | live.Sizes |
				live.LegacySizes | live.KeySamples,
			Required: live.Shards | live.Collections | live.Chunks | live.Zones,
			Source:   catalog.Source{Kind: catalog.SourceLive, Name: address}, Namespaces: []string{ns},
		}).Read(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", address, err)
		}
		return s, nil
	}
}

// MaxPresplitChunks is the maximum number of chunks of a presplit.
const MaxPresplitChunks = 100_000

// Validate refuses invalid numbers, and options that do not set exactly one method.
func (p PresplitMethod) Validate() error {
	given := 0
	for _, n := range []int{p.Chunks, p.ChunksPerShard, p.ChunksFromSample, len(p.Points)} {
		if n < 0 || n > MaxPresplitChunks {
			return refuse("the number of chunks must be 1 to %d, not %d", MaxPresplitChunks, n)
		}
		if n > 0 {
			given++
		}
	}
	if p.ReadTemplate != nil {
		given++
	}
	if given != 1 {
		return refuse("give one of {chunks} or {perShard} (of a hashed key), {points}, {fromSample}, {like}")
	}
	return nil
}

// Goal returns the goal for a cluster. A sample is read through the client.
func (p PresplitMethod) Goal(ctx context.Context, client *mongo.Client, s *catalog.Snapshot) (plan.Goal, error) {
	goal := plan.Goal{Kind: plan.Presplit, Namespaces: []string{p.Namespace}}
	c := s.Collection(p.Namespace)
	if c == nil || c.Unsplittable {
		return goal, fmt.Errorf("%w; sh.shardCollection(%q, { <key>: 1 })",
			diagnosis.NewCollectionNotFound(s, p.Namespace), p.Namespace)
	}
	var err error
	switch {
	case p.ReadTemplate != nil:
		other, err := p.ReadTemplate(ctx)
		if err != nil {
			return goal, err
		}
		if goal, err = plan.LayoutGoal(p.Namespace, s, other); err == nil && len(goal.TargetShards) > MaxPresplitChunks {
			err = refuse("{like} has more than %d chunks of %s", MaxPresplitChunks, p.Namespace)
		}
		return goal, err
	case len(p.Points) > 0:
		goal.Points, err = pointsOf(c, p.Points)
	case p.ChunksFromSample > 0:
		goal.Points, err = samplePoints(ctx, client, c, p.ChunksFromSample)
	case p.ChunksPerShard > 0:
		n := p.ChunksPerShard * len(s.NonDrainingShards())
		if n > MaxPresplitChunks {
			return goal, refuse("{perShard} %d makes %d chunks, and %d are possible", p.ChunksPerShard, n, MaxPresplitChunks)
		}
		goal.Points, err = evenPoints(c, n)
	default:
		goal.Points, err = evenPoints(c, p.Chunks)
	}
	return goal, err
}

func pointsOf(c *catalog.CollectionState, docs []bson.Raw) ([]catalog.Key, error) {
	var points []catalog.Key
	for i, doc := range docs {
		k, err := c.Pattern.ExtendBound(doc)
		if err != nil {
			return nil, fmt.Errorf("point %d: %w", i+1, err)
		}
		points = append(points, k)
	}
	return points, nil
}

// toleranceDivisor is the fraction (1/toleranceDivisor) of an even part by which an existing bound may
// differ from a split point and still count as that point: rounding depends on the number of parts.
const toleranceDivisor = 1000

// evenPoints returns the points that split the range of hashes into n equal parts.
func evenPoints(c *catalog.CollectionState, n int) ([]catalog.Key, error) {
	if c.Pattern.HashedField() != 0 {
		return nil, refuse("the shard key of %s, %s, does not begin with a hash, so where its keys lie is not known: "+
			"give {points}, or cut by a sample of its documents with {fromSample}", c.Namespace, c.Pattern)
	}
	var there []int64
	for chunk := range c.Table.All() {
		if h, ok := chunk.Min.Values()[0].AsInt64OK(); ok {
			there = append(there, h)
		}
	}
	tolerance := uint64(math.MaxInt64) / uint64(max(n, 1)) / toleranceDivisor
	var points []catalog.Key
	for _, at := range catalog.HashedPoints(n) {
		i, _ := slices.BinarySearch(there, at)
		if i < len(there) && uint64(there[i]-at) <= tolerance || i > 0 && uint64(at-there[i-1]) <= tolerance {
			continue
		}
		k, err := c.Pattern.HashedBound(c.Pattern.GlobalMin(), at)
		if err != nil {
			return nil, err
		}
		points = append(points, k)
	}
	return points, nil
}

// docsPerChunk is the number of sampled documents per chunk.
const (
	docsPerChunk  = 20
	maxSampleSize = 100_000
	minSampleSize = 1000
)

// samplePoints returns split points that divide a sample of a collection's documents evenly.
func samplePoints(
	ctx context.Context,
	client *mongo.Client,
	c *catalog.CollectionState,
	chunks int,
) ([]catalog.Key, error) {
	size := min(max(docsPerChunk*chunks, minSampleSize), maxSampleSize)
	database, name, _ := strings.Cut(c.Namespace, ".")
	cursor, err := client.Database(database).Collection(name).Aggregate(ctx,
		live.SampleStages(c.Pattern, size), options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return nil, fmt.Errorf("a sample of %s: %w", c.Namespace, err)
	}
	defer func() { _ = live.CloseCursor(ctx, cursor) }() // the documents read so far suffice
	var keys []catalog.Key
	for cursor.Next(ctx) {
		k, err := c.Pattern.DocumentKey(cursor.Current)
		if err != nil {
			return nil, fmt.Errorf("a sample of %s: %w", c.Namespace, err)
		}
		keys = append(keys, k)
	}
	if err := cursor.Err(); err != nil {
		return nil, fmt.Errorf("a sample of %s: %w", c.Namespace, err)
	}
	if len(keys) == 0 {
		return nil, refuse("%s has no documents to take a sample of: give {points}, or {chunks} for a key that begins "+
			"with a hash", c.Namespace)
	}
	slices.SortFunc(keys, catalog.Key.Compare)
	var points []catalog.Key
	for i := 1; i < chunks; i++ {
		points = append(points, keys[i*len(keys)/chunks])
	}
	return slices.CompactFunc(points, catalog.Key.Equal), nil
}
