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

// Ten chunks of 1,000 keys; in the first ten minutes all queries want chunk 2, then chunk 7.
func TestCourseFollowsAHotSpot(t *testing.T) {
	p := pattern(t, bson.D{{Key: "k", Value: 1}})
	in := heat.Input{Namespace: "shop.orders", Table: rowOf(t, p, 10), Span: 20 * time.Minute}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 1200 {
		k := int64(2500)
		if i >= 600 {
			k = 7500
		}
		in.Samples = append(in.Samples, heat.Sample{At: begin.Add(time.Duration(i) * time.Second),
			Key: keyOf(t, p, bson.D{{Key: "k", Value: k}})})
	}
	in.Samples = append(in.Samples, heat.Sample{At: begin}, // to all shards
		heat.Sample{Kind: heat.Insert, At: begin, Key: in.Samples[0].Key})
	m := heat.Estimate(in)
	c := heat.MakeGrid(in, &m, 5, 30)
	if c.Step != time.Minute || !c.From.Equal(begin) || len(c.Ranges) != 5 || len(c.Samples) != 20 || c.Samples[0] != 60 {
		t.Fatalf("%v of %v from %s, %d ranges, %v", len(c.Samples), c.Step, c.From, len(c.Ranges), c.Samples)
	}
	for i, r := range c.Ranges {
		for at, share := range r.Shares {
			want := 0.0
			if i == 1 && at < 10 || i == 3 && at >= 10 {
				want = 1
			}
			if share != want || r.Chunks != 2 {
				t.Errorf("range %d of %d chunks in minute %d: %v, not %v", i, r.Chunks, at, share, want)
			}
		}
	}
}

func rowOf(t testing.TB, p catalog.KeyPattern, n int) *catalog.RoutingTable {
	var bounds []catalog.Key
	var owners []catalog.ShardID
	for i := range n {
		owners = append(owners, "s0")
		if i < n-1 {
			bounds = append(bounds, keyOf(t, p, bson.D{{Key: "k", Value: int64(i+1) * 1000}}))
		}
	}
	return tableOf(t, p, bounds, owners)
}

// Whatever is laid out: the shares of a part of the time add up to all where there are samples,
// each chunk is in one range, and no range is empty.
func TestCourseAddsUp(t *testing.T) {
	p := pattern(t, bson.D{{Key: "k", Value: 1}})
	rapid.Check(t, func(r *rapid.T) {
		chunks := rapid.IntRange(1, 60).Draw(r, "chunks")
		in := heat.Input{Table: rowOf(t, p, chunks)}
		begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		for range rapid.IntRange(0, 50).Draw(r, "samples") {
			s := heat.Sample{At: begin.Add(time.Duration(rapid.IntRange(0, 4000).Draw(r, "at")) * time.Second)}
			from := rapid.Int64Range(-10, 70_000).Draw(r, "from")
			s.Key = keyOf(t, p, bson.D{{Key: "k", Value: from}})
			if to := from + rapid.Int64Range(0, 20_000).Draw(r, "wide"); to > from {
				s.Ranges = []heat.Range{{From: s.Key, To: keyOf(t, p, bson.D{{Key: "k", Value: to}})}}
				s.Key = catalog.Key{}
			}
			in.Samples = append(in.Samples, s)
		}
		m := heat.Estimate(in)
		c := heat.MakeGrid(in, &m, rapid.IntRange(1, 50).Draw(r, "ranges"), rapid.IntRange(1, 40).Draw(r, "times"))
		of := 0
		for _, one := range c.Ranges {
			of += one.Chunks
			if one.Chunks == 0 || !one.Min.Less(one.Max) {
				r.Fatalf("%+v", one)
			}
		}
		if len(in.Samples) > 0 && of != chunks {
			r.Fatalf("%d of %d chunks", of, chunks)
		}
		n := 0
		for at, samples := range c.Samples {
			sum := 0.0
			for _, one := range c.Ranges {
				sum += one.Shares[at]
			}
			if n += samples; samples > 0 && math.Abs(sum-1) > 1e-9 || samples == 0 && sum != 0 {
				r.Fatalf("part %d has %d samples, and shares of %v", at, samples, sum)
			}
		}
		if n != len(in.Samples) {
			r.Fatalf("%d of %d samples", n, len(in.Samples))
		}
	})
}
