package action

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/live"
	"shardsh/balancer/live/load"
	"shardsh/balancer/mock/workload"
	"shardsh/balancer/runner"
)

// loaded is a cluster of shards with chunks of 1,000 keys each, as many on each, and a
// workload of which 50 queries a second are sampled.
func loaded(t testing.TB, shards, each int, s workload.Spec, rate float64, alter ...func(topology string) string) *world {
	t.Helper()
	var ids, chunks []string
	for i := range shards {
		ids = append(ids, fmt.Sprintf(`{"id": "s%d"}`, i))
	}
	for i := range shards * each {
		from, to := fmt.Sprint(i*1000), fmt.Sprint((i+1)*1000)
		if i == 0 {
			from = `{"$minKey": 1}`
		}
		if i == shards*each-1 {
			to = `{"$maxKey": 1}`
		}
		chunks = append(chunks, fmt.Sprintf(`{"min": {"x": %s}, "max": {"x": %s}, "shard": "s%d", "docs": 20000, `+
			`"bytes": "20MB"}`, from, to, i/each))
	}
	topology := fmt.Sprintf(`{"shards": [%s], "settings": {%s}, "databases": [{"name": "shop", "primary": "s0"}],
		"collections": [{"ns": "shop.orders", "key": {"x": 1}, "chunks": [%s]}]}`, strings.Join(ids, ", "), stopped,
		strings.Join(chunks, ", "))
	for _, change := range alter {
		topology = change(topology)
	}
	w := newWorld(t, topology, catalog.Release80, 1)
	s.Namespace = "shop.orders"
	w.cluster.Lock()
	err := w.cluster.Workloads().Start(s)
	w.cluster.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if rate > 0 {
		w.admin(bson.D{{Key: "configureQueryAnalyzer", Value: "shop.orders"}, {Key: "mode", Value: "full"},
			{Key: "samplesPerSecond", Value: rate}})
	}
	w.advance(10 * time.Minute)
	return w
}

// largest is the largest load of a shard, as a multiple of the mean, as counters say.
func (w *world) largest() (most float64) {
	w.Helper()
	s, err := live.NewReader(w.client, live.ReaderOptions{Parts: heatParts}).Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	list, err := load.Read(w.Context(), live.NewCommandRunner(w.client), s, []string{"shop.orders"},
		load.Options{Duration: 10 * time.Minute, Clock: w.cluster.Clock()})
	if err != nil {
		w.Fatal(err)
	}
	m := list[0].Map
	for _, shard := range m.Shards {
		most = max(most, shard.Load.Total()/m.Mean(heat.Weights{Read: 1, Write: 1}))
	}
	return most
}

// timely says when which range moved where.
type timely struct {
	t    testing.TB
	list []runner.Event
}

func (l *timely) Report(e Event) {
	if m, is := e.(EngineEvent); is && m.Kind == runner.Moved {
		l.list = append(l.list, m.Event)
	}
}

// once checks that nothing moves again within the cool-down.
func (l *timely) once(t *testing.T) {
	t.Helper()
	for i, a := range l.list {
		for _, b := range l.list[:i] {
			again := a.Move.Min.Less(b.Move.Max) && b.Move.Min.Less(a.Move.Max)
			if again && a.At.Sub(b.At) < time.Hour {
				t.Errorf("%s moves again after %v", a.Move.Min, a.At.Sub(b.At))
			}
		}
	}
}

// Whatever the load wants, no volume becomes fuller than the limit at any step, and nothing moves
// back within the cool-down: files of the mock never become smaller, so that what was reached at
// any time shows at the end.
func TestBalanceByLoadKeepsTheDiskLimit(t *testing.T) {
	t.Parallel()
	const limit = 0.8
	moved, kept, seeds := 0, 0, []uint64{3, 4} // in one of them a shard lacks room
	switch {
	case *full:
		seeds = []uint64{0, 1, 2, 3, 4, 5, 6, 7}
	case testing.Short():
		seeds = []uint64{4}
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 27))
		spec := workload.Spec{Rate: 5000, KeyDistribution: []string{"hot 10% 70%", "zipf 0.8"}[seed%2],
			Mix: workload.Mix{Reads: 60, Updates: 40}}
		w := loaded(t, 4, 6, spec, 50, func(topology string) string {
			for i := range 4 { // a shard has 126 MB, a chunk 21 MB
				id := fmt.Sprintf(`{"id": "s%d"`, i)
				topology = strings.Replace(topology, id, fmt.Sprintf(`%s, "disk": %d`, id, 150e6+r.Int64N(60e6)), 1)
			}
			return topology
		})
		before, seen := w.snapshot(), &timely{t: t}
		result, err := Balance{Namespaces: []string{"shop.orders"}, Goal: runner.GoalLoad,
			Pace: Pace{Parallel: 1 + int(seed%2), DiskLimit: limit}}.Run(t.Context(), w.actionCluster(), seen)
		if err != nil && !strings.Contains(err.Error(), "below the disk limit of 80%") {
			t.Errorf("seed %d: %v", seed, err)
		}
		seen.once(t)
		moved += len(seen.list)
		if len(result.Left) > 0 || result.Stopped != "" {
			kept++
		}
		for _, shard := range w.snapshot().Shards() {
			was, _ := before.Shard(shard.ID)
			if grown := shard.Disk.Used - was.Disk.Used; grown > ofOurs && shard.Disk.UsedShare() > limit {
				t.Errorf("seed %d: %s had %+v and has %+v", seed, shard.ID, was.Disk, shard.Disk)
			}
		}
	}
	t.Logf("%d moves; %d runs left something for lack of room", moved, kept)
	if moved == 0 || kept == 0 {
		t.Error("no case is what this is about")
	}
}

// The load comes to 1.10 of the mean with at most half the moves that it takes to even out
// operations without knowing which chunks they are of, and no range moves again within the
// cool-down.
func TestBalanceByLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for n, spec := range []workload.Spec{
		{Rate: 5000, KeyDistribution: "hot 10% 70%", Mix: workload.Mix{Reads: 60, Updates: 40}},
		{Rate: 5000, KeyDistribution: "zipf 0.8", Mix: workload.Mix{Reads: 60, Updates: 40}, ScatterShare: 0.05},
	} {
		moves := map[runner.BalanceGoal]int{}
		for _, goal := range []runner.BalanceGoal{runner.GoalLoad, runner.GoalOps} {
			if n > 0 && goal == runner.GoalOps && !*full {
				continue
			}
			w := loaded(t, 5, 8, spec, 50)
			seen := &timely{t: t}
			before := w.largest()
			result, err := Balance{Namespaces: []string{"shop.orders"}, Pace: Pace{Parallel: 1}, Goal: goal}.Run(t.Context(), w.actionCluster(), seen)
			if err != nil || !result.Reached {
				t.Fatalf("%s, %s: %+v, %v", spec.KeyDistribution, goal, result, err)
			}
			after := w.largest()
			moves[goal] = result.Moves
			t.Logf("%s, %s: %.2f of the mean, %.2f after %d moves and %d splits", spec.KeyDistribution, goal, before, after, result.Moves,
				result.Splits)
			if goal == runner.GoalLoad && (after > 1.10 || len(result.Left) > 0) {
				t.Errorf("%s: the largest load is %.2f of the mean, left are %v", spec.KeyDistribution, after, result.Left)
			}
			if goal == runner.GoalLoad {
				seen.once(t)
			}
		}
		if byOps, ran := moves[runner.GoalOps]; ran && 2*moves[runner.GoalLoad] > byOps {
			t.Errorf("%s: %d moves by load, %d by operations", spec.KeyDistribution, moves[runner.GoalLoad], moves[runner.GoalOps])
		}
	}
}

// Where no move helps none is made, and it says why; without samples it refuses, and says
// what to enter.
func TestBalanceByLoadRefuses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	run := func(w *world) (BalanceResult, error) {
		return Balance{Namespaces: []string{"shop.orders"}, Pace: Pace{Parallel: 1}, Goal: runner.GoalLoad}.Run(t.Context(), w.actionCluster(), nil)
	}
	w := loaded(t, 4, 3, workload.Spec{Rate: 2000, KeyDistribution: "latest", Mix: workload.Mix{Reads: 5, Inserts: 95}}, 50)
	if r, err := run(w); err != nil || r.Moves != 0 || len(r.Left) != 1 || r.Left[0].Code != "monotonicKey" {
		t.Errorf("a monotonic key: %+v, %v", r, err)
	}
	w = loaded(t, 4, 3, workload.Spec{Rate: 2000, KeyDistribution: "key 90%"}, 50)
	r, err := run(w)
	if err != nil || len(r.Left) != 1 || r.Left[0].Code != "hotKey" || !strings.Contains(r.Left[0].Text, "shardsh advise") {
		t.Errorf("a hot key: %+v, %v", r, err)
	}
	w = loaded(t, 4, 3, workload.Spec{Rate: 2000, KeyDistribution: "hot 5% 80%"}, 0)
	if _, err := run(w); !errors.Is(err, runner.ErrNoSamples) || !strings.Contains(err.Error(), "configureQueryAnalyzer") {
		t.Errorf("without samples: %v", err)
	}
}
