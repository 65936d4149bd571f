package heat_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/mock/workload"
)

// world is a collection with a workload, of which everything is known.
type world struct {
	t       testing.TB
	rand    *rand.Rand
	table   *catalog.RoutingTable
	load    *workload.Workload
	shards  []catalog.ShardID
	places  []heat.Recipient
	bytes   map[catalog.ShardID]int64 // that each has
	version catalog.ChunkVersion
	now     time.Time
	moved   map[string]time.Time
}

const chunkBytes = 100 << 20

func pattern(t testing.TB, doc bson.D) catalog.KeyPattern {
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func keyOf(t testing.TB, p catalog.KeyPattern, doc bson.D) catalog.Key {
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.ParseKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// tableOf has chunks with these bounds between, and their owners.
func tableOf(t testing.TB, p catalog.KeyPattern, bounds []catalog.Key, owners []catalog.ShardID) *catalog.RoutingTable {
	bounds = slices.Concat([]catalog.Key{p.GlobalMin()}, bounds, []catalog.Key{p.GlobalMax()})
	var chunks iter.Seq[catalog.Chunk] = func(yield func(catalog.Chunk) bool) {
		for i := range owners {
			if !yield(catalog.Chunk{Min: bounds[i], Max: bounds[i+1], Shard: owners[i],
				Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)}}) {
				return
			}
		}
	}
	table, err := catalog.NewRoutingTable(p, bson.NewObjectID(), bson.Timestamp{T: 1}, chunks)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func newWorld(t testing.TB, seed uint64, shards, each int, key bson.D, spec workload.Spec) *world {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 7)), bytes: map[catalog.ShardID]int64{}, moved: map[string]time.Time{},
		now: time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)}
	for i := range shards {
		w.shards = append(w.shards, catalog.ShardID(fmt.Sprintf("s%02d", i)))
	}
	p, n := pattern(t, key), shards*each
	var bounds []catalog.Key
	var owners []catalog.ShardID
	hashed := p.HashedField() >= 0
	points := catalog.HashedPoints(n)
	for i := range n {
		owner := w.shards[i/each]
		owners, w.bytes[owner] = append(owners, owner), w.bytes[owner]+chunkBytes
		switch {
		case i == n-1:
		case hashed:
			bounds = append(bounds, keyOf(t, p, bson.D{{Key: key[0].Key, Value: points[i]}}))
		default:
			bounds = append(bounds, keyOf(t, p, bson.D{{Key: key[0].Key, Value: int64(i+1) * 1000}}))
		}
	}
	w.table = tableOf(t, p, bounds, owners)
	for _, id := range w.shards {
		w.places = append(w.places, heat.Recipient{Shard: id, CanReceive: true, MaxBytes: int64(each/2+1) * chunkBytes})
	}
	var err error
	if w.load, err = workload.New(spec, w.table, w.rand); err != nil {
		t.Fatal(err)
	}
	return w
}

// truth is the load of each chunk and shard.
func (w *world) truth() (chunks []float64, shards map[catalog.ShardID]float64, scattered float64) {
	counts, scattered := w.load.ExpectedRates(w.table, w.now)
	shards = map[catalog.ShardID]float64{}
	for i, c := range counts {
		chunks = append(chunks, c.Reads+c.Inserts+c.Updates+c.Deletes)
		shards[w.table.At(i).Shard] += chunks[i]
	}
	for _, id := range w.table.Owners() {
		shards[id] += scattered
	}
	return chunks, shards, scattered
}

// sampled is what a cluster tells that takes samples for a time, at 50 a second.
func (w *world) sampled(span time.Duration) *heat.Map {
	in := heat.Input{Namespace: "shop.orders", Table: w.table, Span: span, Shards: w.shards,
		ShardRates: map[catalog.ShardID]heat.OperationRates{}}
	last := w.table.At(w.table.Len() - 1).Min
	count := min(50, w.load.RateAt(w.now)) * span.Seconds()
	inserts := 0
	for range workload.Poisson(w.rand, count) {
		op := w.load.Draw(w.now, last)
		kind := heat.Read
		if op.IsWrite() {
			kind = heat.Write
		}
		if op.Command == "insert" {
			if inserts++; inserts > 5000 {
				continue
			}
			if s, ok := heat.NewInsertSample(w.table.Pattern(), op.FilterOrDocument, w.now); ok {
				in.Samples = append(in.Samples, s)
			}
			continue
		}
		in.Samples = append(in.Samples, heat.NewSample(w.table.Pattern(),
			heat.Statement{Kind: kind, At: w.now, Filter: op.FilterOrDocument, SimpleCollation: true}))
	}
	counts, scattered := w.load.ExpectedRates(w.table, w.now)
	n := func(perSecond float64) float64 {
		return float64(workload.Poisson(w.rand, perSecond*span.Seconds())) / span.Seconds()
	}
	for i, c := range counts {
		id := w.table.At(i).Shard
		of := in.ShardRates[id]
		insert := n(c.Inserts)
		of.Reads, of.Inserts = of.Reads+n(c.Reads), of.Inserts+insert
		of.Writes += n(c.Updates+c.Deletes) + insert
		in.ShardRates[id] = of
	}
	for _, id := range w.table.Owners() {
		of := in.ShardRates[id]
		of.Reads += n(scattered)
		in.ShardRates[id] = of
	}
	m := heat.Estimate(in)
	return &m
}

// balance evens out, round by round, as a run does. The largest load is that right after the
// moves of the last round. Where the hot keys move on there are three rounds in quick succession:
// what they reach later was cold when somebody looked, and what was moved stays for the cool-down.
func (w *world) balance(coolDown time.Duration) (largest float64, moves int, stuck []heat.OverloadedShard) {
	rounds, apart := 8, 10*time.Minute
	if w.load.HotRangeDrift != "" {
		rounds, apart = 3, 2*time.Minute
	}
	for round := range rounds {
		if round > 0 {
			w.now = w.now.Add(apart)
		}
		d := heat.Decide([]heat.Collection{{Map: w.sampled(10 * time.Minute), ChunkBytes: w.average(),
			IsFixed: func(lower catalog.Key) bool {
				at, is := w.moved[lower.String()]
				return is && w.now.Sub(at) < coolDown
			}}}, w.places, heat.Options{LoadKind: heat.ByMixed})
		stuck = d.Overloaded
		if len(d.Steps) == 0 {
			break
		}
		for _, s := range d.Steps {
			w.apply(s, coolDown)
		}
		moves += d.Moves()
	}
	_, shards, _ := w.truth()
	var sum float64
	for _, n := range shards {
		sum, largest = sum+n, max(largest, n)
	}
	return largest / (sum / float64(len(w.shards))), moves, stuck
}

func (w *world) average() map[catalog.ShardID]int64 {
	average := map[catalog.ShardID]int64{}
	for id, n := range w.bytes {
		average[id] = n / int64(max(1, w.table.CountOn(id)))
	}
	return average
}

func (w *world) apply(s heat.Step, coolDown time.Duration) {
	chunk := w.table.Find(s.Min)
	if !chunk.Min.Equal(s.Min) || !chunk.Max.Equal(s.Max) || chunk.Shard != s.From {
		w.t.Fatalf("step %v is of a chunk that is %v on %s", s, chunk, chunk.Shard)
	}
	w.version = catalog.ChunkVersion{Major: max(w.version.Major, 1) + 1}
	changed := []catalog.Chunk{chunk}
	if s.Point.IsZero() {
		if at, is := w.moved[s.Min.String()]; is && w.now.Sub(at) < coolDown {
			w.t.Errorf("%s moves again after %v", s.Min, w.now.Sub(at))
		}
		w.moved[s.Min.String()] = w.now
		w.bytes[s.From] -= s.Bytes
		w.bytes[s.To] += s.Bytes
		for i := range w.places {
			if p := &w.places[i]; p.Shard == s.To {
				if p.MaxBytes -= s.Bytes; p.MaxBytes < 0 {
					w.t.Errorf("%s has no room for what it receives", s.To)
				}
			} else if p.Shard == s.From {
				p.MaxBytes += s.Bytes
			}
		}
		changed[0].Shard = s.To
	} else {
		upper := chunk
		changed[0].Max, upper.Min = s.Point, s.Point
		changed = append(changed, upper)
	}
	for i := range changed {
		changed[i].Version = w.version
		w.version.Minor++
	}
	table, err := w.table.Apply(changed)
	if err != nil {
		w.t.Fatalf("%v: %v", s, err)
	}
	w.table = table
}
