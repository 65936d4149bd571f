package sim

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// StartAction starts a merge or a measurement.
func (c *cluster) StartAction(a policy.StreamAction, done func(policy.StreamActionResult)) {
	takes := c.costs.actionTime(a.Kind)
	c.sawActivity = true
	c.activeOps++
	var act func()
	act = func() {
		if a.Kind == policy.MergeRange && c.donatingNamespace[a.Shard] == a.Namespace {
			c.queue.After(takes, act) // waits for the migration
			return
		}
		c.activeOps--
		c.sawActivity = true
		done(c.performAction(a))
	}
	c.queue.After(takes, act)
}

func (c *cluster) performAction(a policy.StreamAction) policy.StreamActionResult {
	coll, err := c.find(a.Namespace)
	if err != nil {
		return policy.StreamActionResult{Err: err}
	}
	switch a.Kind {
	case policy.MergeRange:
		return policy.StreamActionResult{Err: c.merge(coll, a)}
	case policy.MeasureRange:
		size := coll.measuredSize(coll.chunks.Find(a.Min))
		return policy.StreamActionResult{MeasuredBytes: size, MaxReached: size > a.MaxBytes}
	}
	return c.mergeAll(coll, a.Shard)
}

func (c *cluster) merge(coll *collection, a policy.StreamAction) error {
	chunks := slices.AppendSeq(c.mergeBuf[:0], coll.chunks.Overlapping(a.Min, a.Max))
	c.mergeBuf = chunks
	elsewhere := func(chunk catalog.Chunk) bool { return chunk.Shard != a.Shard }
	switch {
	case !catalog.CoverExactly(chunks, a.Min, a.Max), slices.ContainsFunc(chunks, elsewhere):
		return mongoerr.New(mongoerr.StaleConfig, "the range is not made of whole chunks of shard %s", a.Shard)
	case len(chunks) == 1:
		return nil
	}
	merged := c.commitRules().Merge(coll.chunks, chunks)
	if err := coll.put(merged); err != nil {
		return err
	}
	c.recordEvent(Event{Kind: Merged, Namespace: a.Namespace, From: a.Shard, Min: a.Min, Max: a.Max, Chunks: len(chunks)})
	return nil
}

func (c *cluster) mergeAll(coll *collection, id catalog.ShardID) policy.StreamActionResult {
	if !coll.mayHaveMergeable(id) {
		return policy.StreamActionResult{}
	}
	search := policy.MergeSearch{
		Table: coll.chunks.Table(), Zones: coll.initial.Zones, Shard: id, Cutoff: c.mergeCutoff(),
		Limits: policy.MergeLimits{Chunks: policy.AutoMergeMaxChunks, Time: time.Minute},
	}
	runs := policy.MergeableRuns(search)
	if len(runs) == 0 {
		search.AnyAge = true
		coll.mergeableShards[id] = len(policy.MergeableRuns(search)) > 0 // time alone does not change this
		return policy.StreamActionResult{}
	}
	merged := c.commitRules().MergeRuns(coll.chunks, runs)
	count := 0
	for _, run := range runs {
		count += len(run)
	}
	if err := coll.put(merged...); err != nil {
		return policy.StreamActionResult{Err: err}
	}
	for i, chunk := range merged {
		c.recordEvent(Event{
			Kind: Merged, Namespace: coll.entry.Namespace, From: id, Min: chunk.Min, Max: chunk.Max, Chunks: len(runs[i]),
		})
	}
	return policy.StreamActionResult{MergedChunks: count}
}

// Split splits a chunk if it still exists.
func (c *cluster) Split(_ context.Context, s policy.Split) error {
	coll, err := c.find(s.Namespace)
	if err != nil {
		return err
	}
	chunk := coll.chunks.Find(s.Min)
	if chunk.Shard != s.Shard || !chunk.Min.Equal(s.Min) || !chunk.Max.Equal(s.Max) {
		return mongoerr.New(mongoerr.StaleConfig, "no chunk of %s with these bounds", s.Namespace)
	}
	pieces := c.commitRules().Split(coll.chunks, chunk, s.Points)
	if err := coll.put(pieces...); err != nil {
		return err
	}
	c.recordEvent(Event{Kind: Split, Namespace: s.Namespace, From: s.Shard, Min: s.Min, Max: s.Max, Points: s.Points})
	return nil
}

// SplitPoint returns the chunk of a migration that was too large and a point to split it at, if there is
// one. Before 6.0 it returns all points that split the chunk into pieces of half a chunk size
// (rules/01-selection §10.1).
func (c *cluster) SplitPoint(_ context.Context, m policy.Migration) (policy.Split, error) {
	coll, err := c.find(m.Namespace)
	if err != nil {
		return policy.Split{}, err
	}
	chunk := coll.chunks.Find(m.Min)
	split := policy.Split{
		Namespace: m.Namespace, Shard: chunk.Shard, Version: coll.chunks.Version(), Min: chunk.Min, Max: chunk.Max,
	}
	if !c.initial.Release().BalancesBySize() {
		split.Points = c.halfSizePoints(coll, chunk, m.MaxChunkSizeBytes)
	} else if point, ok := c.splitPoint(coll, chunk, m.MaxChunkSizeBytes); ok {
		split.Points = []catalog.Key{point}
	}
	return split, nil
}

// halfSizePoints returns the points that split a chunk into pieces of half a chunk size, as splitVector
// does for balancers before 6.0 (rules/01-selection §10.1): the next key after each such number of keys.
func (c *cluster) halfSizePoints(coll *collection, chunk catalog.Chunk, chunkSize int64) (points []catalog.Key) {
	local := coll.stored[chunk.Shard]
	if local.Documents == 0 || local.Bytes < chunkSize || local.Bytes/local.Documents == 0 {
		return nil
	}
	documents := coll.contents(chunk).Documents
	piece := 1 + min(chunkSize/(2*(local.Bytes/local.Documents)), policy.MaxKeysPerPiece)
	for passed := piece; passed < documents; passed += piece {
		point, ok := coll.extents.keyAfterDocuments(chunk.Min, chunk.Max, passed)
		if !ok {
			break
		}
		coll.computedBounds.add(point, chunk)
		points = append(points, point)
	}
	return points
}

// MarkJumbo marks a chunk as jumbo.
func (c *cluster) MarkJumbo(_ context.Context, ns string, lower catalog.Key) error {
	chunk, err := c.modifyChunk(ns, lower, func(chunk *catalog.Chunk) { chunk.Jumbo = catalog.JumboTrue })
	if err == nil {
		c.recordEvent(Event{Kind: MarkedJumbo, Namespace: ns, From: chunk.Shard, Min: chunk.Min, Max: chunk.Max})
	}
	return err
}

// modifyChunk changes the chunk that begins at a key without changing its version.
func (c *cluster) modifyChunk(ns string, lower catalog.Key, change func(*catalog.Chunk)) (catalog.Chunk, error) {
	coll, err := c.find(ns)
	if err != nil {
		return catalog.Chunk{}, err
	}
	chunk := coll.chunks.Find(lower)
	if !chunk.Min.Equal(lower) {
		return chunk, mongoerr.New(mongoerr.NoMatchingDocument, "no chunk of %s begins at %s", ns, lower)
	}
	change(&chunk)
	return chunk, coll.put(chunk)
}

// SwitchOffBalancing sets noBalance for a collection.
func (c *cluster) SwitchOffBalancing(_ context.Context, ns string) error {
	coll, err := c.find(ns)
	if err != nil {
		return err
	}
	coll.entry.NoBalance = true
	c.markEntryChanged(coll)
	c.recordEvent(Event{Kind: BalancingSwitchedOff, Namespace: ns})
	return nil
}

// SetEstimate stores the measured size of a chunk.
func (c *cluster) SetEstimate(_ context.Context, ns string, _ bson.Binary, m policy.Measurement) error {
	_, err := c.modifyChunk(ns, m.Min, func(chunk *catalog.Chunk) { chunk.Estimate = m.Size })
	return err
}

// SetDefragmentationPhase stores the phase of a collection.
func (c *cluster) SetDefragmentationPhase(_ context.Context, ns string, _ bson.Binary, phase policy.PhaseName) error {
	coll, err := c.find(ns)
	if err != nil {
		return err
	}
	coll.entry.DefragmentationPhase = string(phase)
	c.markEntryChanged(coll)
	c.recordEvent(Event{Kind: PhaseEntered, Namespace: ns, Phase: phase})
	return nil
}

// EndDefragmentation removes the defragmentation state from the catalog.
func (c *cluster) EndDefragmentation(_ context.Context, ns string, _ bson.Binary) error {
	coll, err := c.find(ns)
	if err != nil {
		return err
	}
	coll.entry.Defragment, coll.entry.DefragmentationPhase = false, ""
	c.markEntryChanged(coll)
	coll.chunks = catalog.NewDraft(coll.chunks.Table().WithoutEstimates())
	c.recordEvent(Event{Kind: Defragmented, Namespace: ns})
	return nil
}
