package sim

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"shardsh/balancer/catalog"
)

// Amount is an amount of data.
type Amount struct{ Documents, Bytes int64 }

func (a Amount) plus(b Amount) Amount  { return Amount{a.Documents + b.Documents, a.Bytes + b.Bytes} }
func (a Amount) minus(b Amount) Amount { return Amount{a.Documents - b.Documents, a.Bytes - b.Bytes} }

// ContentsModel is a model of the contents of chunks. For a collection of the snapshot it returns a
// function from each of its chunks to the contents of the chunk in the snapshot. chunkSize is the
// effective chunk size in bytes. Inside a chunk, data is evenly distributed between the sampled keys,
// and along the shard key between two of them.
type ContentsModel func(c *catalog.CollectionState, chunkSize int64) func(catalog.Chunk) Amount

// Even is a model in which all chunks of a shard have the same size: the shard's data of the collection
// divided by its number of chunks. Chunks on shards that have reported no sizes have half the chunk
// size, like chunks that grow until they are split.
func Even(c *catalog.CollectionState, chunkSize int64) func(catalog.Chunk) Amount {
	shares := make(map[catalog.ShardID]Amount, len(c.Sizes))
	for id, data := range c.Sizes {
		if n := int64(c.Table.CountOn(id)); n > 0 {
			shares[id] = Amount{Documents: data.Documents / n, Bytes: data.Bytes / n}
		}
	}
	unknown := Amount{Documents: 1, Bytes: chunkSize / 2}
	return func(chunk catalog.Chunk) Amount {
		if share, ok := shares[chunk.Shard]; ok {
			return share
		}
		return unknown
	}
}

// Measured is a model that uses the measured sizes of chunks. Chunks without a measured size share the
// rest of their shard's data in proportion to their sampled keys, or evenly without samples.
func Measured(c *catalog.CollectionState, chunkSize int64) func(catalog.Chunk) Amount {
	sizes := slices.Clone(c.ChunkSizes)
	slices.SortFunc(sizes, func(a, b catalog.ChunkSize) int { return a.Min.Compare(b.Min) })
	find := func(k catalog.Key) (catalog.ChunkSize, bool) {
		i, ok := slices.BinarySearchFunc(sizes, k, func(s catalog.ChunkSize, k catalog.Key) int { return s.Min.Compare(k) })
		if !ok {
			return catalog.ChunkSize{}, false
		}
		return sizes[i], true
	}
	rest := map[catalog.ShardID]Amount{}
	measured := map[catalog.ShardID]int64{}
	for id, data := range c.Sizes {
		rest[id] = Amount{data.Documents, data.Bytes}
	}
	for _, size := range sizes {
		if !c.Table.HasLowerBound(size.Min) {
			continue // the chunk no longer exists
		}
		id := c.Table.ShardOf(size.Min)
		rest[id] = rest[id].minus(Amount{size.Documents, size.Bytes})
		measured[id]++
	}
	even := Even(c, chunkSize)
	hits := map[catalog.ShardID]float64{} // of chunks without a measured size
	if len(c.Sampled) > 0 {
		for chunk := range c.Table.All() {
			if _, ok := find(chunk.Min); !ok {
				hits[chunk.Shard] += sampleWeight(c, chunk)
			}
		}
	}
	return func(chunk catalog.Chunk) Amount {
		if size, ok := find(chunk.Min); ok {
			return Amount{size.Documents, size.Bytes}
		}
		left, known := rest[chunk.Shard]
		n := int64(c.Table.CountOn(chunk.Shard)) - measured[chunk.Shard]
		switch {
		case !known || n <= 0:
			return even(chunk)
		case hits[chunk.Shard] > 0:
			f := sampleWeight(c, chunk) / hits[chunk.Shard]
			return Amount{int64(f * float64(max(0, left.Documents))), int64(f * float64(max(0, left.Bytes)))}
		}
		return Amount{max(0, left.Documents) / n, max(0, left.Bytes) / n}
	}
}

// sampleWeight returns the weight of a chunk: the number of its sampled keys plus one. That is the
// expected size if the sizes were exponentially distributed. A chunk without sampled keys need not be
// empty, because the sample is small.
func sampleWeight(c *catalog.CollectionState, chunk catalog.Chunk) float64 {
	return 1 + float64(len(c.SampledKeysIn(chunk.Min, chunk.Max)))
}

// Skewed returns a model in which the sizes of a shard's chunks are log-normally distributed. sigma is
// the standard deviation of the logarithm; 0 is Even, with 1 one chunk in six is larger than 2.7 times
// the median. The total of a shard does not change. Chunks of a shard that has no more documents than
// chunks are equal. Equal seeds give equal sizes.
func Skewed(sigma float64, seed uint64) ContentsModel {
	return func(c *catalog.CollectionState, chunkSize int64) func(catalog.Chunk) Amount {
		weight := func(k catalog.Key) float64 { return math.Exp(sigma * gauss(k, seed)) }
		sums := make(map[catalog.ShardID]float64, len(c.Sizes))
		for chunk := range c.Table.All() {
			sums[chunk.Shard] += weight(chunk.Min)
		}
		even := Even(c, chunkSize)
		return func(chunk catalog.Chunk) Amount {
			data, known := c.Sizes[chunk.Shard]
			if n := int64(c.Table.CountOn(chunk.Shard)); !known || data.Documents > 0 && data.Documents <= n {
				return even(chunk)
			}
			f := weight(chunk.Min) / sums[chunk.Shard]
			return Amount{int64(f * float64(data.Documents)), int64(f * float64(data.Bytes))}
		}
	}
}

// WithEstimates returns a model that uses the sizes that a defragmentation has measured. All other chunks
// share the rest of their shard's data according to model.
func WithEstimates(model ContentsModel) ContentsModel {
	return func(c *catalog.CollectionState, chunkSize int64) func(catalog.Chunk) Amount {
		inner := model(c, chunkSize)
		measured, left := map[catalog.ShardID]int64{}, map[catalog.ShardID]int64{}
		for chunk := range c.Table.ChunksWithEstimate() {
			if size, ok := estimateOf(chunk); ok {
				measured[chunk.Shard] += size
			}
		}
		if len(measured) == 0 {
			return inner // the usual case
		}
		for chunk := range c.Table.All() {
			if _, ok := estimateOf(chunk); !ok {
				left[chunk.Shard] += inner(chunk).Bytes
			}
		}
		return func(chunk catalog.Chunk) Amount {
			data, known := c.Sizes[chunk.Shard]
			if size, ok := estimateOf(chunk); ok {
				documents := float64(size) / float64(max(1, data.Bytes)) * float64(data.Documents)
				return Amount{Documents: int64(math.Round(documents)), Bytes: size}
			}
			amount := inner(chunk)
			if known && left[chunk.Shard] > 0 {
				amount = amount.part(float64(max(0, data.Bytes-measured[chunk.Shard])) / float64(left[chunk.Shard]))
			}
			return amount
		}
	}
}

// estimateOf returns the measured size of a chunk. It returns false if the chunk was not measured or was
// too large.
func estimateOf(chunk catalog.Chunk) (int64, bool) {
	size := chunk.Estimate.Bytes()
	return size, chunk.Estimate.Known() && size != catalog.TooBig
}

// gauss returns a normally distributed number determined by a key and the seed.
func gauss(k catalog.Key, seed uint64) float64 {
	h := fnv.New64a()
	h.Write(k.Append(nil)) // never fails
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	return r.NormFloat64()
}
