package runner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/enginetest"
	"shardsh/balancer/runner"
)

// The cluster's auto-merger leaves nothing alone, what a run has taken over neither:
// it merges chunks that a round has chosen, and goes on for a while after the balancer
// was stopped. The run balances all the same, and no move of it fails for that.
func TestBesideTheAutoMerger(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	merges, moves := int64(0), 0
	for seed := range *clusters {
		release := []catalog.Release{catalog.Release70, catalog.Release80, catalog.Release83}[seed%3]
		t.Run(fmt.Sprintf("%s, seed %d", release, seed), func(t *testing.T) {
			topology := enginetest.RandomTopology(rand.New(rand.NewPCG(seed, 13)), release)
			w := newWorld(t, topology, release, seed, map[string]any{
				"autoMergerThrottlingMS": 100, "autoMergerIntervalSecs": 1,
				"minSnapshotHistoryWindowInSeconds": 1, "transactionLifetimeLimitSeconds": 1,
			})
			w.command(bson.D{{Key: "balancerStart", Value: 1}})
			for range 100 { // until it has begun
				if w.count("autoMerge") > 0 {
					break
				}
				w.command(bson.D{{Key: "mockAdvance", Value: 200}})
			}
			before := w.count("autoMerge")
			turn := w.mustTake()
			o := runner.Options{
				Goal: runner.GoalSize, Rand: balancer.NewRand(seed, 1), Clock: w.cluster.Clock(), Parameters: parameters, PauseBalancing: true,
			}
			if seed%2 == 1 {
				w.command(bson.D{{Key: "balancerStop", Value: 1}})
				o.PauseBalancing = false
			}
			r, err := runner.Run(t.Context(), turn, o)
			if err != nil || !r.Reached || r.Failed > 0 {
				t.Errorf("reached %v, stopped %q, %d failed, %v", r.Reached, r.Stopped, r.Failed, err)
			}
			merges, moves = merges+w.count("autoMerge")-before, moves+r.Done.Moves
			if err := turn.EndRun(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if err := w.cluster.CheckInvariants(); err != nil {
				t.Error(err)
			}
		})
	}
	if merges == 0 || moves == 0 {
		t.Errorf("%d merges, %d moves", merges, moves)
	}
	t.Logf("%d merges beside %d moves", merges, moves)
}

// count counts the change log's entries of one kind.
func (w *world) count(what string) int64 {
	w.Helper()
	n, err := w.client.Database("config").Collection("changelog").CountDocuments(w.Context(), bson.D{{Key: "what", Value: what}})
	if err != nil {
		w.Fatal(err)
	}
	return n
}
