package snapfile_test

import (
	"bytes"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
)

// million returns a snapshot of a million chunks on a hundred shards, all of
// which moved once.
func million(b *testing.B) *catalog.Snapshot {
	b.Helper()
	key, err := bson.Marshal(bson.D{{Key: "k", Value: "hashed"}})
	if err != nil {
		b.Fatal(err)
	}
	pattern, err := catalog.ParseKeyPattern(key)
	if err != nil {
		b.Fatal(err)
	}
	table, err := catalog.NewRoutingTable(pattern, bson.NewObjectID(), bson.Timestamp{T: 1},
		chunks(b, pattern, 1_000_000))
	if err != nil {
		b.Fatal(err)
	}
	c := &catalog.CollectionState{Table: table, Collection: catalog.Collection{Namespace: "db.c", Pattern: pattern}}
	return catalog.NewSnapshot(catalog.SnapshotParts{Collections: []*catalog.CollectionState{c}})
}

func chunks(b *testing.B, p catalog.KeyPattern, n int) iter.Seq[catalog.Chunk] {
	return func(yield func(catalog.Chunk) bool) {
		low, step := p.GlobalMin(), ^uint64(0)/uint64(n)+1
		for i := range n {
			high := p.GlobalMax()
			if i < n-1 {
				raw, err := bson.Marshal(bson.D{{Key: "k", Value: int64(uint64(i+1)*step - 1<<63)}})
				if err != nil {
					b.Fatal(err)
				}
				if high, err = p.Key(raw); err != nil {
					b.Fatal(err)
				}
			}
			since := bson.Timestamp{T: uint32(1_700_000_000 + i), I: 1}
			shard := catalog.ShardID(fmt.Sprintf("shard%03d", uint32(i)*2654435761>>16%100))
			if !yield(catalog.Chunk{
				ID: bson.NewObjectID(), Min: low, Max: high, Shard: shard, Version: catalog.ChunkVersion{Major: uint32(1 + i/2),
					Minor: uint32(i % 2)},
				OnCurrentShardSince: since,
				History: []catalog.ChunkHistory{{ValidAfter: since, Shard: shard},
					{ValidAfter: bson.Timestamp{T: 1_600_000_000}, Shard: "shard001"}},
			}) {
				return
			}
			low = high
		}
	}
}

// A snapshot of a million chunks is written and opened.
func BenchmarkMillionChunks(b *testing.B) {
	s := million(b)
	var file bytes.Buffer
	peak := peakHeap()
	b.ReportAllocs()
	for b.Loop() {
		file.Reset()
		if err := snapfile.Write(&file, s); err != nil {
			b.Fatal(err)
		}
		got, err := snapfile.Read(&file, snapfile.Limits{})
		if err != nil || got.Collection("db.c").Table.Len() != 1_000_000 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(peak(), "peakMB")
}

// peakHeap watches the heap until the function it returns is called, which
// gives the most there was beyond what is there now, in MB.
func peakHeap() func() float64 {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, most := heap(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, heap())
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() float64 {
		close(stop)
		<-stopped
		return float64(max(most, before)-before) / (1 << 20)
	}
}
