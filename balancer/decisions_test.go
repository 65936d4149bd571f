package balancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// decided turns a loop for d and returns what each of its rounds decided, as
// "code namespace".
func decided(t *testing.T, f *fakeCluster, cfg balancer.Config, d time.Duration) [][]string {
	t.Helper()
	var rounds [][]string
	cfg.Location = time.Local
	cfg.OnDecisions = func(at time.Time, decisions []policy.Decision) {
		if !at.Equal(f.queue.Now()) {
			t.Errorf("a round of %v is told at %v", at, f.queue.Now())
		}
		var round []string
		for _, d := range decisions {
			round = append(round, strings.TrimSpace(string(d.Code)+" "+d.Namespace))
		}
		rounds = append(rounds, round)
	}
	driver := balancer.NewEventDriver(f.queue, balancer.NewLoop(cfg), f)
	driver.Start()
	defer driver.Stop()
	f.advance(d)
	return rounds
}

// What a round decides is told at its end, with a code for each collection.
func TestDecisionsOfARound(t *testing.T) {
	v44 := balancer.Config{Release: catalog.Release44}
	for _, tt := range []struct {
		name    string
		cfg     balancer.Config
		prepare func(t *testing.T, f *fakeCluster)
		want    []string // of the first round
	}{
		{"a move", balancer.Config{}, func(*testing.T, *fakeCluster) {}, []string{"chunksImbalance db.c", "noDonor db.c"}},
		{"off", balancer.Config{}, func(_ *testing.T, f *fakeCluster) {
			f.settings["balancer"] = bson.D{{Key: "mode", Value: "off"}}
		}, []string{"balancerOff"}},
		{"outside the window", balancer.Config{}, func(_ *testing.T, f *fakeCluster) {
			window := bson.D{{Key: "start", Value: "01:00"}, {Key: "stop", Value: "02:00"}}
			f.settings["balancer"] = bson.D{{Key: "activeWindow", Value: window}}
		}, []string{"windowShut"}},
		{"flags", balancer.Config{}, func(_ *testing.T, f *fakeCluster) {
			f.colls[0].entry.NoBalance, f.colls[0].entry.AllowMigrations = true, false
		}, []string{"balancingOff db.c", "migrationsForbidden db.c"}},
		{"flags of 4.4", v44, func(_ *testing.T, f *fakeCluster) {
			f.colls[0].entry.NoBalance, f.colls[0].entry.AllowMigrations = true, false
		}, []string{"balancingOff db.c"}},
		{"zones inside chunks", balancer.Config{}, func(t *testing.T, f *fakeCluster) {
			r := catalog.ZoneRange{Min: f.key(t, 3), Max: f.key(t, 5), Zone: "Z"}
			if err := f.colls[0].zones.Add(r); err != nil {
				t.Fatal(err)
			}
			f.failSplit = func(policy.Split) error { return mongoerr.New(mongoerr.CannotSplit, "no") }
		}, []string{"unalignedZones db.c"}},
		{"dropped meanwhile", balancer.Config{}, func(_ *testing.T, f *fakeCluster) {
			f.failRouting = map[string]error{"db.c": mongoerr.New(mongoerr.NamespaceNotFound, "gone")}
		}, []string{"collectionGone db.c"}},
		{"not readable, of 4.4", v44, func(_ *testing.T, f *fakeCluster) {
			f.failRouting = map[string]error{"db.c": mongoerr.New(mongoerr.OperationFailed, "no")}
		}, []string{"notReadable db.c"}},
		{"one shard", balancer.Config{}, func(_ *testing.T, f *fakeCluster) { f.shards = f.shards[:1] }, []string{"tooFewShards"}},
		{"no shard left", balancer.Config{}, func(t *testing.T, f *fakeCluster) {
			f.add(t, "db.d", 1000, 0)
		}, []string{"chunksImbalance db.c", "noDonor db.c", "tooFewShards db.d"}},
		{"at random", balancer.Config{Parameters: func() balancer.Parameters { return balancer.Parameters{RandomMigrations: true} }},
			func(*testing.T, *fakeCluster) {}, []string{"randomMove db.c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake("a", "b")
			f.add(t, "db.c", 1000, 0)
			tt.prepare(t, f)
			rounds := decided(t, f, tt.cfg, 5*time.Second)
			if len(rounds) == 0 || !slices.Equal(rounds[0], tt.want) {
				t.Errorf("decided %v, want %v first", rounds, tt.want)
			}
		})
	}
}

// The second batch of migrations waits for the throttle, and the round says so.
func TestThrottledIsADecision(t *testing.T) {
	f := newFake("a", "b")
	f.add(t, "db.c", 2000, 0)
	rounds := decided(t, f, balancer.Config{}, 10*time.Second)
	if len(rounds) < 2 || slices.Contains(rounds[0], "throttled") || !slices.Contains(rounds[1], "throttled") {
		t.Errorf("decided %v", rounds)
	}
}

// Collections that the time was too short for are told apart from those that
// were measured.
func TestNotCachedIsADecision(t *testing.T) {
	f := newFake("a", "b", "c", "d")
	for i := range 130 {
		f.add(t, fmt.Sprintf("db.c%03d", i), 0, 0, 0, 0)
	}
	f.colls[5].sizes["a"] = 2000 * mib
	f.colls[120].entry.NoBalance = true
	f.measureTime = 6 * time.Second
	rounds := decided(t, f, balancer.Config{}, 10*time.Second)
	if len(rounds) == 0 {
		t.Fatal("no round")
	}
	counts := map[string]int{}
	for _, line := range rounds[0] {
		code, _, _ := strings.Cut(line, " ")
		counts[code]++
	}
	if counts["notCached"] != 29 || counts["balancingOff"] != 1 || counts["chunksImbalance"] != 1 || counts["noData"] != 99 {
		t.Errorf("decided %v", counts)
	}
}
