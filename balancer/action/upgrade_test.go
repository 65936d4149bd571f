package action

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// upgraded hears what a run says while somebody upgrades the cluster.
type upgraded struct {
	waits    []string
	steps    int
	failures []string
	changing func() bool
}

func (u *upgraded) Report(e Event) {
	var err error
	switch e := e.(type) {
	case Wait:
		u.waits = append(u.waits, e.Text)
	case EngineEvent:
		if err = e.Err; e.Kind == runner.RefusedByHold {
			err = nil
		}
	case StepEvent:
		if err = e.Err; e.Kind == apply.Ended {
			u.steps++
		}
	}
	// When the change is over before anybody can look, it is a failure that passes.
	if mongoerr.Is(err, mongoerr.ConflictingOperationInProgress) && u.changing() {
		u.failures = append(u.failures, err.Error())
	}
}

// upgradeVerbs are what runs while the compatibility version changes.
var upgradeVerbs = map[string]func(*world, apply.Clock, Reporter) error{
	"balance": func(w *world, clock apply.Clock, r Reporter) error {
		got, err := Balance{All: true, Pace: Pace{Parallel: 2}, PauseBalancing: true}.Run(w.Context(), w.timed(clock), r)
		if err == nil && (!got.Reached || got.Failed > 0) {
			err = fmt.Errorf("%+v", got)
		}
		return err
	},
	"apply": func(w *world, clock apply.Clock, r Reporter) error {
		got, err := Apply{Plan: w.plan(plan.Goal{Kind: plan.Balance}), RunOptions: upgradeRun()}.Run(w.Context(), w.timed(clock), r)
		return done(got, err)
	},
	"drain": func(w *world, clock apply.Clock, r Reporter) error {
		got, err := Drain{Shard: "s0", MovePrimaries: true, RunOptions: upgradeRun()}.Run(w.Context(), w.timed(clock), r)
		return done(got, err)
	},
	"defragment": func(w *world, clock apply.Clock, r Reporter) error {
		got, err := Defragment{All: true, RunOptions: upgradeRun()}.Run(w.Context(), w.timed(clock), r)
		return done(got, err)
	},
	"presplit": func(w *world, clock apply.Clock, r Reporter) error {
		cuts := PresplitMethod{Namespace: "db.c0"}
		for i := range 8 {
			point, err := bson.Marshal(bson.D{{Key: "x", Value: int32(1500 + 1000*i)}})
			if err != nil {
				return err
			}
			cuts.Points = append(cuts.Points, point)
		}
		got, err := Presplit{PresplitMethod: cuts, RunOptions: upgradeRun()}.Run(w.Context(), w.timed(clock), r)
		return done(got, err)
	},
}

func upgradeRun() RunOptions {
	return RunOptions{Pace: Pace{Parallel: 2}, NoJournal: true, PauseBalancing: true}
}

func done(r PlanResult, err error) error {
	if err == nil && !r.Finished {
		err = fmt.Errorf("%+v", r)
	}
	return err
}

func (w *world) timed(clock apply.Clock) Cluster {
	c := w.actionCluster()
	c.Clock = clock
	return c
}

// Somebody sets the compatibility version to 9.0 at any moment of a run, for any time. The run
// says why it waits, counts nothing of that as a failure, and ends well.
func TestUpgradeUnderARun(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	switch {
	case *full:
		seeds = 200
	case testing.Short():
		seeds = 3
	}
	waited := 0
	for seed := range seeds {
		for _, verb := range []string{"apply", "balance", "drain", "defragment", "presplit"} {
			r := rand.New(rand.NewPCG(seed, 90))
			w := &world{TB: t, release: catalog.Release90}
			w.cluster, w.client = mocktest.New(t, scattered(r, []string{`"balancer": {"mode": "full"}`, `"balancer": {"mode": "off"}`}[r.IntN(2)]), mock.Config{
				Release: catalog.Release90, FCV: []string{"8.0", "8.3"}[r.IntN(2)], Seed: seed,
				Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
			})
			w.documents = w.count()
			after := time.Duration(r.Int64N(int64(50*time.Millisecond) << r.IntN(10)))
			takes := time.Duration(r.Int64N(int64(time.Second)<<r.IntN(10)) + 1)
			w.cluster.Lock()
			w.cluster.After(after, func() {
				if err := w.cluster.ClusterParameters().StartFCVChange("9.0", takes); err != nil {
					t.Error(err)
				}
			})
			w.cluster.Unlock()
			heard := &upgraded{changing: func() bool {
				w.cluster.Lock()
				defer w.cluster.Unlock()
				return len(w.cluster.ClusterParameters().FCVDocument().Lookup("targetVersion").Value) > 0
			}}
			if err := upgradeVerbs[verb](w, w.cluster.Clock(), heard); err != nil {
				t.Errorf("%s %d: upgraded after %v for %v: %v; it said %q", verb, seed, after, takes, err, heard.waits)
			}
			for _, text := range heard.waits {
				if strings.HasPrefix(text, "paused: the feature compatibility version is being changed to 9.0") {
					waited++
				} else if !strings.HasPrefix(text, "continuing after ") {
					t.Errorf("%s %d: it said %q", verb, seed, heard.waits)
				}
			}
			for _, text := range heard.failures {
				t.Errorf("%s %d: it failed with %s", verb, seed, text)
			}
			w.well()
		}
	}
	t.Logf("%d of %d runs have waited", waited, seeds*5)
	if uint64(waited) < seeds {
		t.Errorf("only %d of %d runs have waited", waited, seeds*5)
	}
}

// quiesce waits for the end of a change of the version, and names it when that comes too late.
func TestQuiesceWhileTheVersionIsSet(t *testing.T) {
	for _, tt := range []struct {
		takes time.Duration
		want  QuiesceVerdict
	}{{time.Minute, VerdictQuiet}, {time.Hour, VerdictNotQuiet}} {
		w := &world{TB: t, release: catalog.Release90}
		w.cluster, w.client = mocktest.New(t, fmt.Sprintf(heaped, "off", ""), mock.Config{
			Release: catalog.Release90, FCV: "8.0", Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
		})
		w.cluster.Lock()
		if err := w.cluster.ClusterParameters().StartFCVChange("9.0", tt.takes); err != nil {
			t.Error(err)
		}
		w.cluster.Unlock()
		heard := &watched{}
		got, err := Quiesce{Hold: time.Second, Timeout: 10 * time.Minute}.Run(t.Context(), w.actionCluster(), heard)
		const text = "the feature compatibility version is being changed to 9.0"
		named := slices.ContainsFunc(got.WaitedFor, func(b live.Activity) bool { return b.Kind == live.ActivityFCVChange })
		if err != nil || got.Verdict != tt.want || !named || len(heard.notes) == 0 || !strings.Contains(heard.notes[0], text) {
			t.Errorf("%v: %+v, %v; it said %q", tt.takes, got, err, heard.notes)
		}
		if late := len(got.Running) > 0; late != (tt.want == VerdictNotQuiet) {
			t.Errorf("%v: still %v", tt.takes, got.Running)
		}
	}
}

// why says it, with what it means for the balancer.
func TestWhyWhileTheVersionIsSet(t *testing.T) {
	for _, tt := range []struct{ fcv, to, text string }{
		{"8.0", "9.0", "the feature compatibility version is being changed to 9.0: runs of shardsh wait; no chunk is split, " +
			"merged or moved, also by the balancer, and movePrimary is refused (117)"},
		{"9.0", "8.3", "the feature compatibility version is being changed to 8.3: runs of shardsh wait"},
	} {
		w := &world{TB: t, release: catalog.Release90}
		w.cluster, w.client = mocktest.New(t, fmt.Sprintf(heaped, "off", ""), mock.Config{Release: catalog.Release90, FCV: tt.fcv})
		w.cluster.Lock()
		if err := w.cluster.ClusterParameters().StartFCVChange(tt.to, time.Hour); err != nil {
			t.Error(err)
		}
		w.cluster.Unlock()
		var texts []string
		for _, f := range diagnosis.WaitingRunFindings(w.snapshot()) {
			texts = append(texts, f.Sentence)
		}
		if len(texts) != 1 || texts[0] != tt.text {
			t.Errorf("%s: %q", tt.to, texts)
		}
	}
}
