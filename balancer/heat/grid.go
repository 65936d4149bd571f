package heat

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// Grid is the load of a collection by key range and time: the data of a heat map. Servers limit the
// sampled queries a second, so a Grid has shares and not absolute loads.
type Grid struct {
	From time.Time     `json:"from"`
	Step time.Duration `json:"stepNanos"`
	// Samples is the number of samples in each part of the time.
	Samples []int       `json:"samples"`
	Ranges  []GridRange `json:"ranges"` // in key order
}

// GridRange is a range of shard keys: one chunk, or several adjacent chunks.
type GridRange struct {
	Min     catalog.Key     `json:"-"`
	Max     catalog.Key     `json:"-"`
	MinText string          `json:"min"` // Min as displayed; empty until it is formatted
	Chunks  int             `json:"chunks"`
	Shard   catalog.ShardID `json:"shard"` // the shard of the hottest chunk in the range
	// Shares are the range's part of the queries in each part of the time, 0 to 1. Queries that go to
	// all shards are left out, and so are inserts, which servers do not sample.
	Shares []float64 `json:"shares"`
}

// MakeGrid distributes the samples of a Map over key ranges and time, in at most ranges and times
// parts.
func MakeGrid(in Input, m *Map, ranges, times int) Grid {
	samples := slices.DeleteFunc(slices.Clone(in.Samples), func(s Sample) bool {
		return s.Kind == Insert || s.isScattered() || s.At.IsZero()
	})
	if len(samples) == 0 || len(m.Chunks) == 0 || ranges < 1 || times < 1 {
		return Grid{Samples: []int{}, Ranges: []GridRange{}}
	}
	order := func(a, b Sample) int { return a.At.Compare(b.At) }
	first, last := slices.MinFunc(samples, order).At, slices.MaxFunc(samples, order).At
	c := Grid{From: first, Step: roundStep(last.Sub(first), times)}
	c.Samples = make([]int, int(last.Sub(first)/c.Step)+1)
	c.addRanges(m, min(ranges, len(m.Chunks)))
	c.countSamples(in, m, samples)
	return c
}

// roundStep returns a round duration for a part of span.
func roundStep(span time.Duration, parts int) time.Duration {
	for _, d := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second,
		30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute} {
		if span < d*time.Duration(parts) {
			return d
		}
	}
	return (span/time.Duration(parts) + time.Hour).Truncate(time.Hour)
}

// addRanges adds n ranges of equally many chunks.
func (c *Grid) addRanges(m *Map, n int) {
	for i := range n {
		chunks := m.Chunks[i*len(m.Chunks)/n : (i+1)*len(m.Chunks)/n]
		hottest := slices.MaxFunc(chunks, func(a, b ChunkHeat) int { return cmp.Compare(a.Samples, b.Samples) })
		c.Ranges = append(c.Ranges, GridRange{Min: chunks[0].Min, Max: chunks[len(chunks)-1].Max, Chunks: len(chunks),
			Shard: hottest.Shard, Shares: make([]float64, len(c.Samples))})
	}
}

// countSamples counts the samples. A query of several chunks counts in part for each of them.
func (c *Grid) countSamples(in Input, m *Map, samples []Sample) {
	e := estimate{in: in, m: m}
	for _, s := range samples {
		at := int(s.At.Sub(c.From) / c.Step)
		c.Samples[at]++
		reached := e.reachedChunks(s)
		chunks := 0
		for _, r := range reached {
			chunks += r[1] - r[0]
		}
		for _, r := range reached {
			for j := r[0]; j < r[1]; j++ {
				i := ((j+1)*len(c.Ranges) - 1) / len(m.Chunks)
				c.Ranges[i].Shares[at] += 1 / float64(chunks)
			}
		}
	}
	for _, r := range c.Ranges {
		for at := range r.Shares {
			r.Shares[at] /= float64(max(1, c.Samples[at]))
		}
	}
}
