package action

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/plan"
)

// merging is a world whose auto-merger works with short pauses: on all chunks that have
// been where they are for longer than the history of snapshots, again and again.
func merging(t *testing.T, release catalog.Release, seed uint64) *world {
	t.Helper()
	w := &world{TB: t, release: release}
	w.cluster, w.client = mocktest.New(t, scattered(rand.New(rand.NewPCG(seed, 9)), stopped), mock.Config{
		Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: seed,
		Parameters: map[string]any{"autoMergerThrottlingMS": 150, "autoMergerIntervalSecs": 1,
			"minSnapshotHistoryWindowInSeconds": 1, "transactionLifetimeLimitSeconds": 1},
	})
	w.documents = w.count()
	for _, ns := range []string{"db.c0", "db.c1"} { // whose ranges nobody else moves
		_, err := w.client.Database("config").Collection("collections").UpdateOne(t.Context(),
			bson.D{{Key: "_id", Value: ns}}, bson.D{{Key: "$set", Value: bson.D{{Key: "noBalance", Value: true}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) advance(d time.Duration) {
	w.admin(bson.D{{Key: "mockAdvance", Value: d.Milliseconds()}})
}

// autoMerges counts those that were made so far.
func (w *world) autoMerges() int64 {
	w.Helper()
	n, err := w.client.Database("config").Collection("changelog").CountDocuments(w.Context(),
		bson.D{{Key: "what", Value: "autoMerge"}})
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// The cluster's auto-merger asks nobody: it merges what is switched off, too, and what
// it has begun goes on after the balancer was stopped. A plan that was made before, or
// meanwhile, reaches its goal all the same, and none is ever refused for moves.
func TestBesideTheAutoMerger(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	seeds := uint64(1)
	if *full {
		seeds = 20
	}
	goals := []plan.Goal{
		{Kind: plan.Presplit, Namespaces: []string{"db.c0"}}, {Kind: plan.Drain, Shard: "s1"},
		{Kind: plan.Defragment, Namespaces: []string{"db.c0", "db.c1"}},
	}
	merges := map[bool]int64{}
	for i, release := range []catalog.Release{catalog.Release70, catalog.Release80, catalog.Release83} {
		for seed := range seeds {
			for n, goal := range goals {
				for _, stops := range []bool{false, true} {
					if !*full && stops != ((i+n)%2 == 0) {
						continue // each pair of a release, a goal and a stop is there
					}
					name := fmt.Sprintf("%s, seed %d, %s, stops %v", release, seed, goal.Kind, stops)
					t.Run(name, func(t *testing.T) {
						merges[stops] += besideTheAutoMerger(t, merging(t, release, seed), goal, stops, seed)
					})
				}
			}
		}
	}
	t.Log(merges)
	if merges[false] == 0 || merges[true] == 0 {
		t.Errorf("the auto-merger made %d merges beside plans, and %d after it was stopped", merges[false], merges[true])
	}
}

// besideTheAutoMerger returns how many merges were made while the plan was carried out.
func besideTheAutoMerger(t *testing.T, w *world, goal plan.Goal, stops bool, seed uint64) int64 {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 21))
	if goal.Kind == plan.Presplit {
		goal.Points = points(t, w.snapshot().Collection("db.c0").Pattern)
	}
	p, err := plan.Make(apply.WithBalancingResumed(w.snapshot(), []string{"db.c0", "db.c1"}), plan.Options{Goal: goal, IgnoreWindow: true})
	if err != nil {
		t.Fatal(err)
	}
	w.admin(bson.D{{Key: "balancerStart", Value: 1}})
	for w.autoMerges() == 0 { // which come some seconds later, one soon after another
		w.advance(time.Duration(1+random.IntN(40)) * time.Millisecond)
	}
	if stops {
		w.admin(bson.D{{Key: "balancerStop", Value: 1}})
	}
	steps, err := live.NewStepExecutor(t.Context(), live.NewCommandRunner(w.client))
	if err != nil {
		t.Fatal(err)
	}
	before := w.autoMerges()
	o := apply.Options{Clock: w.cluster.Clock()}
	r, err := apply.Run(t.Context(), steps, p, o)
	changed := new(*apply.ChangedError)
	if goal.Kind == plan.Defragment && errors.As(err, changed) {
		t.Logf("refused: %v", err) // a merge that goes over the bounds of a step
	} else if err != nil || !r.Finished {
		t.Fatalf("finished %v, stopped %q, %v", r.Finished, r.Stopped, err)
	}
	if goal.Kind == plan.Drain {
		for _, c := range w.snapshot().Collections() {
			if n := c.CountOn(goal.Shard).Chunks; n > 0 {
				t.Errorf("%s has %d chunks on it", c.Namespace, n)
			}
		}
	}
	if err := w.cluster.CheckInvariants(); err != nil {
		t.Error(err)
	}
	for ns, n := range w.count() {
		if n != w.documents[ns] {
			t.Errorf("%s has %d documents, had %d", ns, n, w.documents[ns])
		}
	}
	return w.autoMerges() - before
}
