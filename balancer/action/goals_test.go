package action

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

const stopped = `"balancer": {"stopped": true}`

// points are bounds inside of the chunks that scattered draws.
func points(t testing.TB, p catalog.KeyPattern) (list []catalog.Key) {
	t.Helper()
	for x := 250; x < 12_000; x += 500 {
		raw, err := bson.Marshal(bson.D{{Key: "x", Value: x}})
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.ParseKey(raw)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, k)
	}
	return list
}

// Each goal is reached on each release, with the cluster's balancer on or off; nothing
// is lost, nothing left behind, and once more there is nothing to do.
func TestGoalsAreReached(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	seeds := 1
	if *full {
		seeds = 40
	}
	for i, release := range releases() {
		for seed := range uint64(seeds) {
			t.Run(fmt.Sprintf("%s, seed %d", release, seed), func(t *testing.T) {
				balancer := []string{stopped, ""}[(int(seed)+int(release.String()[0]))%2]
				topology := scattered(rand.New(rand.NewPCG(seed, 9)), balancer)
				world := func() *world { return newWorld(t, topology, release, seed) }
				if *full || i%2 == 0 { // or else the goals take turns: what a release has else, policy's tests show
					testDefragment(world())
					testDrain(world(), true)
				}
				if *full || i%2 == 1 {
					testPresplit(world())
					// A shard that stays is no longer draining at the end: a balancer that is on fills it again.
					testDrain(newWorld(t, scattered(rand.New(rand.NewPCG(seed, 9)), stopped), release, seed), false)
				}
			})
		}
	}
}

func (w *world) mustReach(goal plan.Goal, change func(*apply.Options, *leasedRun)) {
	w.Helper()
	r, err := w.reach(goal, change)
	if err != nil || !r.Finished || len(r.RemainingFindings) > 0 && goal.Kind != plan.Drain {
		w.Fatalf("%s: finished %v, stopped %q, left %v, %v", goal.Kind, r.Finished, r.Stopped, r.RemainingFindings, err)
	}
	w.well()
}

func testDefragment(w *world) {
	w.Helper()
	goal := plan.Goal{Kind: plan.Defragment, Namespaces: []string{"db.c0", "db.c1"}}
	before := w.chunks()
	w.mustReach(goal, nil)
	after := w.chunks()
	for ns, n := range before {
		if after[ns] >= n {
			w.Errorf("%s has %d chunks, had %d", ns, after[ns], n)
		}
	}
	if p := w.plan(goal); len(p.Steps) > 0 {
		w.Errorf("after the defragmentation there are steps left: %+v", p.Steps)
	}
}

func testPresplit(w *world) {
	w.Helper()
	c := w.snapshot().Collection("db.c1")
	goal := plan.Goal{Kind: plan.Presplit, Namespaces: []string{"db.c1"}, Points: points(w, c.Pattern)}
	w.mustReach(goal, nil)
	s := w.snapshot()
	c = s.Collection("db.c1")
	byZone := map[string]map[catalog.ShardID]int{}
	for chunk := range c.Table.All() {
		zone := c.Zones.ZoneOf(chunk.Min, chunk.Max)
		if byZone[zone] == nil {
			byZone[zone] = map[catalog.ShardID]int{}
		}
		byZone[zone][chunk.Shard]++
	}
	for zone, counts := range byZone {
		least, most := 1<<30, 0
		for _, shard := range s.Shards() {
			switch n := counts[shard.ID]; {
			case zone != catalog.NoZone && !shard.HasZone(zone) && n > 0:
				w.Errorf("%d chunks of zone %s are on %s", n, zone, shard.ID)
			case zone == catalog.NoZone || shard.HasZone(zone):
				least, most = min(least, n), max(most, n)
			}
		}
		if most > least+1 {
			w.Errorf("the chunks of zone %q are spread %v", zone, counts)
		}
	}
	for _, k := range goal.Points {
		if !c.Table.HasLowerBound(k) {
			w.Errorf("no chunk begins at %s", k)
		}
	}
	if p := w.plan(goal); len(p.Steps) > 0 {
		w.Errorf("after the presplit there are steps left: %+v", p.Steps)
	}
}

func testDrain(w *world, remove bool) {
	w.Helper()
	goal := plan.Goal{Kind: plan.Drain, Shard: "s0"}
	w.mustReach(goal, func(o *apply.Options, t *leasedRun) {
		d := &drainHooks{leasedRun: t, shard: "s0", remove: remove, movePrimaries: true, note: func(s string) { w.Log(s) }}
		o.OnReady, o.OnAllDone = d.markDraining, d.finish
	})
	s := w.snapshot()
	shard, there := s.Shard("s0")
	if there == remove || shard.Draining {
		w.Errorf("the shard is there: %v, draining %v", there, shard.Draining)
	}
	for _, c := range s.Collections() {
		if n := c.CountOn("s0").Chunks; n > 0 {
			w.Errorf("%s has %d chunks on it", c.Namespace, n)
		}
	}
	for _, db := range s.Parts().Databases {
		if db.Primary == "s0" {
			w.Errorf("it is the primary of %s", db.Name)
		}
	}
}

// Over some clusters a defragmentation of ours ends with as few chunks as one of the
// cluster's own balancer. On a single one chance makes either better: which chunk goes
// to which neighbour is drawn.
func TestDefragmentedAsByTheBalancer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	seeds, bound := uint64(2), 1.25
	if *full {
		seeds, bound = 40, 1.05
	}
	goal := plan.Goal{Kind: plan.Defragment, Namespaces: []string{"db.c0", "db.c1"}}
	sum := func(chunks map[string]int64) int64 { return chunks["db.c0"] + chunks["db.c1"] }
	for _, release := range []catalog.Release{catalog.Release60, catalog.Release80} {
		var ours, theirs int64
		for seed := range seeds {
			topology := scattered(rand.New(rand.NewPCG(seed, 11)), stopped)
			w := newWorld(t, topology, release, seed)
			w.mustReach(goal, nil)
			ours += sum(w.chunks())
			w = newWorld(t, topology, release, seed)
			w.withoutAutoMerger()
			w.admin(bson.D{{Key: "balancerStart", Value: 1}})
			for _, ns := range goal.Namespaces {
				w.admin(bson.D{{Key: "configureCollectionBalancing", Value: ns}, {Key: "defragmentCollection", Value: true}})
			}
			w.admin(bson.D{{Key: "mockAdvance", Value: (24 * time.Hour).Milliseconds()}})
			theirs += sum(w.chunks())
		}
		t.Logf("%s: %d chunks of ours, %d of the balancer's", release, ours, theirs)
		if theirs == 0 || float64(ours) > bound*float64(theirs) {
			t.Errorf("%s: %d chunks, the balancer leaves %d", release, ours, theirs)
		}
	}
}

// withoutAutoMerger leaves merging to defragmentations.
func (w *world) withoutAutoMerger() {
	w.Helper()
	_, err := w.client.Database("config").Collection("settings").InsertOne(w.Context(),
		bson.D{{Key: "_id", Value: "automerge"}, {Key: "enabled", Value: false}})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) admin(command bson.D) {
	w.Helper()
	if err := w.client.Database("admin").RunCommand(w.Context(), command).Err(); err != nil {
		w.Fatal(err)
	}
}

// The limit of a presplit is for all its chunks, not for those of one shard.
func TestPresplitOfManyShards(t *testing.T) {
	w := newWorld(t, crowded(12), catalog.Release80, 1)
	_, err := PresplitMethod{Namespace: "db.c0", ChunksPerShard: MaxPresplitChunks}.Goal(t.Context(), w.client, w.snapshot())
	if !errors.As(err, new(*OptionError)) || !strings.Contains(err.Error(), "are possible") {
		t.Errorf("the error is %v", err)
	}
}
