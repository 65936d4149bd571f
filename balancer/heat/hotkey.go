package heat

import (
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
)

// HotKey is a shard key that has most of the load of its chunk, or more load than a shard should have.
// A move of its chunk only moves that load to another shard.
type HotKey struct {
	Key     catalog.Key
	Chunk   int // its index in the Map's Chunks
	Shard   catalog.ShardID
	Load    Load
	Samples int
	// LoadOfMean is the load of the key as a part of the average load of a shard.
	LoadOfMean float64
}

// The minimums for a hot key.
const (
	minHotKeySamples    = 20
	minHotKeyChunkShare = 0.5
	minHotKeyLoadOfMean = 0.25
)

func (m *Map) findHotKeys() {
	mean := m.Mean(Weights{1, 1})
	for i, c := range m.Chunks {
		for _, k := range c.Keys {
			if k.Samples < minHotKeySamples || mean == 0 {
				continue
			}
			sure, _ := poissonInterval(float64(k.Samples))
			share, least := k.Load.Total()/mean, sure/float64(k.Samples)
			most := k.Load.Total() >= minHotKeyChunkShare*c.Load.Total() && share*least >= minHotKeyLoadOfMean
			if most || share*least >= 1 {
				m.HotKeys = append(m.HotKeys, HotKey{k.Key, i, c.Shard, k.Load, k.Samples, share})
			}
		}
	}
	slices.SortFunc(m.HotKeys, func(a, b HotKey) int { return cmp.Compare(b.LoadOfMean, a.LoadOfMean) })
}

// Monotonic says that new documents are inserted at one end of the key range.
type Monotonic struct {
	AtMax            bool // otherwise at MinKey
	Shard            catalog.ShardID
	InsertShare      float64 // of new documents
	InsertsPerSecond float64
}

// The minimums for a monotonic key.
const (
	minMonotonicSamples = 20
	minMonotonicShare   = 0.9
)

func (m *Map) findMonotonic(in Input) {
	if m.InsertSamples < minMonotonicSamples || len(m.Chunks) < 2 {
		return
	}
	var first, last float64
	for _, s := range in.Samples {
		switch {
		case s.Kind != Insert || s.Key.IsZero():
		case s.Key.Less(m.Chunks[0].Max):
			first++
		case !s.Key.Less(m.Chunks[len(m.Chunks)-1].Min):
			last++
		}
	}
	share := max(first, last) / float64(m.InsertSamples)
	if share < minMonotonicShare {
		return
	}
	is := Monotonic{AtMax: last >= first, InsertShare: share, Shard: m.Chunks[0].Shard}
	if is.AtMax {
		is.Shard = m.Chunks[len(m.Chunks)-1].Shard
	}
	is.InsertsPerSecond = float64(m.InsertSamples) / max(1, m.Span.Seconds()) * share
	if c, counted := in.ShardRates[is.Shard]; counted {
		is.InsertsPerSecond = c.Inserts * share
	}
	m.Monotonic = &is
}
