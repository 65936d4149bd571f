package plan_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/enginetest"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

var clusters = flag.Uint64("plan.clusters", 20,
	"how many random clusters a plan is compared on with the mock's balancer")

// A plan equals, move for move, what the mock's balancer then does with the same
// seed; and carried out it leaves a cluster in which the policy has nothing to do. Up to 5.0
// that cluster is not the mock's: shards cut at points of their own what is too large for the
// balancer, and a plan can only have them halve it, since routers there do not tell the points.
// To compare a hundred clusters: go test -run AsTheMock -plan.clusters 100.
func TestAsTheMock(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	releases := enginetest.Releases()
	moves := 0
	for seed := range *clusters {
		release := releases[seed%uint64(len(releases))]
		t.Run(fmt.Sprintf("%s, seed %d", release, seed), func(t *testing.T) {
			text := enginetest.RandomTopology(rand.New(rand.NewPCG(seed, 12)), release)
			moves += comparePlan(t, text, release, seed)
			if t.Failed() {
				t.Log(text)
			}
		})
	}
	if moves < 10*int(*clusters) {
		t.Errorf("only %d moves on %d clusters", moves, *clusters)
	}
}

// comparePlan makes a plan for a cluster whose balancer is off, switches that on
// there, and carries the plan out on another one like it.
func comparePlan(t *testing.T, text string, release catalog.Release, seed uint64) (moves int) {
	cluster, client := newMock(t, text, release, seed)
	before := snapshotOf(t, client)
	// The virtual data of a mock leave no orphans, and are cloned in one batch. A
	// balancer that starts over draws its lots from the beginning.
	costs := sim.DefaultCosts(release)
	costs.OrphanDelay, costs.BatchBytes = 0, 0
	costs.MoveOverhead += costs.BatchTime
	p := mustMake(t, before, plan.Options{
		Costs: costs, Rand: balancer.NewRand(seed, cluster.Term()+1), Parameters: parameters,
	})

	command(t, client, bson.D{{Key: "balancerStart", Value: 1}})
	command(t, client, bson.D{{Key: "mockStepDown", Value: 1}})
	command(t, client, bson.D{{Key: "mockAdvance", Value: (p.Totals.Duration + 10*time.Minute).Milliseconds()}})
	after := snapshotOf(t, client)
	got, want := planned(p), moved(t, after, before)
	if !slices.Equal(got, want) {
		t.Errorf("planned %d moves, and the mock did %d: %s", len(got), len(want), differ(got, want))
	}
	carried := carriedOut(t, p, text, release, seed)
	if release.ShowsSplitPoints() {
		sameOwners(t, carried, after)
	}
	return len(got)
}

// sameOwners compares who has which data, and what the plan says of it. Chunks may
// have been merged further meanwhile.
func sameOwners(t *testing.T, got, want *catalog.Snapshot) {
	t.Helper()
	for _, c := range want.Collections() {
		table := got.Collection(c.Namespace).Table
		for chunk := range c.Table.All() {
			for part := range table.Overlapping(chunk.Min, chunk.Max) {
				if part.Shard != chunk.Shard {
					t.Errorf("%s from %s to %s is on %s, not on %s", c.Namespace, part.Min, part.Max, part.Shard, chunk.Shard)
				}
			}
		}
	}
}

// morePlans is after how many more plans a cluster has to be balanced whose shards can only
// halve what is too large: what is left of a chunk may be larger than the plan thought.
const morePlans = 2

// carriedOut carries a plan out on a cluster like that it was made for, and returns
// what becomes of it.
func carriedOut(
	t *testing.T, p *plan.Plan, text string, release catalog.Release, seed uint64,
) *catalog.Snapshot {
	cluster, client := newMock(t, text, release, seed)
	steps, err := live.NewStepExecutor(t.Context(), live.NewCommandRunner(client))
	if err != nil {
		t.Fatal(err)
	}
	carryOut := func(p *plan.Plan) (*catalog.Snapshot, *plan.Plan) {
		if r, err := apply.Run(t.Context(), steps, p, apply.Options{Clock: cluster.Clock()}); err != nil || !r.Finished {
			t.Fatalf("applying: finished %v, stopped %q, %v", r.Finished, r.Stopped, err)
		}
		s := snapshotOf(t, client)
		return s, mustMake(t, s, plan.Options{Goal: p.Goal, Parameters: parameters})
	}
	s, again := carryOut(p)
	asPlanned := true
	for n := 0; n < morePlans && again.Totals.Moves > 0 && !release.ShowsSplitPoints(); n++ {
		s, again = carryOut(again)
		asPlanned = false
	}
	for _, c := range s.Collections() {
		if c.Unsplittable || c.NoBalance {
			continue
		}
		if splits := policy.ZoneSplits(c.Namespace, c.Table, c.Zones); len(splits) > 0 {
			t.Errorf("%s is still to be split at %v", c.Namespace, splits[0].Points)
		}
		if c.ReportedStatus == nil || !c.ReportedStatus.Compliant { // a dry run of the mock's own policy
			t.Errorf("%s: %+v", c.Namespace, c.ReportedStatus)
		}
	}
	if again.Totals.Moves > 0 {
		t.Errorf("another plan: %s", strings.Join(planned(again), "\n"))
	}
	if asPlanned {
		promised(t, p, s)
	}
	return s
}

// promised compares what shards have with what the plan said: their chunks are as
// many, their bytes are those of documents of the average size. Halves, where routers do not
// tell where shards would cut, are not as large as the pieces of the plan.
func promised(t *testing.T, p *plan.Plan, s *catalog.Snapshot) {
	t.Helper()
	tolerance := int64(100)
	if !s.Release().ShowsSplitPoints() {
		tolerance = 10
	}
	for _, shard := range p.Shards {
		var have plan.Holding
		for _, c := range s.Collections() {
			have.Chunks += c.CountOn(shard.Shard).Chunks
			have.Bytes += c.Sizes[shard.Shard].Bytes
		}
		off := have.Bytes - shard.After.Bytes
		if have.Chunks != shard.After.Chunks || max(off, -off) > shard.After.Bytes/tolerance {
			t.Errorf("%s was to have %+v and has %+v", shard.Shard, shard.After, have)
		}
	}
}

// parameters are the mock's: the sessions have few chunks.
func parameters() balancer.Parameters {
	p := balancer.DefaultParameters()
	p.SessionsChunks = sessionsChunks
	return p
}

const sessionsChunks = 8

func planned(p *plan.Plan) (list []string) {
	for _, s := range p.Steps {
		if s.Kind == plan.Move {
			list = append(list, fmt.Sprintf("%s %s>%s %s to %s", s.Namespace, s.From, s.To, s.Min, s.Max))
		}
	}
	return list
}

// moved lists the moves of the change log.
func moved(t *testing.T, s, before *catalog.Snapshot) (list []string) {
	t.Helper()
	for _, entry := range s.Parts().Changes {
		if entry.What != "moveChunk.commit" {
			continue
		}
		pattern := before.Collection(entry.Namespace).Pattern
		var bounds [2]catalog.Key
		for i, name := range []string{"min", "max"} {
			var err error
			if bounds[i], err = pattern.ParseKey(entry.Detail(name).Document()); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, fmt.Sprintf("%s %s>%s %s to %s", entry.Namespace,
			entry.Detail("from").StringValue(), entry.Detail("to").StringValue(), bounds[0], bounds[1]))
	}
	return list
}

// differ shows where two lists differ first.
func differ(got, want []string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	around := func(list []string) string { return strings.Join(list[min(len(list), i):min(len(list), i+4)], "\n\t") }
	return fmt.Sprintf("after %d equal ones\nplanned\n\t%s\ndone\n\t%s", i, around(got), around(want))
}

func newMock(t *testing.T, text string, release catalog.Release, seed uint64) (*mock.Cluster, *mongo.Client) {
	t.Helper()
	cluster, client := mocktest.New(t, text, mock.Config{
		Release: release, Start: noon, Seed: seed,
		Parameters: map[string]any{"minNumChunksForSessionsCollection": sessionsChunks},
	})
	// By then the config server has made its collection of sessions.
	command(t, client, bson.D{{Key: "mockAdvance", Value: (10 * time.Minute).Milliseconds()}})
	return cluster, client
}

func snapshotOf(t *testing.T, client *mongo.Client) *catalog.Snapshot {
	t.Helper()
	s, err := live.NewReader(client, live.ReaderOptions{Parts: live.DefaultPartsAndStatus}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func command(t *testing.T, client *mongo.Client, c bson.D) {
	t.Helper()
	if err := client.Database("admin").RunCommand(t.Context(), c).Err(); err != nil {
		t.Fatal(err)
	}
}
