package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// The slower end of a link sets its speed. From migrations of very different sizes between shards
// of different speeds, each of which waits for a while as well, comes what each shard can do,
// and not what its slow partners left of it.
func TestSpeedsOfShards(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 8))
		n := 3 + r.IntN(6)
		common, wait := 1e6*math.Exp(2*r.NormFloat64()), time.Duration(r.IntN(3000))*time.Millisecond
		speeds := make([]float64, n)
		for i := range n {
			speeds[i] = common * math.Exp(0.3*r.NormFloat64())
		}
		noise := 0.05 * float64(seed%3) // of single migrations
		var e evidence
		shown := make([]float64, n) // the most that a shard has done
		for i := range 15 * n {
			from := i % n
			to := (from + 1 + r.IntN(n-1)) % n
			bytes := 2e7 * math.Exp(0.7*r.NormFloat64())
			link := math.Min(speeds[from], speeds[to])
			shown[from], shown[to] = math.Max(shown[from], link), math.Max(shown[to], link)
			copied := wait + seconds(bytes/link*math.Exp(noise*r.NormFloat64()))
			e.moves = append(e.moves, pastMigration{
				at: time.Unix(1e6, 0).Add(-time.Duration(i) * time.Minute), from: shardName(from), to: shardName(to),
				bytes: int64(bytes), copyTime: copied, took: copied + 100*time.Millisecond,
			})
		}
		v := Speeds{rates: fitRates(e, sim.Costs{})}
		most := math.Exp(v.rates.links.copying.logFastestLead() / 2) // what is added where nothing says who is faster
		for i, x := range shown {
			is := 1e9 / v.CopyTime(map[catalog.ShardID]int64{shardName(i): 1e9}).Seconds()
			if off := 0.02 + 6*noise; is < x*math.Exp(-off) || is > x*most*math.Exp(off) {
				t.Errorf("seed %d: %s of %d copies %.0f bytes a second, and is said to copy %.0f", seed, shardName(i), n, x, is)
			}
		}
	}
}

// Of two shards one is as slow as the moves between them were, and nothing says which. Where both copy as much,
// that does not matter: the slower one is the last. Where one has all of it, it may be the faster one.
func TestSlowerOfTwoShards(t *testing.T) {
	var e evidence
	for i := range 20 {
		e.moves = append(e.moves, pastMigration{at: time.Unix(int64(i), 0), from: "a", to: "b", bytes: 1e7,
			copyTime: 10 * time.Second, took: 10 * time.Second})
	}
	v := Speeds{rates: fitRates(e, sim.Costs{})}
	for name, tt := range map[string]struct{ a, b, low, high int64 }{
		"both the same":     {1e9, 1e9, 999, 1001},
		"one has all":       {1e9, 0, 800, 950},
		"the other has all": {0, 1e9, 800, 950},
		"nothing":           {0, 0, 0, 0},
	} {
		got := v.CopyTime(map[catalog.ShardID]int64{"a": tt.a, "b": tt.b})
		if got < time.Duration(tt.low)*time.Second || got > time.Duration(tt.high)*time.Second {
			t.Errorf("%s: %v, not %d to %d s", name, got, tt.low, tt.high)
		}
	}
}

func shardName(i int) catalog.ShardID { return catalog.ShardID(fmt.Sprint("s", i)) }

// Equal evidence gives equal forecasts, to the last bit: sums of floats depend on the order, and the order
// of a map is random.
func TestSumsAreRepeatable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var moves []pastMigration
	periods, c := map[int64]ratio{}, simulation{linkTimes: map[[2]catalog.ShardID]time.Duration{}}
	l := links{copying: newRatios(), otherSteps: newRatios()}
	for i := range 300 {
		moves = append(moves, pastMigration{ns: fmt.Sprint("db.c", i%100), bytes: 1 + r.Int64N(1<<40)})
		periods[int64(i)] = ratio{measured: 1 + r.Float64(), predicted: 1 + r.Float64()}
		pair := [2]catalog.ShardID{shardName(i % 17), shardName(i % 19)}
		c.linkTimes[pair] = time.Duration(r.Int64N(1e12))
		if i%3 == 0 {
			l.otherSteps.add(pair, ratio{1 + r.Float64(), 1, 1})
		}
	}
	l.otherSteps.setFastestLinks()
	sums := func() [3]float64 {
		return [3]float64{bytesStdDevOf(moves), loadStdDevOf(periods), c.unmeasuredShare(l)}
	}
	first := sums()
	for range 100 {
		if again := sums(); again != first {
			t.Fatalf("%v, then %v", first, again)
		}
	}
}
