package runner_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/enginetest"
	"shardsh/balancer/runner"
)

var clusters = flag.Uint64("runner.clusters", 10,
	"how many random clusters a run is compared on with the mock's balancer")

// The engine on an idle copy of a cluster makes the same moves as the mock's own
// balancer with the same seed, whatever the release: in the same order, of the same
// ranges. To compare a hundred clusters: go test -run SameMoves -runner.clusters 100.
func TestSameMoves(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	releases := enginetest.Releases()
	moves := 0
	for seed := range *clusters {
		release := releases[seed%uint64(len(releases))]
		t.Run(fmt.Sprintf("%s, seed %d", release, seed), func(t *testing.T) {
			text := enginetest.RandomTopology(rand.New(rand.NewPCG(seed, 13)), release)
			if !release.ShowsSplitPoints() { // its balancer cuts where no client is told: nothing is too large
				text = strings.Replace(text, `"settings":{`, `"settings":{"chunkSizeMB":1024,`, 1)
			}
			moves += compareMoves(t, text, release, seed)
			if t.Failed() {
				t.Log(text)
			}
		})
	}
	if moves < 10*int(*clusters) {
		t.Errorf("only %d moves on %d clusters", moves, *clusters)
	}
}

func compareMoves(t *testing.T, text string, release catalog.Release, seed uint64) int {
	own, ours := newWorld(t, text, release, seed), newWorld(t, text, release, seed)
	own.command(bson.D{{Key: "balancerStart", Value: 1}})
	if release.AutoMerges() { // beside its moves, as a run does not; balancerStart has switched it on
		own.set("automerge", bson.D{{Key: "enabled", Value: false}})
	}
	own.command(bson.D{{Key: "mockStepDown", Value: 1}}) // so that its lots are drawn from the beginning
	own.command(bson.D{{Key: "mockAdvance", Value: (6 * time.Hour).Milliseconds()}})

	goal := runner.GoalChunks
	if release.BalancesBySize() {
		goal = runner.GoalSize
	}
	r, err := runner.Run(t.Context(), ours.free(), runner.Options{
		// With a pattern, switches count.
		Namespaces: []string{"*", "config.system.sessions"}, Goal: goal, Rand: balancer.NewRand(seed, ours.cluster.Term()+1),
		Clock: ours.cluster.Clock(), Parameters: parameters,
	})
	if err != nil || !r.Reached {
		t.Fatalf("reached %v, stopped %q, %v", r.Reached, r.Stopped, err)
	}
	want, got := own.moves("moveChunk.start"), ours.moves("moveChunk.start")
	if !slices.Equal(got, want) {
		t.Errorf("%d moves, and the mock's balancer made %d: %s", len(got), len(want), differ(got, want))
	}
	if made := len(ours.moves("moveChunk.commit")); r.Done.Moves != made {
		t.Errorf("%d moves are told, %d were made", r.Done.Moves, made)
	}
	return len(got)
}

// parameters are the mock's: the sessions have few chunks.
func parameters() balancer.Parameters {
	p := balancer.DefaultParameters()
	p.SessionsChunks = sessionsChunks
	return p
}

// differ shows where two lists differ first.
func differ(got, want []string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	around := func(list []string) string { return strings.Join(list[min(len(list), i):min(len(list), i+4)], "\n\t") }
	return fmt.Sprintf("after %d equal ones\nours\n\t%s\nits\n\t%s", i, around(got), around(want))
}
