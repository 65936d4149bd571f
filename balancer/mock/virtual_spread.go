package mock

import (
	"math"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Fill is virtual data to lay over a collection's chunks.
type Fill struct {
	// Bytes and Docs in all. Without Docs they are of a kibibyte each.
	Bytes, Docs int64
	// Skewed gives each chunk, in key order, less than the one before: the
	// first as much as the second and third together or so. Otherwise each
	// shard gets its share, evenly over its chunks, or, without shares, each
	// chunk as much as any other.
	Skewed bool
	Shares map[catalog.ShardID]float64
}

// virtualDocBytes is the size of virtual documents of which nothing is said.
const virtualDocBytes = 1 << 10

// SpreadVirtual adds virtual data to a sharded collection: it counts and moves as real
// documents would, takes no memory and can't be read.
func (cs *Collections) SpreadVirtual(ns string, f Fill) error {
	coll, err := cs.c.config.Sharded(ns)
	if err != nil {
		return err
	}
	if f.Docs == 0 {
		f.Docs = (f.Bytes + virtualDocBytes - 1) / virtualDocBytes
	}
	if f.Bytes <= 0 || f.Docs < 0 || f.Docs > f.Bytes {
		return mongoerr.New(mongoerr.BadValue, "bytes must be above zero and docs between one and as many as there are bytes")
	}
	weights, err := cs.weights(ns, f)
	if err != nil {
		return err
	}
	var total, before float64
	for _, w := range weights {
		total += w
	}
	upTo := func(n int64, at float64) int64 { return int64(math.Round(float64(n) * at / total)) }
	for chunk := range cs.c.config.tables[ns].All() {
		w := weights[0]
		weights = weights[1:]
		part := extent{
			min: chunk.Min, max: chunk.Max,
			docs:  upTo(f.Docs, before+w) - upTo(f.Docs, before),
			bytes: upTo(f.Bytes, before+w) - upTo(f.Bytes, before),
		}
		before += w
		if part.empty() {
			continue
		}
		local := cs.c.shards[chunk.Shard].colls[ns]
		had := local.virtual.take(coll.Pattern, chunk.Min, chunk.Max)
		part.docs, part.bytes = part.docs+had.docs, part.bytes+had.bytes
		local.virtual.add(part)
	}
	return nil
}

// weights says how much of the data each chunk gets, in key order.
func (cs *Collections) weights(ns string, f Fill) ([]float64, error) {
	table := cs.c.config.tables[ns]
	weights := make([]float64, 0, table.Len())
	switch {
	case f.Skewed:
		for i := range table.Len() {
			weights = append(weights, 1/float64(i+1))
		}
		return weights, nil
	case f.Shares == nil:
		return slices.Repeat([]float64{1}, table.Len()), nil
	}
	var sum float64
	for id, share := range f.Shares {
		switch {
		case cs.c.shards[id] == nil:
			return nil, mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", id)
		case share < 0 || math.IsNaN(share) || math.IsInf(share, 0):
			return nil, mongoerr.New(mongoerr.BadValue, "the share of %s is below zero or no number", id)
		case share > 0 && table.Count(id) == 0:
			return nil, mongoerr.New(mongoerr.BadValue, "%s has no chunk of %s to fill: move one there first", id, ns)
		}
		sum += share
	}
	if math.Abs(sum-1) > 0.01 {
		return nil, mongoerr.New(mongoerr.BadValue, "the shares of the distribution add up to %v, not to 1", sum)
	}
	for chunk := range table.All() {
		weights = append(weights, f.Shares[chunk.Shard]/float64(table.Count(chunk.Shard)))
	}
	return weights, nil
}
