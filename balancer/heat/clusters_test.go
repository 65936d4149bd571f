package heat_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/heat"
	"shardsh/balancer/mock/workload"
)

var clusters = flag.Int("heat.clusters", 12, "how many made clusters TestMadeClusters looks at and evens out; "+
	"200 before a release")

// kinds of workloads, without a key that has too much.
func kinds() []workload.Spec {
	mix := workload.Mix{Reads: 60, Updates: 40}
	return []workload.Spec{
		{Rate: 20_000, KeyDistribution: "zipf 0.8", Mix: mix},
		{Rate: 20_000, KeyDistribution: "zipf 0.9", Mix: mix, ScatterShare: 0.05},
		{Rate: 5_000, KeyDistribution: "hot 5% 80%", Mix: mix},
		{Rate: 5_000, KeyDistribution: "hot 10% 70%", Mix: mix, HotRangeDrift: "daily"},
		{Rate: 8_000, KeyDistribution: "hot 20% 60%", Mix: mix, RateCycle: "daily"},
		{Rate: 8_000, KeyDistribution: "uniform", Mix: workload.Mix{Reads: 60, Updates: 20, Inserts: 20}},
	}
}

// The requirements on estimates and on moves, over many clusters: of the ten hottest chunks
// at least nine are named, and the largest load comes to 1.10 of the mean.
func TestMadeClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	var named, tens, balanced, total, most int
	for i := range *clusters {
		spec := kinds()[i%len(kinds())]
		shards, each := []int{3, 5, 8, 12, 20, 35, 50}[i%7], 6+i%9
		key := bson.D{{Key: "k", Value: 1}}
		if i%4 == 3 {
			key = bson.D{{Key: "k", Value: "hashed"}}
		}
		name := fmt.Sprintf("%d: %d shards of %d chunks, %s %v", i, shards, each, spec.KeyDistribution, key)
		w := newWorld(t, uint64(i), shards, each, key, spec)
		m := w.sampled(20 * time.Minute)
		if spec.KeyDistribution != "uniform" { // else there are no hottest
			tens++
			right := hottest(w, m)
			if named += right; right < 9 {
				t.Errorf("%s: %d of the ten hottest chunks are named", name, right)
			}
		}
		largest, moves, stuck := w.balance(time.Hour)
		total += moves
		most = max(most, moves*100/(shards*each))
		if largest > max(1.10, w.least()/0.9) {
			t.Logf("%s: the largest load is %.3f of the mean after %d moves, %v", name, largest, moves, stuck)
			continue
		}
		balanced++
	}
	t.Logf("%d of %d hottest chunks named; %d of %d even after %d moves, at most %d %% of the chunks", named, tens*10,
		balanced, *clusters, total, most)
	if missed := *clusters - balanced; missed*100 > *clusters { // by chunks that rest, as where hot keys move on
		t.Errorf("%d of %d are not even", missed, *clusters)
	}
}

// least is what the shard with the hottest key has at least, as a multiple of the mean: no
// chunk can be smaller. A shard of which a key has nine tenths is left as it is.
func (w *world) least() float64 {
	_, shards, scattered := w.truth()
	var sum float64
	for _, n := range shards {
		sum += n
	}
	hottest := w.load.HottestShare() * w.load.RateAt(w.now) * (1 - w.load.ScatterShare*0.6)
	return (scattered + hottest) / (sum / float64(len(w.shards)))
}

// hottest is how many of the ten chunks that the map names hottest are: have no less than the
// tenth has, but for what nobody can tell apart: the difference of two counts, with 95 %.
func hottest(w *world, m *heat.Map) (right int) {
	chunks, _, _ := w.truth()
	sorted := slices.Clone(chunks)
	slices.Sort(sorted)
	tenth := sorted[len(sorted)-10]
	for _, c := range m.Hottest(m.WeightsFor(heat.ByMixed), 10) {
		alike := min(0.95, 1-1.96*math.Sqrt(2/max(1, c.Samples)))
		if chunks[w.table.IndexOf(c.Min)] >= tenth*alike {
			right++
		}
	}
	return right
}

// A key that has more than a shard should is called one, and nothing is moved for it; none
// is where the same load lies on many keys.
func TestHotKeyIsCalledOne(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for i := range max(24, *clusters/2) { // each number of shards twice
		shards := 3 + i%12
		hot := max(0.2, 1.5/float64(shards))
		w := newWorld(t, uint64(i), shards, 5, bson.D{{Key: "k", Value: 1}}, workload.Spec{Rate: 3000,
			KeyDistribution: fmt.Sprintf("key %d%%", int(hot*100)), Mix: workload.Mix{Reads: 70, Updates: 30}, KeyCount: 1000})
		m := w.sampled(2 * time.Minute)
		if len(m.HotKeys) != 1 {
			t.Fatalf("%d: %d hot keys for one of %.0f %% on %d shards", i, len(m.HotKeys), hot*100, shards)
		}
		d := heat.Decide([]heat.Collection{{Map: m, ChunkBytes: w.average()}}, w.places, heat.Options{LoadKind: heat.ByMixed})
		if !slices.ContainsFunc(d.Overloaded, func(s heat.OverloadedShard) bool {
			return s.Why == heat.ObstacleHotKey && s.Key.Equal(m.HotKeys[0].Key)
		}) {
			t.Errorf("%d: %v stuck of a key with %.2f of a shard's mean", i, d.Overloaded, m.HotKeys[0].LoadOfMean)
		}
		for _, s := range d.Steps {
			if hot := m.HotKeys[0].Key; s.Point.IsZero() && !hot.Less(s.Min) && hot.Less(s.Max) {
				t.Errorf("%d: the chunk with the hot key moves: %v", i, s)
			}
		}
		w = newWorld(t, uint64(i), shards, 5, bson.D{{Key: "k", Value: 1}}, workload.Spec{Rate: 3000, KeyDistribution: "hot 3% 60%",
			KeyCount: 5000})
		if m = w.sampled(2 * time.Minute); len(m.HotKeys) != 0 {
			t.Errorf("%d: hot keys %v of even ones", i, m.HotKeys)
		}
	}
}

// All inserts at MaxKey: no chunk is moved for them, as the next ones would follow.
func TestMonotonicKey(t *testing.T) {
	spec := workload.Spec{Rate: 2000, KeyDistribution: "latest", Mix: workload.Mix{Reads: 5, Inserts: 95}}
	w := newWorld(t, 1, 4, 4, bson.D{{Key: "k", Value: 1}}, spec)
	m := w.sampled(2 * time.Minute)
	if m.Monotonic == nil || !m.Monotonic.AtMax || m.Monotonic.Shard != "s03" || m.Monotonic.InsertsPerSecond < 1800 ||
		m.Monotonic.InsertsPerSecond > 2000 {
		t.Fatalf("monotonic: %+v of 1900 inserts a second", m.Monotonic)
	}
	d := heat.Decide([]heat.Collection{{Map: m, ChunkBytes: w.average()}}, w.places, heat.Options{LoadKind: heat.ByWrites})
	if len(d.Overloaded) != 1 || d.Overloaded[0].Why != heat.ObstacleMonotonic || len(d.Steps) != 0 {
		t.Errorf("%d steps, %+v", len(d.Steps), d.Overloaded)
	}
	w = newWorld(t, 1, 4, 4, bson.D{{Key: "k", Value: "hashed"}}, spec)
	if m = w.sampled(2 * time.Minute); m.Monotonic != nil {
		t.Errorf("a hashed key is monotonic: %+v", m.Monotonic)
	}
}
