package policy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

const (
	benchChunks = 1_000_000
	benchShards = 100
)

// vast is a balanced collection of a million chunks on 100 shards. With zones,
// each of them covers a twentieth of the chunks, has a tenth of the shards and
// holds no foreign chunk.
func vast(tb testing.TB, zones int) Situation {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	p := pattern(tb)
	sit := Situation{Namespace: "db.vast", Zones: catalog.NewZoneSet(p)}
	sit.Sizes.ByShard = map[catalog.ShardID]int64{}
	for i := range benchShards {
		s := catalog.Shard{ID: catalog.ShardID(fmt.Sprintf("shard%03d", i))}
		if zones > 0 {
			s.Zones = []string{fmt.Sprintf("zone%d", i%zones)}
		}
		sit.Shards = append(sit.Shards, s)
		sit.Sizes.ByShard[s.ID] = 500<<30 + rng.Int64N(200<<20)
	}

	bound := func(i int) catalog.Key {
		switch i {
		case 0:
			return p.GlobalMin()
		case benchChunks:
			return p.GlobalMax()
		}
		return key(tb, int64(i)*1000)
	}
	const spans = 20 // zone, gap, zone, gap, …
	low := bound(0)
	table, err := catalog.NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, func(yield func(catalog.Chunk) bool) {
		for i := range benchChunks {
			shard := rng.IntN(benchShards)
			if span := i / (benchChunks / spans); zones > 0 && span%2 == 0 {
				zone := span / 2 % zones
				shard = shard/zones*zones + zone
			}
			high := bound(i + 1)
			since := bson.Timestamp{T: uint32(1_700_000_000 + i)}
			c := catalog.Chunk{
				ID: bson.NewObjectID(), Min: low, Max: high, Shard: sit.Shards[shard].ID,
				Version:             catalog.ChunkVersion{Major: uint32(1 + i), Minor: 0},
				OnCurrentShardSince: since,
				History:             []catalog.ChunkHistory{{ValidAfter: since, Shard: sit.Shards[shard].ID}},
			}
			if !yield(c) {
				return
			}
			low = high
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	sit.Table = table
	for i := range zones {
		from := 2 * i * (benchChunks / spans)
		r := catalog.ZoneRange{Min: bound(from), Max: bound(from + benchChunks/spans), Zone: fmt.Sprintf("zone%d", i)}
		if err := sit.Zones.Add(r); err != nil {
			tb.Fatal(err)
		}
	}
	if err := CheckAligned(sit.Table, sit.Zones); err != nil {
		tb.Fatal(err)
	}
	return sit
}

// packed is a chunk at its smallest; a pass over a million of them is the
// yardstick that makes numbers of different machines comparable.
type packed struct {
	low   uint64
	_     uint64 // version
	bytes uint64
	shard uint32
	_     uint32 // flags
}

// onePass is the time to sum a million packed chunks by shard.
func onePass() time.Duration {
	chunks := make([]packed, benchChunks)
	for i := range chunks {
		chunks[i] = packed{low: uint64(i), bytes: 1 << 20, shard: uint32(i*7919) % benchShards}
	}
	best := time.Hour
	for range 20 {
		var totals [benchShards]uint64
		start := time.Now()
		for i := range chunks {
			totals[chunks[i].shard] += chunks[i].bytes
		}
		best = min(best, time.Since(start))
		if totals[0] == 0 {
			panic("nothing summed")
		}
	}
	return best
}

// BenchmarkSelection is one collection's part in a round, alignment check
// included: with nothing to move, and with every second shard giving a chunk.
// A cold run finds none of the table in the processor's caches; a repeated one
// has just done the same. Reported besides the time: the ratio to one pass over
// packed chunks. The server's own code takes 26 passes.
func BenchmarkSelection(b *testing.B) {
	pass := onePass()
	flush := make([]byte, 128<<20)
	for _, zones := range []int{0, 10} {
		balanced := vast(b, zones)
		uneven := balanced
		uneven.Sizes.ByShard = map[catalog.ShardID]int64{}
		for i, s := range uneven.Shards {
			uneven.Sizes.ByShard[s.ID] = int64(i) << 30
		}
		for _, tt := range []struct {
			name  string
			sit   Situation
			cold  bool
			moves bool
		}{
			{"balanced/repeated", balanced, false, false},
			{"balanced/cold", balanced, true, false},
			{"uneven/repeated", uneven, false, true},
			{"uneven/cold", uneven, true, true},
		} {
			b.Run(fmt.Sprintf("%s/zones=%d", tt.name, zones), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if tt.cold {
						b.StopTimer()
						for i := 0; i < len(flush); i += 64 {
							flush[i]++
						}
						b.StartTimer()
					}
					if err := CheckAligned(tt.sit.Table, tt.sit.Zones); err != nil {
						b.Fatal(err)
					}
					chosen, _, err := SelectMigrations(tt.sit, NewAvailableShards(tt.sit.Shards), nil)
					if err != nil || (len(chosen) > 0) != tt.moves {
						b.Fatal(len(chosen), err)
					}
				}
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(pass), "passes")
			})
		}
	}
}
