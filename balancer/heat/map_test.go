package heat_test

import (
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
)

// The sums by shard are those of the shards' own counters, whatever was sampled: what no
// sample places is said apart.
func TestSumsAreThoseOfTheCounters(t *testing.T) {
	p := pattern(t, bson.D{{Key: "k", Value: 1}})
	var bounds []catalog.Key
	for i := range 5 {
		bounds = append(bounds, keyOf(t, p, bson.D{{Key: "k", Value: i * 10}}))
	}
	table := tableOf(t, p, bounds, []catalog.ShardID{"a", "b", "a", "c", "c", "a"})
	rapid.Check(t, func(t *rapid.T) {
		in := heat.Input{Table: table, Span: time.Minute, ShardRates: map[catalog.ShardID]heat.OperationRates{},
			Shards: []catalog.ShardID{"a", "b", "c", "d"}}
		for _, id := range []catalog.ShardID{"a", "b", "c"} {
			writes := rapid.Float64Range(0, 1e5).Draw(t, "writes")
			in.ShardRates[id] = heat.OperationRates{Reads: rapid.Float64Range(0, 1e5).Draw(t, "reads"), Writes: writes,
				Inserts: writes * rapid.Float64Range(0, 1).Draw(t, "inserts")}
		}
		for range rapid.IntRange(0, 40).Draw(t, "samples") {
			s := heat.Statement{Kind: rapid.SampledFrom([]heat.Kind{heat.Read, heat.Write}).Draw(t, "kind"), SimpleCollation: true}
			at := rapid.IntRange(-10, 60).Draw(t, "at")
			s.Filter, _ = bson.Marshal(rapid.SampledFrom([]bson.D{{}, {{Key: "k", Value: at}},
				{{Key: "k", Value: bson.D{{Key: "$gte", Value: at}}}}}).Draw(t, "filter"))
			in.Samples = append(in.Samples, heat.NewSample(table.Pattern(), s))
		}
		m := heat.Estimate(in)
		chunks := map[catalog.ShardID]float64{}
		for _, c := range m.Chunks {
			chunks[c.Shard] += c.Load.Total()
		}
		for _, s := range m.Shards {
			want := in.ShardRates[s.Shard].Reads + in.ShardRates[s.Shard].Writes
			if math.Abs(s.Load.Total()-want) > 1e-6*(1+want) {
				t.Fatalf("%s has %v and has counted %v", s.Shard, s.Load, want)
			}
			parts := chunks[s.Shard] + s.Scatter.Total() + s.Unplaced.Total()
			if math.Abs(parts-want) > 1e-6*(1+want) {
				t.Fatalf("%s: its parts are %v, of %v", s.Shard, parts, want)
			}
		}
	})
}

// Without counters a sample is an operation; the interval is the one of a Poisson
// distribution: of 10 seen it is 4.80 to 18.39 (Garwood).
func TestWithoutCounters(t *testing.T) {
	p := pattern(t, bson.D{{Key: "k", Value: 1}})
	table := tableOf(t, p, []catalog.Key{keyOf(t, p, bson.D{{Key: "k", Value: 0}})}, []catalog.ShardID{"a", "b"})
	in := heat.Input{Table: table, Span: 10 * time.Second}
	filter, _ := bson.Marshal(bson.D{{Key: "k", Value: 3}})
	for range 10 {
		in.Samples = append(in.Samples, heat.NewSample(p, heat.Statement{Kind: heat.Write, Filter: filter, SimpleCollation: true}))
	}
	m := heat.Estimate(in)
	got := m.Chunks[1]
	if m.Counted || math.Abs(got.Load.Writes-1) > 1e-9 || got.Load.Reads != 0 || math.Abs(got.TotalInterval.Low-0.480) > 0.01 ||
		math.Abs(got.TotalInterval.High-1.839) > 0.01 {
		t.Errorf("ten writes in ten seconds are %+v", got)
	}
	if none := m.Chunks[0]; none.Load.Total() != 0 || math.Abs(none.TotalInterval.High-0.369) > 0.01 {
		t.Errorf("none in ten seconds are %+v", none)
	}
}

// A query of several chunks of a shard is one operation there; one that says nothing of the
// key is one of every shard's, and moves with no chunk.
func TestRangesAndScatter(t *testing.T) {
	p := pattern(t, bson.D{{Key: "k", Value: 1}})
	k := func(n int) catalog.Key { return keyOf(t, p, bson.D{{Key: "k", Value: n}}) }
	table := tableOf(t, p, []catalog.Key{k(0), k(10), k(20)}, []catalog.ShardID{"a", "b", "b", "a"})
	sample := func(filter bson.D) heat.Sample {
		raw, _ := bson.Marshal(filter)
		return heat.NewSample(p, heat.Statement{Filter: raw, SimpleCollation: true})
	}
	m := heat.Estimate(heat.Input{Table: table, Span: time.Second, Samples: []heat.Sample{
		sample(bson.D{{Key: "k", Value: bson.D{{Key: "$gte", Value: 5}, {Key: "$lt", Value: 25}}}}),
		sample(bson.D{{Key: "x", Value: 1}}),
		sample(bson.D{{Key: "k", Value: bson.D{{Key: "$in", Value: bson.A{}}}}}), // no shard's
	}})
	want := []float64{0, 0.5, 0.5, 1}
	for i, c := range m.Chunks {
		if c.Load.Reads != want[i] {
			t.Errorf("chunk %d has %v reads, not %v", i, c.Load.Reads, want[i])
		}
	}
	for _, s := range m.Shards {
		if s.Load.Reads != 2 || s.Scatter.Reads != 1 {
			t.Errorf("%s: %+v", s.Shard, s)
		}
	}
	if m.ScatteredShare.Reads != 1.0/3 {
		t.Errorf("%v of the reads go to all shards", m.ScatteredShare.Reads)
	}
}

// Half of the load goes to another shard by a split of the only chunk that has it, at the
// median of the load and not of the keys.
func TestHotChunkIsSplitAtTheMedianOfItsLoad(t *testing.T) {
	p := pattern(t, bson.D{{Key: "k", Value: 1}})
	table := tableOf(t, p, nil, []catalog.ShardID{"a"})
	in := heat.Input{Namespace: "d.c", Table: table, Span: time.Second, Shards: []catalog.ShardID{"a", "b"}}
	for i := range 100 {
		filter, _ := bson.Marshal(bson.D{{Key: "k", Value: i}}) // two thirds below 50 have twice the load
		for range 1 + (99-i)/50 {
			in.Samples = append(in.Samples, heat.NewSample(p, heat.Statement{Filter: filter, SimpleCollation: true}))
		}
	}
	m := heat.Estimate(in)
	d := heat.Decide([]heat.Collection{{Map: &m}}, []heat.Recipient{{Shard: "a", CanReceive: true, MaxBytes: -1},
		{Shard: "b", CanReceive: true, MaxBytes: -1}}, heat.Options{})
	// 150 of load: 75 of them below 37.5.
	if len(d.Steps) != 2 || d.Moves() != 1 || !slicesHave(d.Steps[0].Point.String(), "[37]", "[38]") || d.MaxLoadRatioAfter > 1.02 {
		t.Errorf("%+v", d)
	}
	for _, c := range []struct {
		why    string
		places []heat.Recipient
		zones  bool
	}{
		{"a full disk", []heat.Recipient{{Shard: "a", CanReceive: true, MaxBytes: -1}, {Shard: "b", CanReceive: true, MaxBytes: 9}}, false},
		{"a draining shard", []heat.Recipient{{Shard: "a", CanReceive: true, MaxBytes: -1}, {Shard: "b", MaxBytes: -1}}, false},
		{"another zone", []heat.Recipient{{Shard: "a", CanReceive: true, MaxBytes: -1, Zones: []string{"Z"}},
			{Shard: "b", CanReceive: true, MaxBytes: -1}}, true},
	} {
		coll := heat.Collection{Map: &m, ChunkBytes: map[catalog.ShardID]int64{"a": 1000}}
		if c.zones {
			coll.Zones = catalog.NewZoneSet(p)
			if err := coll.Zones.Add(catalog.ZoneRange{Zone: "Z", Min: p.GlobalMin(), Max: p.GlobalMax()}); err != nil {
				t.Fatal(err)
			}
		}
		if d := heat.Decide([]heat.Collection{coll}, c.places, heat.Options{}); d.Moves() != 0 {
			t.Errorf("moves in spite of %s: %+v", c.why, d.Steps)
		}
	}
}

func slicesHave(is string, any ...string) bool {
	for _, s := range any {
		if s == is {
			return true
		}
	}
	return false
}
