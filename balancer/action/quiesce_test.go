package action

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
)

var courses = flag.Int("quiesce.courses", 60, "how many seeded courses with step-downs and crashes TestQuiesceIsQuiet runs")

// course is a cluster at a random moment of balancing, with step-downs to come.
type course struct {
	*world
	r       *rand.Rand
	commits int
}

func newCourse(t testing.TB, seed uint64) *course {
	r := rand.New(rand.NewPCG(seed, 24))
	list := releases()
	release := list[r.IntN(len(list))]
	c := &course{world: newWorld(t, scattered(r, `"chunkSizeMB": 4`), release, seed), r: r}
	c.cluster.Lock()
	c.cluster.Migrations().Watch(func(e mock.MigrationEvent) {
		if e.Name == "committed" {
			c.commits++
		}
	})
	c.cluster.Unlock()
	c.cluster.Lock()
	slow := time.Duration(r.IntN(1500)) * time.Millisecond
	shards := c.cluster.ShardIDs()
	c.cluster.Unlock()
	for _, shard := range shards { // migrations take some seconds
		c.admin("mockSlow", string(shard), bson.E{Key: "latency", Value: slow.String()})
	}
	c.advance(time.Duration(r.IntN(15_000)) * time.Millisecond)
	// Every member steps down at any moment: the config server's primary, and shards,
	// which restart.
	for range 1 + r.IntN(4) {
		c.cluster.Lock()
		at := time.Duration(r.IntN(3000)) * time.Millisecond
		if r.IntN(4) == 0 {
			at = time.Duration(r.IntN(60_000)) * time.Millisecond
		}
		shard := shards[r.IntN(len(shards))]
		onConfig := r.IntN(3) > 0
		c.cluster.After(at, func() {
			if onConfig {
				_ = c.cluster.Balancer().StepDown(nil)
				return
			}
			if c.cluster.Faults().Crash(string(shard)) == nil {
				c.cluster.After(time.Second, func() { _ = c.cluster.Faults().Restart(string(shard)) })
			}
		})
		c.cluster.Unlock()
	}
	return c
}

func (c *course) advance(d time.Duration) {
	c.Helper()
	c.admin("mockAdvance", d.Milliseconds())
}

func (c *course) admin(name string, value any, more ...bson.E) bson.Raw {
	c.Helper()
	command := append(bson.D{{Key: name, Value: value}}, more...)
	reply, err := c.client.Database("admin").RunCommand(c.Context(), command).Raw()
	if err != nil {
		c.Fatal(name, err)
	}
	return reply
}

// committed counts the commits so far.
func (c *course) committed() int {
	c.cluster.Lock()
	defer c.cluster.Unlock()
	return c.commits
}

// A balancerStop that is answered says nothing about the migrations of a config server
// that stepped down: some commit after it.
func TestPlainStopSeesCommits(t *testing.T) {
	seen := 0
	for seed := range uint64(40) {
		c := newCourse(t, seed)
		c.advance(time.Duration(c.r.IntN(2000)) * time.Millisecond)
		if err := c.client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "balancerStop", Value: 1}}).Err(); err != nil {
			continue
		}
		before := c.committed()
		c.advance(2 * time.Minute)
		if c.committed() > before {
			seen++
		}
	}
	if seen == 0 {
		t.Error("no migration commits after balancerStop: the mock's config server does not step down as the server's")
	}
	t.Logf("%d of 40 courses have commits after the OK of balancerStop", seen)
}

// TestQuiesceIsQuiet has nothing commit once quiesce has said so, whoever steps down when.
func TestQuiesceIsQuiet(t *testing.T) {
	n := *courses
	if *full {
		n = 10_000
	}
	quiet, stepDowns := 0, 0
	for seed := range uint64(n) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { // which closes the cluster
			result := newCourse(t, seed).isQuiet(t)
			if result.StepDown {
				stepDowns++
			}
		})
		if t.Failed() {
			break
		}
		quiet++
	}
	t.Logf("%d courses are quiet, %d of them with a step-down while it was waited", quiet, stepDowns)
}

// isQuiet runs something inside, which finds that nothing commits.
func (c *course) isQuiet(t *testing.T) QuiesceResult {
	before, commits := -1, 0
	result, err := Quiesce{
		IgnoreDeletions: c.r.IntN(4) > 0 || !c.release.FCVAtLeast(catalog.Release60), Timeout: time.Hour,
		WhileQuiet: func(context.Context) error {
			before = c.committed()
			c.advance(time.Duration(c.r.IntN(180)) * time.Second)
			commits = c.committed() - before
			return nil
		},
	}.Run(t.Context(), c.actionCluster(), nil)
	if err != nil || result.Verdict != VerdictQuiet || commits != 0 {
		t.Fatalf("%v: %d commits, %+v, %v", c.release, commits, result, err)
	}
	c.advance(65 * time.Second) // who crashes later is back
	if mode := c.balancer(); mode != "full" {
		t.Fatalf("afterwards the balancer is %s", mode)
	}
	c.well()
	return result
}

func (c *course) balancer() string {
	c.Helper()
	return c.admin("balancerStatus", 1).Lookup("mode").StringValue()
}

// What was is put back exactly, and recorded before anything is changed.
func TestQuiesceGivesBackWhatWas(t *testing.T) {
	for _, tt := range []struct{ settings, mode, automerge string }{
		{`"chunkSizeMB": 16`, "full", "true"},
		{`"balancer": {"mode": "off"}`, "off", ""},
		{`"chunkSizeMB": 8`, "full", "false"},
	} {
		c := &course{world: newWorld(t, scattered(rand.New(rand.NewPCG(1, 2)), tt.settings), catalog.Release80, 1)}
		settings := c.client.Database("config").Collection("settings")
		if tt.automerge == "false" {
			if _, err := settings.InsertOne(t.Context(), bson.D{{Key: "_id", Value: "automerge"}, {Key: "enabled", Value: false}}); err != nil {
				t.Fatal(err)
			}
		}
		during := ""
		result, err := Quiesce{WhileQuiet: func(context.Context) error {
			during = c.balancer()
			return nil
		}, IgnoreDeletions: true}.Run(t.Context(), c.actionCluster(), nil)
		if err != nil || result.Verdict != VerdictQuiet || during != "off" || c.balancer() != tt.mode {
			t.Errorf("%s: during %s, after %s, %+v, %v", tt.settings, during, c.balancer(), result, err)
		}
		var doc struct{ Enabled *bool }
		_ = settings.FindOne(t.Context(), bson.D{{Key: "_id", Value: "automerge"}}).Decode(&doc)
		if tt.automerge != "" && (doc.Enabled == nil || *doc.Enabled != (tt.automerge == "true")) {
			t.Errorf("%s: automerge %v", tt.settings, doc.Enabled)
		}
	}
}

// A cluster that is not quiet in time is as before, and what goes on is named.
func TestQuiesceNotInTime(t *testing.T) {
	c := newCourse(t, 3)
	for n := 0; c.admin("mockStatus", 1).Lookup("migrations").AsInt64() == 0; n++ {
		if n == 100 {
			t.Fatal("nothing migrates")
		}
		c.advance(300 * time.Millisecond)
	}
	result, err := Quiesce{Hold: time.Hour, Timeout: time.Second}.Run(t.Context(), c.actionCluster(), nil)
	if err != nil || result.Verdict != VerdictNotQuiet || len(result.Running) == 0 || c.balancer() != "full" {
		t.Errorf("%s, %+v, %v", c.balancer(), result, err)
	}
	c.well()
}

// Somebody who starts the balancer, or moves a chunk, breaks the promise, and that is said.
func TestQuiesceIsBroken(t *testing.T) {
	for what, do := range map[string]func(c *course){
		"start": func(c *course) { c.admin("balancerStart", 1) },
		"start and stop": func(c *course) {
			c.admin("balancerStart", 1)
			c.admin("balancerStop", 1)
		},
		"a run of shardsh": func(c *course) {
			_, err := c.actionCluster().acquire(c.Context(), live.NewCommandRunner(c.client), "balance", false)
			if !errors.As(err, new(*live.HeldError)) {
				c.Errorf("a run begins: %v", err)
			}
		},
	} {
		c := newCourse(t, 5)
		result, err := Quiesce{IgnoreDeletions: true, WhileQuiet: func(context.Context) error {
			do(c)
			return nil
		}}.Run(t.Context(), c.actionCluster(), nil)
		want := VerdictBroken
		if what == "a run of shardsh" {
			want = VerdictQuiet
		}
		if err != nil || result.Verdict != want {
			t.Errorf("%s: %+v, %v", what, result, err)
		}
		if mode := c.balancer(); (mode == "off") != (what == "start and stop") {
			t.Errorf("%s: afterwards the balancer is %s", what, mode)
		}
	}
}

// A detached one outlives its process, keeps runs of shardsh out, and is ended by the next
// one when its time is over.
func TestQuiesceDetached(t *testing.T) {
	c := newCourse(t, 7)
	detach := func() QuiesceResult {
		t.Helper()
		result, err := Quiesce{IgnoreDeletions: true, Detach: true, Hold: time.Hour}.Run(t.Context(), c.actionCluster(), nil)
		if err != nil || result.Verdict != VerdictQuiet || result.Until.IsZero() || c.balancer() != "off" {
			t.Fatalf("%s, %+v, %v", c.balancer(), result, err)
		}
		return result
	}
	acquire := func() (*leasedRun, error) {
		return c.actionCluster().acquire(t.Context(), live.NewCommandRunner(c.client), "balance", false)
	}
	detach()
	if _, err := acquire(); !errors.As(err, new(*live.HeldError)) {
		t.Errorf("a run begins: %v", err)
	}
	result, err := Quiesce{End: true}.Run(t.Context(), c.actionCluster(), nil)
	if err != nil || result.Verdict != VerdictEnded || c.balancer() != "full" {
		t.Errorf("%s, %+v, %v", c.balancer(), result, err)
	}
	detach()
	c.advance(61 * time.Minute)
	l, err := acquire()
	if err != nil || !strings.Contains(l.restoredNote, "the balancer is on again") || c.balancer() != "full" {
		t.Fatalf("%s, %+v, %v", c.balancer(), l, err)
	}
	if err := l.lease.EndRun(t.Context(), nil); err != nil {
		t.Error(err)
	}
	c.well()
}

// Of a dry run nothing stays.
func TestQuiesceDryRun(t *testing.T) {
	c := newCourse(t, 9)
	result, err := Quiesce{DryRun: true}.Run(t.Context(), c.actionCluster(), nil)
	names := []string{}
	for _, command := range result.Commands {
		elements, _ := command.Body.Elements()
		names = append(names, elements[0].Key())
	}
	if err != nil || c.balancer() != "full" || !slices.Equal(names, []string{"balancerStop", "balancerStart"}) {
		t.Errorf("%s %v, %v", c.balancer(), names, err)
	}
	c.well()
}

// How long range deletions will take is what the shards are set to, not the default.
func TestQuiesceExpectsTheSetCleanupDelay(t *testing.T) {
	w := &world{TB: t, release: catalog.Release80}
	w.cluster, w.client = mocktest.New(t, scattered(rand.New(rand.NewPCG(3, 3)), `"chunkSizeMB": 4`), mock.Config{
		Release: w.release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: 3,
		Parameters: map[string]any{"orphanCleanupDelaySecs": 60},
	})
	w.members()
	admin := w.client.Database("admin")
	slow := bson.D{{Key: "mockSlow", Value: "s0"}, {Key: "latency", Value: "1s"}} // migrations take some seconds
	if err := admin.RunCommand(t.Context(), slow).Err(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := admin.RunCommand(t.Context(), bson.D{{Key: "mockAdvance", Value: 1000}}).Err(); err != nil {
			t.Fatal(err)
		}
		result, err := Quiesce{DryRun: true}.Run(t.Context(), w.actionCluster(), nil)
		if err != nil {
			t.Fatal(err)
		}
		// A second of a migration at least, and the deletion after it.
		if expected := time.Duration(result.ExpectedMillis) * time.Millisecond; expected > time.Minute {
			if expected > 3*time.Minute {
				t.Errorf("expected to take %v", expected)
			}
			return
		}
	}
	t.Error("no migration was seen")
}

// hungRunner is a cluster that has stopped answering after some commands.
type hungRunner struct {
	live.CommandRunner
	answers int
}

func (r *hungRunner) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	if r.answers--; r.answers >= 0 {
		return r.CommandRunner.RunCommand(ctx, database, command)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A cluster that hangs from any question before the lease on ends a run with its time limit.
func TestQuiesceHangsBeforeTheLease(t *testing.T) {
	for _, run := range []struct {
		Quiesce
		answers int
	}{
		{Quiesce{Hold: time.Hour}, 0},
		{Quiesce{DryRun: true}, 0},
		{Quiesce{DryRun: true}, 1},
		{Quiesce{End: true}, 0},
	} {
		c := newCourse(t, 3)
		within, cancel := context.WithTimeout(t.Context(), time.Minute)
		run.Timeout = 20 * time.Millisecond
		cluster := c.actionCluster()
		cluster.ChangeRunner = &hungRunner{cluster.runner(), run.answers}
		_, err := run.Run(within, cluster, nil)
		if !errors.Is(err, errUnanswered) || within.Err() != nil || c.balancer() != "full" {
			t.Errorf("%+v: %s, %v, %v", run, c.balancer(), err, within.Err())
		}
		cancel()
	}
}
