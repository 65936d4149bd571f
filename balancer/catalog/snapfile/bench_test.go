package snapfile_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
)

// A snapshot of a million chunks is written and opened.
func BenchmarkMillionChunks(b *testing.B) {
	s := snaptest.Large(b, snaptest.Scale{Shards: 100, Chunks: 1_000_000})
	var file bytes.Buffer
	peak := peakHeap()
	b.ReportAllocs()
	for b.Loop() {
		file.Reset()
		if err := snapfile.Write(&file, s); err != nil {
			b.Fatal(err)
		}
		got, err := snapfile.Read(&file, snapfile.Limits{})
		if err != nil || got.Collection("db.c0").Table.Len() != 1_000_000 {
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
