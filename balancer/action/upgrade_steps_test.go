package action

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
)

// upgradeStep is one step of an upgrade: other servers, or another compatibility version.
type upgradeStep struct {
	on      mock.ServerSelector
	version string
	fcv     string
}

// upgradePaths are those that the release notes of 9.0 have from 8.0 on: step by step, config
// servers first and routers last; the compatibility version follows when all have the version.
func upgradePaths() [][]upgradeStep {
	servers := func(version string) []upgradeStep {
		steps := []upgradeStep{{on: mock.ServerSelector{ConfigServers: true}, version: version}}
		for _, id := range []string{"s0", "s1", "s2", "s3"} {
			steps = append(steps, upgradeStep{on: mock.ServerSelector{Shard: id}, version: version})
		}
		return append(steps, upgradeStep{on: mock.ServerSelector{Routers: true}, version: version})
	}
	path := func(parts ...any) (steps []upgradeStep) {
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				steps = append(steps, upgradeStep{fcv: p})
			case []upgradeStep:
				steps = append(steps, p...)
			}
		}
		return steps
	}
	return [][]upgradeStep{
		path(servers("8.2.6"), servers("9.0.2"), "9.0"),
		path(servers("8.2.5"), servers("8.2.6"), "8.2"),
		path(servers("8.0.20"), servers("8.3"), "8.3", servers("9.0"), "9.0"),
		path(servers("9.0.2"), "9.0"),
	}
}

// stepwise begins an upgrade of a cluster that goes on while something runs.
func (w *world) stepwise(r *rand.Rand, steps []upgradeStep) (done *int) {
	done = new(int)
	least := time.Duration(r.Int64N(int64(50*time.Millisecond) << r.IntN(10)))
	between := int64(50*time.Millisecond) << r.IntN(10)
	var next func()
	next = func() {
		step := steps[*done]
		*done++
		if *done < len(steps) {
			w.cluster.After(time.Duration(r.Int64N(between)+1), next)
		}
		var err error
		if step.fcv != "" {
			err = w.cluster.ClusterParameters().StartFCVChange(step.fcv, time.Duration(r.Int64N(between)+1))
		} else if is, bad := catalog.ParseRelease(step.version); bad != nil {
			err = bad
		} else if err = w.cluster.InstalledReleases().Install(step.on, is); err != nil && step.on.Shard == "s3" &&
			strings.Contains(err.Error(), "no such server") { // some have three shards
			err = nil
		}
		if err != nil {
			w.Errorf("%+v: %v", step, err)
		}
	}
	w.cluster.Lock()
	w.cluster.After(least, next)
	w.cluster.Unlock()
	return done
}

// members has the world reach members, too, in memory.
func (w *world) members() {
	w.Helper()
	rs, err := router.NewRouters(router.New(w.cluster, nil), 1)
	if err != nil {
		w.Fatal(err)
	}
	w.client = mocktest.Connect(w, rs, func(o *options.ClientOptions) {
		w.settings = options.Client().SetDialer(o.Dialer)
	})
}

// All servers get other versions one after the other, at any moment of a run and at any pace,
// and then the compatibility version follows. Whatever runs ends well.
func TestUpgradeStepByStepUnderARun(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	switch {
	case *full:
		seeds = 200
	case testing.Short():
		seeds = 2
	}
	finished, begun := 0, 0
	for seed := range seeds {
		for i, verb := range []string{"apply", "balance", "drain", "defragment", "presplit"} {
			r := rand.New(rand.NewPCG(seed, 91))
			w := &world{TB: t, release: catalog.Release80}
			w.cluster = mocktest.Cluster(t, scattered(r, []string{`"balancer": {"mode": "full"}`, `"balancer": {"mode": "off"}`}[r.IntN(2)]), mock.Config{
				Release: catalog.Release80.WithPatch(10), Seed: seed, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
			})
			w.members()
			w.documents = w.count()
			path := upgradePaths()[(int(seed)+i)%len(upgradePaths())]
			done := w.stepwise(r, path)
			heard := &upgraded{changing: func() bool { return true }}
			if err := upgradeVerbs[verb](w, w.cluster.Clock(), heard); err != nil {
				t.Errorf("%s %d, after %d steps: %v; it said %q", verb, seed, *done, err, heard.waits)
			}
			for _, text := range heard.waits {
				if !strings.HasPrefix(text, "paused: the feature compatibility version is being changed to ") &&
					!strings.HasPrefix(text, "continuing after ") {
					t.Errorf("%s %d: it said %q", verb, seed, heard.waits)
				}
			}
			w.cluster.Lock()
			finished, begun = finished+*done/len(path), begun+min(*done, 1)
			w.cluster.Unlock()
			w.well()
		}
	}
	t.Logf("of %d runs, %d met an upgrade, and %d the end of one", seeds*5, begun, finished)
	if uint64(begun) < 2*seeds || finished == 0 {
		t.Errorf("of %d runs, %d met an upgrade, and %d the end of one", seeds*5, begun, finished)
	}
}

// A run goes by the config servers, as rounds do: with the router of 8.2.6 and config servers of
// 8.2.5 it leaves a zone as it is, the other way round it evens it out.
func TestRunsGoByTheConfigServers(t *testing.T) {
	for _, tt := range []struct {
		router, config string
		moves          bool
	}{{"8.2.6", "8.2.5", false}, {"8.2.5", "8.2.6", true}} {
		release, err := catalog.ParseRelease(tt.router)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{TB: t, release: release}
		w.cluster = mocktest.Cluster(t, twoZones, mock.Config{Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)})
		w.members()
		if err := w.client.Database("admin").RunCommand(t.Context(), bson.D{
			{Key: "mockInstall", Value: 1}, {Key: "configServers", Value: true}, {Key: "version", Value: tt.config},
		}).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := Balance{All: true, Pace: Pace{Parallel: 1}, PauseBalancing: true}.Run(t.Context(), w.timed(w.cluster.Clock()), &upgraded{
			changing: func() bool { return false }})
		if err != nil || (got.Moves > 0) != tt.moves {
			t.Errorf("router %s, config servers %s: %+v, %v", tt.router, tt.config, got, err)
		}
	}
}

// twoZones is the cluster of the server's test of SERVER-115962: 20 MiB of EU on a, 10 MiB of US on b.
var twoZones = func() string {
	chunks := ""
	for i := range 30 {
		shard, end := "a", fmt.Sprintf(`"max": {"k": %d}, `, i+1)
		if i >= 20 {
			shard = "b"
		}
		if i == 29 {
			end = ""
		}
		chunks += fmt.Sprintf(`%s{"shard": %q, %s"bytes": "1MiB", "docs": 1}`, comma(i), shard, end)
	}
	return `{"shards": [{"id": "a", "zones": ["EU"]}, {"id": "b", "zones": ["US"]}, {"id": "c", "zones": ["US"]}],
	 "settings": {"chunkSizeMB": 1, "balancer": {"mode": "off"}}, "collections": [{"ns": "shop.x", "key": {"k": 1}, "zones": [
	  {"zone": "EU", "min": {"k": {"$minKey": 1}}, "max": {"k": 20}}, {"zone": "US", "min": {"k": 20}, "max": {"k": {"$maxKey": 1}}}],
	 "chunks": [` + chunks + `]}]}`
}()
