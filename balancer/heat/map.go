package heat

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"shardsh/balancer/catalog"
)

// Counter is a shard's operation rates of a collection.
type Counter struct {
	Reads, Writes float64 // a second
	// Inserts are those of Writes that are inserts, as far as the number of documents says.
	Inserts float64
	// ReadTime and WriteTime are how long one takes on average; zero where it is not known.
	ReadTime, WriteTime time.Duration
}

// Input is the measured load of a collection.
type Input struct {
	Namespace string
	Table     *catalog.RoutingTable
	Samples   []Sample
	// Span is how long samples were taken.
	Span time.Duration
	// Counters are those of shards; nil where nobody has counted.
	Counters map[catalog.ShardID]Counter
	// Shards are those that can have chunks. Nil means the owners of some.
	Shards []catalog.ShardID
}

// Map is the load of a collection by shard, chunk and key.
type Map struct {
	Namespace string
	Pattern   catalog.KeyPattern
	// Counted says that the sums are those of the shards' counters; otherwise they are of
	// the samples alone, and the load may be a multiple of that.
	Counted bool
	Samples int
	Inserts int // of the samples
	Span    time.Duration
	Total   Load
	// Scattered are the shares of queries that go to all shards.
	Scattered struct{ Reads, Writes float64 }
	// ReadTime and WriteTime are averages.
	ReadTime, WriteTime time.Duration
	Shards              []ShardHeat
	Chunks              []Chunk // in key order
	HotKeys             []HotKey
	Monotonic           *Monotonic
}

// ShardHeat is the load of a shard, of one collection.
type ShardHeat struct {
	Shard catalog.ShardID
	Load  Load
	// Scatter is the part that does not depend on which chunks the shard has, as long as it has one.
	Scatter Load
	// Unplaced is the part that no sample assigns to a chunk.
	Unplaced Load
	Chunks   int
	Samples  float64
	Between  Interval // of the total
	// Time is how many seconds a second it works on it; 0 where it is not known.
	Time float64
}

// Chunk is the load of a chunk.
type Chunk struct {
	Min, Max catalog.Key
	Shard    catalog.ShardID
	// Load is what goes to the chunk and would go with it; a query of several chunks of a
	// shard counts in part for each.
	Load    Load
	Samples float64
	Between Interval  // of the total
	Keys    []KeyLoad // in order: the whole keys of samples
}

// KeyLoad is the load of one shard key, as far as samples say.
type KeyLoad struct {
	Key     catalog.Key
	Load    Load
	Samples int
}

// Estimate estimates how the load is distributed.
func Estimate(in Input) Map {
	m := Map{Namespace: in.Namespace, Pattern: in.Table.Pattern(), Counted: in.Counters != nil, Samples: len(in.Samples),
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

// Mean is what each shard would have if all had the same.
func (m *Map) Mean(w Weights) float64 {
	if len(m.Shards) == 0 {
		return 0
	}
	return w.Weigh(m.Total) / float64(len(m.Shards))
}

// WeightsFor returns what reads and writes count.
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
func (m *Map) Hottest(w Weights, n int) []Chunk {
	list := slices.Clone(m.Chunks)
	slices.SortStableFunc(list, func(a, b Chunk) int { return cmp.Compare(w.Weigh(b.Load), w.Weigh(a.Load)) })
	return list[:min(n, len(list))]
}

// estimate makes a Map.
type estimate struct {
	in            Input
	m             *Map
	shardIndex    map[catalog.ShardID]int // their place in the Map
	reached       []chunkRanges           // by sample
	sampleCounts  [][3]float64            // by shard: samples of each kind that reach it
	sampleWeights [][3]float64            // by shard: what a sample of each kind counts there
	chunkShards   []int                   // by chunk: the place of its shard
	partsBuffer   []int                   // that parts returns
	// sampled says that some queries are.
	sampled bool
}

// chunkRanges are the chunks that a sample goes to, [from, to), for each of its ranges; none
// is all.
type chunkRanges [][2]int

// initMap sets the chunks and shards of the Map, without load.
func (e *estimate) initMap() {
	for c := range e.in.Table.All() {
		e.m.Chunks = append(e.m.Chunks, Chunk{Min: c.Min, Max: c.Max, Shard: c.Shard})
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
		e.m.Shards = append(e.m.Shards, ShardHeat{Shard: id, Chunks: e.in.Table.Count(id)})
	}
	for _, c := range e.m.Chunks {
		e.chunkShards = append(e.chunkShards, e.shardIndex[c.Shard])
	}
	e.partsBuffer = make([]int, len(ids))
	e.sampleCounts, e.sampleWeights = make([][3]float64, len(ids)), make([][3]float64, len(ids))
	e.reached = make([]chunkRanges, len(e.in.Samples))
	for i, s := range e.in.Samples {
		e.sampled = e.sampled || s.Kind != Insert
		e.reached[i] = e.reachedChunks(s)
		for at, n := range e.chunksPerShard(e.reached[i]) {
			if n > 0 {
				e.sampleCounts[at][s.Kind]++
			}
		}
	}
}

// reachedChunks returns the chunks of a sample.
func (e *estimate) reachedChunks(s Sample) (list chunkRanges) {
	if s.isScattered() {
		return nil
	}
	if !s.Key.IsZero() {
		i := e.chunkIndex(s.Key)
		return chunkRanges{{i, i + 1}}
	}
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

// chunksPerShard returns how many chunks of each shard a sample targets, by the index of the shard:
// zero for shards that it does not target. The result is valid until the next call.
func (e *estimate) chunksPerShard(to chunkRanges) []int {
	clear(e.partsBuffer)
	if to == nil {
		for i, s := range e.m.Shards {
			e.partsBuffer[i] = s.Chunks
		}
	}
	for _, r := range to {
		for _, at := range e.chunkShards[r[0]:r[1]] {
			e.partsBuffer[at]++
		}
	}
	return e.partsBuffer
}

// setSampleWeights sets the weight of a sample on each shard, so that the sums agree with the counters.
func (e *estimate) setSampleWeights() {
	seconds := max(e.in.Span.Seconds(), 1)
	for i, s := range e.m.Shards {
		e.sampleWeights[i] = [3]float64{1 / seconds, 1 / seconds, 1 / seconds}
		counter, counted := e.in.Counters[s.Shard]
		if !counted {
			continue
		}
		inserts := min(counter.Inserts, counter.Writes)
		if e.sampleCounts[i][Write] == 0 && e.sampleCounts[i][Insert] > 0 && e.sampled {
			inserts = counter.Writes // none of them was sampled, as inserts are not
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

// addSample adds a sample to the chunks that it goes to.
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

// sumUp sums up.
func (e *estimate) sumUp() {
	m := e.m
	for i := range m.Chunks {
		c := &m.Chunks[i]
		at := e.chunkShards[i]
		c.Keys = mergeSameKeys(c.Keys)
		m.Shards[at].Load = m.Shards[at].Load.plus(c.Load)
		c.Between = newInterval(c.Load.Total(), c.Samples, slices.Max(e.sampleWeights[at][:]))
	}
	var busy [2]float64
	for i := range m.Shards {
		s := &m.Shards[i]
		s.Load = s.Load.plus(s.Scatter).plus(s.Unplaced)
		s.Between = newInterval(s.Load.Total(), s.Samples, slices.Max(e.sampleWeights[i][:]))
		if counter, counted := e.in.Counters[s.Shard]; counted {
			s.Between = Interval{s.Load.Total(), s.Load.Total()}
			reads, writes := counter.Reads*counter.ReadTime.Seconds(), counter.Writes*counter.WriteTime.Seconds()
			s.Time, busy[0], busy[1] = reads+writes, busy[0]+reads, busy[1]+writes
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

// setScattered counts queries, and not what they cost: one that goes to all shards is one.
func (e *estimate) setScattered() {
	var all, every [3]float64
	for _, s := range e.in.Samples {
		all[s.Kind]++
		if s.isScattered() {
			every[s.Kind]++
		}
	}
	e.m.Inserts = int(all[Insert])
	if all[Read] > 0 {
		e.m.Scattered.Reads = every[Read] / all[Read]
	}
	if all[Write] > 0 {
		e.m.Scattered.Writes = every[Write] / all[Write]
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
