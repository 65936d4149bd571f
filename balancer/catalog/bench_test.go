package catalog

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The size these numbers are promised for.
const (
	manyChunks = 1_000_000
	manyShards = 100
)

// fleet is a collection of a million chunks as the balancer left it: owners
// mixed, most chunks moved once or more.
type fleet struct {
	pattern KeyPattern
	points  []int64
}

func newFleet(t testing.TB) fleet {
	p, err := ParseKeyPattern(doc(t, bson.D{{Key: "k", Value: "hashed"}}))
	if err != nil {
		t.Fatal(err)
	}
	f := fleet{pattern: p, points: make([]int64, manyChunks-1)}
	step := ^uint64(0)/manyChunks + 1
	for i := range f.points {
		f.points[i] = int64(uint64(i+1)*step - 1<<63)
	}
	return f
}

func (f fleet) shard(i int) ShardID {
	return ShardID(fmt.Sprintf("shard%03d", uint32(i)*2654435761>>16%manyShards))
}

func (f fleet) bound(i int) bson.D {
	switch i {
	case 0:
		return bson.D{{Key: "k", Value: bson.MinKey{}}}
	case manyChunks:
		return bson.D{{Key: "k", Value: bson.MaxKey{}}}
	}
	return bson.D{{Key: "k", Value: f.points[i-1]}}
}

// middle returns a key between the bounds of a chunk that have numbers.
func (f fleet) middle(t testing.TB, c Chunk) (Key, bool) {
	low, ok := c.Min.Values()[0].Int64OK()
	high, okToo := c.Max.Values()[0].Int64OK()
	if !ok || !okToo || high-low < 2 {
		return Key{}, false
	}
	k, err := f.pattern.ParseKey(doc(t, bson.D{{Key: "k", Value: low + (high-low)/2}}))
	return k, err == nil
}

// documents returns the config.chunks documents, one after the other.
func (f fleet) documents(t testing.TB, history int) []byte {
	var all []byte
	uuid := bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	for i := range manyChunks {
		entries := bson.A{}
		for h := range history {
			entries = append(entries, bson.D{{Key: "validAfter", Value: bson.Timestamp{T: uint32(1700000000 + i - h), I: 1}},
				{Key: "shard", Value: f.shard(i + h)}})
		}
		all = append(all, doc(t, bson.D{
			{Key: "_id", Value: bson.ObjectID{byte(i >> 16), byte(i >> 8), byte(i), 1}},
			{Key: "uuid", Value: uuid},
			{Key: "min", Value: f.bound(i)},
			{Key: "max", Value: f.bound(i + 1)},
			{Key: "shard", Value: f.shard(i)},
			{Key: "lastmod", Value: bson.Timestamp{T: uint32(1 + i/2), I: uint32(i % 2)}},
			{Key: "onCurrentShardSince", Value: bson.Timestamp{T: uint32(1700000000 + i), I: 1}},
			{Key: "history", Value: entries},
		})...)
	}
	return all
}

func each(documents []byte) iter.Seq[bson.Raw] {
	return func(yield func(bson.Raw) bool) {
		for rest := documents; len(rest) > 0; {
			n := binary.LittleEndian.Uint32(rest)
			if !yield(bson.Raw(rest[:n])) {
				return
			}
			rest = rest[n:]
		}
	}
}

func (f fleet) build(t testing.TB, documents []byte) *RoutingTable {
	b := NewTableBuilder(f.pattern, bson.ObjectID{1}, bson.Timestamp{T: 1})
	for raw := range each(documents) {
		if err := b.Add(raw); err != nil {
			t.Fatal(err)
		}
	}
	rt, err := b.Table()
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// record is the least one could make of a chunk. One pass over a million of
// them is what the other figures are compared with.
type record struct {
	key   uint64
	bytes uint64
	shard uint32
	_     uint32 // flags
	_     uint64 // version
}

var sink uint64

// pass measures one pass over packed records for totals per shard.
func pass() time.Duration {
	records := make([]record, manyChunks)
	for i := range records {
		records[i] = record{key: uint64(i), bytes: uint64(i), shard: uint32(i) * 2654435761 >> 16 % manyShards}
	}
	best := time.Hour
	for range 20 {
		var totals [manyShards]uint64
		start := time.Now()
		for i := range records {
			totals[records[i].shard] += records[i].bytes
		}
		best = min(best, time.Since(start))
		sink += totals[0]
	}
	return best
}

// against reports how many such passes one operation takes.
func against(b *testing.B, one time.Duration) {
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(one), "passes/op")
}

func BenchmarkMillionChunks(b *testing.B) {
	one := pass()
	f := newFleet(b)
	documents := f.documents(b, 1)
	rt := f.build(b, documents)
	b.Run("find", func(b *testing.B) {
		random := rand.New(rand.NewPCG(1, 2))
		keys := make([]Key, 1<<16)
		for i := range keys {
			k, err := f.pattern.ParseKey(doc(b, bson.D{{Key: "k", Value: int64(random.Uint64())}}))
			if err != nil {
				b.Fatal(err)
			}
			keys[i] = k
		}
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			rt.Find(keys[n&(1<<16-1)])
			n++
		}
		against(b, one)
	})
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.build(b, documents)
		}
		against(b, one)
	})
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for c := range rt.All() {
				sink += uint64(c.Version.Minor)
			}
		}
		against(b, one)
	})
	b.Run("owned by one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for c := range rt.OwnedChunks("shard042", Key{}, Key{}) {
				sink += uint64(c.Version.Minor)
			}
		}
		against(b, one)
	})
	b.Run("totals", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, s := range rt.Owners() {
				sink += uint64(rt.CountOn(s))
			}
		}
		against(b, one)
	})
	b.Run("apply move", func(b *testing.B) {
		next, i := rt, 0
		b.ReportAllocs()
		for b.Loop() {
			c := next.At(i * 7919 % manyChunks)
			c.Shard = f.shard(i + 1)
			c.Version = ChunkVersion{Major: next.Version().Major + 1}
			c.OnCurrentShardSince.T++
			c.History = append([]ChunkHistory{{c.OnCurrentShardSince, c.Shard}}, c.History...)
			var err error
			if next, err = next.Apply([]Chunk{c}); err != nil {
				b.Fatal(err)
			}
			i++
		}
		against(b, one)
	})
	b.Run("apply split", func(b *testing.B) {
		next, i := rt, 0
		b.ReportAllocs()
		for b.Loop() {
			left := next.At(i * 7919 % manyChunks)
			right := left
			middle, ok := f.middle(b, left)
			if !ok {
				i++
				continue
			}
			left.Max, right.Min = middle, middle
			v := next.Version()
			left.Version = ChunkVersion{v.Major, v.Minor + 1}
			right.Version = ChunkVersion{v.Major, v.Minor + 2}
			var err error
			if next, err = next.Apply([]Chunk{left, right}); err != nil {
				b.Fatal(err)
			}
			i++
		}
		against(b, one)
	})
}

// heap returns the live heap after collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkMemoryPerChunk(b *testing.B) {
	one := pass()
	f := newFleet(b)
	for _, history := range []int{1, 2} {
		b.Run(fmt.Sprintf("history of %d", history), func(b *testing.B) {
			documents := f.documents(b, history)
			var bytes float64
			for b.Loop() {
				before := heap()
				rt := f.build(b, documents)
				bytes = float64(heap()-before) / manyChunks
				runtime.KeepAlive(rt)
			}
			b.ReportMetric(bytes, "bytes/chunk")
			b.ReportMetric(bytes/32, "records/chunk")
			against(b, one)
		})
	}
}
