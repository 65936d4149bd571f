package heat

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"shardsh/balancer/catalog"
)

// OperationRates holds a shard's operation rates on a collection.
type OperationRates struct {
	Reads, Writes float64 // a second
	// Inserts is the part of Writes that are inserts, estimated from the number of documents.
	Inserts float64
	// ReadTime and WriteTime are the average durations; zero if they are unknown.
	ReadTime, WriteTime time.Duration
}

// Input is the measured load of a collection.
type Input struct {
	Namespace string
	Table     *catalog.RoutingTable
	Samples   []Sample
	// Span is the duration of the sampling.
	Span time.Duration
	// ShardRates are the rates that the counters of the shards show; nil if they were not read.
	ShardRates map[catalog.ShardID]OperationRates
	// Shards are the shards that can have chunks. Nil means the owners of chunks.
	Shards []catalog.ShardID
}

// Map is the load of a collection by shard, chunk and key.
type Map struct {
	Namespace string
	Pattern   catalog.KeyPattern
	// Counted says that the sums come from the shards' counters. Otherwise they come from the samples
	// alone, and the real load may be a multiple.
	Counted       bool
	Samples       int
	InsertSamples int // among the samples
	Span          time.Duration
	Total         Load
	// ScatteredShare holds the shares of queries that go to all shards.
	ScatteredShare struct{ Reads, Writes float64 }
	// ReadTime and WriteTime are averages.
	ReadTime, WriteTime time.Duration
	Shards              []ShardHeat
	Chunks              []ChunkHeat // sorted by key
	HotKeys             []HotKey
	Monotonic           *Monotonic
}

// ShardHeat is the load of a collection on a shard.
type ShardHeat struct {
	Shard catalog.ShardID
	Load  Load
	// Scatter is the part of the load that a shard has as soon as it owns any chunk.
	Scatter Load
	// Unplaced is the part of the load that no sample assigns to a chunk.
	Unplaced      Load
	Chunks        int
	Samples       float64
	TotalInterval Interval // of the total load
	// BusySecondsPerSecond is how many seconds a second the shard works on the collection; 0 if it is unknown.
	BusySecondsPerSecond float64
}

// ChunkHeat is the load of a chunk.
type ChunkHeat struct {
	Min, Max catalog.Key
	Shard    catalog.ShardID
	// Load is the load of the chunk, which would move with the chunk. A query of several chunks on one
	// shard counts in part for each of them.
	Load          Load
	Samples       float64
	TotalInterval Interval  // of the total load
	Keys          []KeyLoad // sorted by key: the samples with a full key
}

// KeyLoad is the sampled load of one shard key.
type KeyLoad struct {
	Key     catalog.Key
	Load    Load
	Samples int
}

// Estimate estimates how the load is distributed.
func Estimate(in Input) Map {
	m := Map{Namespace: in.Namespace, Pattern: in.Table.Pattern(), Counted: in.ShardRates != nil, Samples: len(in.Samples),
		Span: in.Span}
	e := estimate{in: in, m: &m, shardIndex: map[catalog.ShardID]int{}}
	e.initMap()
	e.setSampleWeights()
	for i, s := range in.Samples {
		e.addSample(s, e.reached[i])
	}
	e.sumUp()
	m.findHotKeys()
	m.findMonotonic(in)
	return m
}

// Mean returns the average load of a shard.
func (m *Map) Mean(w Weights) float64 {
	if len(m.Shards) == 0 {
		return 0
	}
	return w.Weigh(m.Total) / float64(len(m.Shards))
}

// WeightsFor returns the weights of reads and writes.
func (m *Map) WeightsFor(by LoadKind) Weights {
	switch by {
	case ByReads:
		return Weights{Read: 1}
	case ByWrites:
		return Weights{Write: 1}
	}
	if m.ReadTime <= 0 || m.WriteTime <= 0 {
		return Weights{1, 1}
	}
	return Weights{m.ReadTime.Seconds(), m.WriteTime.Seconds()}
}

// Hottest returns the chunks with most load, the hottest first.
func (m *Map) Hottest(w Weights, n int) []ChunkHeat {
	list := slices.Clone(m.Chunks)
	slices.SortStableFunc(list, func(a, b ChunkHeat) int { return cmp.Compare(w.Weigh(b.Load), w.Weigh(a.Load)) })
	return list[:min(n, len(list))]
}

// estimate is the state of Estimate.
type estimate struct {
	in                Input
	m                 *Map
	shardIndex        map[catalog.ShardID]int // their index in the Map
	reached           []chunkRanges           // by sample
	sampleCounts      [][3]float64            // by shard: samples of each kind that reach it
	sampleWeights     [][3]float64            // by shard: what a sample of each kind counts there
	chunkShards       []int                   // by chunk: the index of its shard
	chunkCountsBuffer []int                   // the result buffer of chunksPerShard
	// hasQuerySamples says that some queries were sampled.
	hasQuerySamples bool
}

// chunkRanges holds the chunks that a sample targets, [from, to), for each of its ranges; nil means
// all chunks, and an empty list none.
type chunkRanges [][2]int

// initMap sets the chunks and shards of the Map, without load.
func (e *estimate) initMap() {
	for c := range e.in.Table.All() {
		e.m.Chunks = append(e.m.Chunks, ChunkHeat{Min: c.Min, Max: c.Max, Shard: c.Shard})
	}
	ids := slices.Clone(e.in.Shards)
	for _, id := range e.in.Table.Owners() {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for i, id := range ids {
		e.shardIndex[id] = i
		e.m.Shards = append(e.m.Shards, ShardHeat{Shard: id, Chunks: e.in.Table.CountOn(id)})
	}
	for _, c := range e.m.Chunks {
		e.chunkShards = append(e.chunkShards, e.shardIndex[c.Shard])
	}
	e.chunkCountsBuffer = make([]int, len(ids))
	e.sampleCounts, e.sampleWeights = make([][3]float64, len(ids)), make([][3]float64, len(ids))
	e.reached = make([]chunkRanges, len(e.in.Samples))
	for i, s := range e.in.Samples {
		e.hasQuerySamples = e.hasQuerySamples || s.Kind != Insert
		e.reached[i] = e.reachedChunks(s)
		for at, n := range e.chunksPerShard(e.reached[i]) {
			if n > 0 {
				e.sampleCounts[at][s.Kind]++
			}
		}
	}
}

// reachedChunks returns the chunks that a sample targets.
func (e *estimate) reachedChunks(s Sample) (list chunkRanges) {
	if s.isScattered() {
		return nil
	}
	if !s.Key.IsZero() {
		i := e.chunkIndex(s.Key)
		return chunkRanges{{i, i + 1}}
	}
	list = chunkRanges{} // a filter that matches nothing reaches no chunk
	for _, r := range s.Ranges {
		from := e.chunkIndex(r.From)
		to := sort.Search(len(e.m.Chunks), func(i int) bool { return e.m.Chunks[i].Min.Compare(r.To) >= 0 })
		if n := len(list); n > 0 && from < list[n-1][1] {
			list[n-1][1] = max(list[n-1][1], to)
			continue
		}
		list = append(list, [2]int{from, max(to, from+1)})
	}
	return list
}

// chunkIndex returns the index of the chunk that contains a key.
func (e *estimate) chunkIndex(k catalog.Key) int {
	i := sort.Search(len(e.m.Chunks), func(i int) bool { return k.Less(e.m.Chunks[i].Max) })
	return min(i, len(e.m.Chunks)-1)
}

// chunksPerShard returns how many chunks of each shard a sample targets, by the index of the shard. The
// number is zero for shards that the sample does not target. The result is valid until the next call.
func (e *estimate) chunksPerShard(to chunkRanges) []int {
	clear(e.chunkCountsBuffer)
	if to == nil {
		for i, s := range e.m.Shards {
			e.chunkCountsBuffer[i] = s.Chunks
		}
	}
	for _, r := range to {
		for _, at := range e.chunkShards[r[0]:r[1]] {
			e.chunkCountsBuffer[at]++
		}
	}
	return e.chunkCountsBuffer
}

// setSampleWeights sets the weight of a sample on each shard, so that the sums agree with the counters.
func (e *estimate) setSampleWeights() {
	seconds := max(e.in.Span.Seconds(), 1)
	for i, s := range e.m.Shards {
		e.sampleWeights[i] = [3]float64{1 / seconds, 1 / seconds, 1 / seconds}
		counter, counted := e.in.ShardRates[s.Shard]
		if !counted {
			continue
		}
		inserts := min(counter.Inserts, counter.Writes)
		if e.sampleCounts[i][Write] == 0 && e.sampleCounts[i][Insert] > 0 && e.hasQuerySamples {
			inserts = counter.Writes // no write was sampled, because servers do not sample inserts
		}
		sums := [3]float64{counter.Reads, counter.Writes - inserts, inserts}
		for kind, sum := range sums {
			e.sampleWeights[i][kind] = 0
			if n := e.sampleCounts[i][kind]; n > 0 {
				e.sampleWeights[i][kind] = sum / n
				continue
			}
			e.m.Shards[i].Unplaced.add(Kind(kind), sum)
		}
	}
}

// addSample adds a sample to the chunks that it targets.
func (e *estimate) addSample(s Sample, to chunkRanges) {
	parts := e.chunksPerShard(to)
	for i, n := range parts {
		if n > 0 {
			e.m.Shards[i].Samples++
		}
		if n > 0 && to == nil {
			e.m.Shards[i].Scatter.add(s.Kind, e.sampleWeights[i][s.Kind])
		}
	}
	for _, r := range to {
		for j := r[0]; j < r[1]; j++ {
			c := &e.m.Chunks[j]
			i := e.chunkShards[j]
			part := 1 / float64(parts[i])
			by := e.sampleWeights[i][s.Kind] * part
			c.Load.add(s.Kind, by)
			c.Samples += part
			if !s.Key.IsZero() {
				c.Keys = append(c.Keys, KeyLoad{s.Key, newLoad(s.Kind, by), 1})
			}
		}
	}
}

// sumUp computes the sums of the Map.
func (e *estimate) sumUp() {
	m := e.m
	for i := range m.Chunks {
		c := &m.Chunks[i]
		at := e.chunkShards[i]
		c.Keys = mergeSameKeys(c.Keys)
		m.Shards[at].Load = m.Shards[at].Load.plus(c.Load)
		c.TotalInterval = newInterval(c.Load.Total(), c.Samples, slices.Max(e.sampleWeights[at][:]))
	}
	var busy [2]float64
	for i := range m.Shards {
		s := &m.Shards[i]
		s.Load = s.Load.plus(s.Scatter).plus(s.Unplaced)
		s.TotalInterval = newInterval(s.Load.Total(), s.Samples, slices.Max(e.sampleWeights[i][:]))
		if counter, counted := e.in.ShardRates[s.Shard]; counted {
			s.TotalInterval = Interval{s.Load.Total(), s.Load.Total()}
			reads, writes := counter.Reads*counter.ReadTime.Seconds(), counter.Writes*counter.WriteTime.Seconds()
			s.BusySecondsPerSecond, busy[0], busy[1] = reads+writes, busy[0]+reads, busy[1]+writes
		}
		m.Total = m.Total.plus(s.Load)
	}
	m.ReadTime, m.WriteTime = averageTime(busy[0], m.Total.Reads), averageTime(busy[1], m.Total.Writes)
	e.setScattered()
}

func averageTime(seconds, n float64) time.Duration {
	if n <= 0 {
		return 0
	}
	return time.Duration(seconds / n * float64(time.Second))
}

// setScattered counts queries, not their cost: a query to all shards counts once.
func (e *estimate) setScattered() {
	var all, every [3]float64
	for _, s := range e.in.Samples {
		all[s.Kind]++
		if s.isScattered() {
			every[s.Kind]++
		}
	}
	e.m.InsertSamples = int(all[Insert])
	if all[Read] > 0 {
		e.m.ScatteredShare.Reads = every[Read] / all[Read]
	}
	if all[Write] > 0 {
		e.m.ScatteredShare.Writes = every[Write] / all[Write]
	}
}

// mergeSameKeys sorts and merges entries of the same key.
func mergeSameKeys(list []KeyLoad) []KeyLoad {
	slices.SortFunc(list, func(a, b KeyLoad) int { return a.Key.Compare(b.Key) })
	out := list[:0]
	for _, k := range list {
		if n := len(out); n > 0 && out[n-1].Key.Equal(k.Key) {
			out[n-1].Load = out[n-1].Load.plus(k.Load)
			out[n-1].Samples++
			continue
		}
		out = append(out, k)
	}
	return out
}
