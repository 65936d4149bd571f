package apply

import (
	"math/bits"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
)

// maxResplits limits how many times a range that is still too large is split again.
const maxResplits = 1000

// fetchSplitPoints asks the donor for the split points of a range that was too large to be moved at
// once, and records them, since a plan can only estimate the distribution of the data.
func (r *run) fetchSplitPoints(s plan.Step, c Command) ([]catalog.Key, error) {
	ask := func() ([]catalog.Key, error) { return r.cluster.Cuts(r.hardCtx, c) }
	if r.donorsOnlyHalve {
		ask = func() ([]catalog.Key, error) { return r.halve(s, c) }
	}
	points, err := ask()
	if err != nil {
		return nil, err
	}
	if c.Kind == plan.Move && s.KnownRange != nil {
		points = points[:min(1, len(points))] // the donor moves one piece
	}
	if len(points) > 0 {
		if err := r.write(Record{What: recordCut, Step: s.Number, Points: points}); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.splitPoints[s.Number] = append(slices.Clip(r.splitPoints[s.Number]), points...)
	return points, nil
}

// halve lets the donor split a range at its median, and then the halves, until there are as many pieces
// as expected: routers up to 5.0 do not return split points. It returns the chunk bounds in the range
// after that.
func (r *run) halve(s plan.Step, c Command) (points []catalog.Key, err error) {
	look, err := r.cluster.Snapshot(r.hardCtx, r.namespaces)
	if err != nil {
		return nil, err
	}
	coll := look.Collection(s.Namespace)
	if coll == nil {
		return nil, newChangedError(s, "%s is not a sharded collection any more", s.Namespace)
	}
	var chunks []catalog.Chunk
	for before := 0; ; before = len(chunks) {
		chunks, err = r.cluster.Chunks(r.hardCtx, coll.Collection, c.Min, c.Max)
		n := len(chunks)
		if err != nil || n == before || n > max(1, len(c.ExpectedBounds)) {
			break
		}
		halves := 1 << (bits.Len(uint(n)) - 1) // all pieces are split once, from the lowest on, before one is split again
		if err := r.halveChunk(c, chunks[2*(n-halves)]); err != nil {
			return nil, err
		}
	}
	for _, chunk := range chunks {
		if c.Min.Less(chunk.Min) {
			points = append(points, chunk.Min)
		}
	}
	return points, err
}

// halveChunk lets the donor split the part of a chunk in a range at its median, after splitting the
// part off.
func (r *run) halveChunk(c Command, chunk catalog.Chunk) error {
	split := Command{Kind: plan.Split, Namespace: c.Namespace, Pattern: c.Pattern, Settings: c.Settings}
	for _, bound := range []catalog.Key{c.Max, c.Min} {
		if !chunk.Min.Less(bound) || !bound.Less(chunk.Max) {
			continue
		}
		split.Point = bound
		if err := r.cluster.Do(r.hardCtx, split); err != nil {
			return err
		}
		if bound.Equal(c.Min) {
			chunk.Min = bound
		} else {
			chunk.Max = bound
		}
	}
	split.Point, split.Halve, split.Min, split.Max = catalog.Key{}, true, chunk.Min, chunk.Max
	err := r.cluster.Do(r.hardCtx, split)
	if mongoerr.Is(err, mongoerr.CannotSplit) || mongoerr.Is(err, mongoerr.OperationFailed) {
		return nil // the part has only one key, or is empty
	}
	return err
}
