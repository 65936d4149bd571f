package apply_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// simple has eight chunks of 100 MiB on a, none on b and c.
func simple() string {
	text := `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [`
	for i := range 8 {
		text += comma(i) + `{"shard": "a", "bytes": 104857600, "docs": 102400`
		if i < 7 {
			text += fmt.Sprintf(`, "max": {"x": %d}`, 1000*(i+1))
		}
		text += "}"
	}
	return text + "]}]}"
}

func newBalancerConflictError(t *testing.T) (*world, *plan.Plan) {
	w := newWorld(t, simple(), catalog.Release80, 1)
	p := w.plan(plan.Goal{Kind: plan.Balance})
	if p.Totals.Moves < 3 {
		t.Fatalf("only %d moves: %+v", p.Totals.Moves, p.Left)
	}
	return w, p
}

func (w *world) run(db string, command bson.D) {
	w.Helper()
	if err := w.client.Database(db).RunCommand(w.Context(), command).Err(); err != nil {
		w.Fatal(err)
	}
}

func x(n int) bson.D { return bson.D{{Key: "x", Value: n}} }

// hooked is a cluster that has something happen before each command.
type hooked struct {
	apply.Cluster
	before func(n int, c apply.Command) error

	mu   sync.Mutex
	sent int
}

func (h *hooked) Do(ctx context.Context, c apply.Command) error {
	h.mu.Lock()
	h.sent++
	n := h.sent
	h.mu.Unlock()
	if err := h.before(n, c); err != nil {
		return err
	}
	return h.Cluster.Do(ctx, c)
}

// Each way in which a cluster moves on is found before anything is sent.
func TestMovedOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world, *plan.Plan)
		want   string
	}{
		"a chunk has moved": {func(w *world, p *plan.Plan) { w.astray(p.Steps[1]) }, "the plan moves it from a to"},
		"a new collection": {func(w *world, _ *plan.Plan) {
			w.run("db", bson.D{{Key: "drop", Value: "c"}})
			w.run("admin", bson.D{{Key: "shardCollection", Value: "db.c"}, {Key: "key", Value: x(1)}})
		}, "was dropped and made again since the plan"},
		"no collection": {func(w *world, _ *plan.Plan) { w.run("db", bson.D{{Key: "drop", Value: "c"}}) },
			"db.c is not a sharded collection any more"},
		"a longer key": {func(w *world, _ *plan.Plan) {
			w.run("db", bson.D{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{
				bson.D{{Key: "key", Value: bson.D{{Key: "x", Value: 1}, {Key: "y", Value: 1}}}, {Key: "name", Value: "xy"}}}}})
			w.run("admin", bson.D{{Key: "refineCollectionShardKey", Value: "db.c"},
				{Key: "key", Value: bson.D{{Key: "x", Value: 1}, {Key: "y", Value: 1}}}})
		}, "the shard key of db.c is"},
		"a draining recipient": {func(w *world, _ *plan.Plan) { w.run("admin", bson.D{{Key: "removeShard", Value: "b"}}) },
			"its recipient b is draining"},
		"a zone": {func(w *world, _ *plan.Plan) {
			w.run("admin", bson.D{{Key: "addShardToZone", Value: "a"}, {Key: "zone", Value: "EU"}})
			w.run("admin", bson.D{{Key: "updateZoneKeyRange", Value: "db.c"}, {Key: "min", Value: bson.D{{Key: "x", Value: bson.MinKey{}}}},
				{Key: "max", Value: bson.D{{Key: "x", Value: bson.MaxKey{}}}}, {Key: "zone", Value: "EU"}})
		}, "is in zone EU now, and shard"},
		"migrations forbidden": {func(w *world, _ *plan.Plan) {
			w.run("admin", bson.D{{Key: "setAllowMigrations", Value: "db.c"}, {Key: "allowMigrations", Value: false}})
		}, `migrations of db.c are forbidden: sh.enableMigrations("db.c")`},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newBalancerConflictError(t)
			c.change(w, p)
			after := w.layout()
			r, err := apply.Run(t.Context(), &hooked{Cluster: w.steps, before: func(int, apply.Command) error {
				t.Error("a command was sent")
				return nil
			}}, p, w.options())
			if err == nil || r.Finished || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			w.sameLayout("refused", after)
		})
	}
}

// moveStep moves the range of a step.
func (w *world) moveStep(s plan.Step, to string) {
	w.Helper()
	pattern := w.snapshot().Collection(s.Namespace).Pattern
	w.run("admin", bson.D{{Key: "moveRange", Value: s.Namespace}, {Key: "toShard", Value: to},
		{Key: "min", Value: pattern.Bound(s.Min)}, {Key: "max", Value: pattern.Bound(s.Max)}})
}

// astray moves the range of a step to a shard where the plan neither finds it nor
// brings it.
func (w *world) astray(s plan.Step) {
	w.Helper()
	if s.To == "b" {
		w.moveStep(s, "c")
	} else {
		w.moveStep(s, "b")
	}
}

func (w *world) replan(_ context.Context, want apply.ReplanRequest) (*plan.Plan, error) {
	return plan.Make(apply.WithBalancingResumed(w.snapshot(), want.Paused), plan.Options{Goal: want.Goal, Limits: want.Limits,
		Model: plan.MeasuredAfterMerges(want.Merged)})
}

// What has changed only around a step is not a reason to stop: chunks that were cut
// or merged, and steps that somebody else has done.
func TestChangesThatDoNotMatter(t *testing.T) {
	w, p := newBalancerConflictError(t)
	first, second := p.Steps[0], p.Steps[1]
	w.moveStep(first, string(first.To))
	pattern := w.snapshot().Collection("db.c").Pattern
	point, ok := pattern.KeyAtFraction(second.Min, second.Max, 0.5)
	if !ok {
		t.Fatal("the second chunk can't be cut")
	}
	w.run("admin", bson.D{{Key: "split", Value: "db.c"}, {Key: "middle", Value: pattern.Bound(point)}})
	var told []apply.EventKind
	o := w.options()
	o.OnEvent = func(e apply.Event) { told = append(told, e.Kind) }
	r := w.mustRun(p, o)
	if r.Progress.StepsThisRun != len(p.Steps)-1 || told[0] != apply.AlreadyDone {
		t.Errorf("%+v, told %v", r.Progress, told)
	}
	table := w.snapshot().Collection("db.c").Table
	for _, s := range p.Steps {
		if owners := table.OwnersIn(s.Min, s.Max); !slices.Equal(owners, []catalog.ShardID{s.To}) {
			t.Errorf("step %d: on %v, want %s", s.Number, owners, s.To)
		}
	}
}

// Another plan takes over, with the same goal, as often as the cluster changes.
func TestReplan(t *testing.T) {
	w, p := newBalancerConflictError(t)
	path := filepath.Join(t.TempDir(), "journal")
	j, err := apply.CreateJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	o := w.options()
	o.ChangePolicy, o.Replan, o.Journal = apply.ReplanOnChange, w.replan, j
	var told []apply.EventKind
	o.OnEvent = func(e apply.Event) { told = append(told, e.Kind) }
	before := w.layout()
	c := &hooked{Cluster: w.steps, before: func(n int, _ apply.Command) error {
		if n == 1 {
			w.astray(p.Steps[2])
		}
		return nil
	}}
	r, err := apply.Run(t.Context(), c, p, o)
	if err != nil || !r.Finished || r.Replans == 0 || !slices.Contains(told, apply.Replanned) || r.Plan.ID == p.ID {
		t.Fatalf("%+v, %v", r, err)
	}
	if again := w.plan(p.Goal); len(again.Steps) > 0 {
		t.Errorf("%d steps are left", len(again.Steps))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	// The journal has both plans, and undoing takes both back; what somebody else
	// did stays.
	w.run("admin", bson.D{{Key: "mockAdvance", Value: time.Hour.Milliseconds()}}) // what a gave away is deleted
	w.moveStep(p.Steps[2], "a")
	undo := w.options()
	undo.Undo = true
	w.life(path, nil, undo, 1<<30)
	w.sameLayout("undone", before)
	o = w.options()
	o.ChangePolicy, o.Replan = apply.ReplanOnChange, func(context.Context, apply.ReplanRequest) (*plan.Plan, error) {
		return p, nil // for ever the same
	}
	w.astray(p.Steps[0])
	if _, err := apply.Run(t.Context(), w.steps, p, o); err == nil || !strings.Contains(err.Error(), "new plans") {
		t.Error(err)
	}
}

func TestBalancerIsOn(t *testing.T) {
	w, p := newBalancerConflictError(t)
	w.run("admin", bson.D{{Key: "balancerStart", Value: 1}})
	o := w.options()
	_, err := apply.Run(t.Context(), w.steps, p, o)
	var works *apply.BalancerConflictError
	if !errors.As(err, &works) || !slices.Equal(works.Namespaces, []string{"db.c"}) ||
		!strings.Contains(err.Error(), `sh.stopBalancer(), or sh.disableBalancing("db.c")`) {
		t.Fatalf("got %v", err)
	}
	// Its window opens before the plan is done, and then long after it.
	now := w.cluster.Clock().Now().UTC()
	window := func(from time.Duration) {
		w.run("config", bson.D{{Key: "update", Value: "settings"}, {Key: "updates", Value: bson.A{bson.D{
			{Key: "q", Value: bson.D{{Key: "_id", Value: "balancer"}}}, {Key: "upsert", Value: true},
			{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "activeWindow", Value: bson.D{
				{Key: "start", Value: now.Add(from).Format("15:04")},
				{Key: "stop", Value: now.Add(from + time.Hour).Format("15:04")}}}}}}}}}}})
	}
	window(time.Minute)
	if _, err = apply.Run(t.Context(), w.steps, p, o); !errors.As(err, &works) || works.OpensAt.IsZero() ||
		!strings.Contains(err.Error(), "its window opens at 2026-03-02T12:0") {
		t.Errorf("got %v", err)
	}
	window(5 * time.Hour)
	w.mustRun(p, o)
}

// Somebody switches the balancer on while a plan is carried out.
func TestBalancerComesOn(t *testing.T) {
	w, p := newBalancerConflictError(t)
	c := &hooked{Cluster: w.steps, before: func(n int, _ apply.Command) error {
		if n == 2 {
			w.run("admin", bson.D{{Key: "balancerStart", Value: 1}})
		}
		return nil
	}}
	r, err := apply.Run(t.Context(), c, p, w.options())
	if !errors.As(err, new(*apply.BalancerConflictError)) || r.Finished || r.Progress.StepsThisRun != 2 || c.sent != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// With its balancing paused nobody else moves a collection meanwhile, and it is
// balanced again afterwards; one that was switched off before stays so.
func TestPauseBalancing(t *testing.T) {
	w, p := newBalancerConflictError(t)
	w.run("admin", bson.D{{Key: "balancerStart", Value: 1}})
	o := w.options()
	o.PauseBalancing = true
	c := &hooked{Cluster: w.steps, before: func(int, apply.Command) error {
		if s := w.snapshot(); !s.Collection("db.c").NoBalance {
			t.Error("the balancer may work on db.c")
		}
		return nil
	}}
	if r, err := apply.Run(t.Context(), c, p, o); err != nil || !r.Finished {
		t.Fatal(err)
	}
	w.balancedAgain()
	w.run("config", bson.D{{Key: "update", Value: "collections"}, {Key: "updates", Value: bson.A{bson.D{
		{Key: "q", Value: bson.D{{Key: "_id", Value: "db.c"}}},
		{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "noBalance", Value: true}}}}}}}}})
	w.mustRun(p, o)
	if !w.snapshot().Collection("db.c").NoBalance {
		t.Error("what was off is on")
	}
}

// No shard takes part in two migrations at once, and steps of a round do run side
// by side.
func TestParallel(t *testing.T) {
	w := newWorld(t, even(rand.New(rand.NewPCG(4, 4))), catalog.Release80, 4)
	p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "s0"})
	var mu sync.Mutex
	busy, most := map[catalog.ShardID]bool{}, 0
	step := map[string]plan.Step{}
	for _, s := range p.Steps {
		step[s.Namespace+s.Min.String()] = s
	}
	c := &counting{Cluster: w.steps, around: func(c apply.Command, send func() error) error {
		s := step[c.Namespace+c.Min.String()]
		if c.Kind != plan.Move {
			return send()
		}
		mu.Lock()
		if busy[s.From] || busy[s.To] {
			t.Errorf("%s takes part in two migrations", s.From)
		}
		busy[s.From], busy[s.To] = true, true
		most = max(most, len(busy)/2)
		mu.Unlock()
		err := send()
		mu.Lock()
		delete(busy, s.From)
		delete(busy, s.To)
		mu.Unlock()
		return err
	}}
	o := w.options()
	o.Parallel = 4
	if r, err := apply.Run(t.Context(), c, p, o); err != nil || !r.Finished {
		t.Fatal(err)
	}
	t.Logf("%d at once at most", most)
}

type counting struct {
	apply.Cluster
	around func(c apply.Command, send func() error) error
}

func (c *counting) Do(ctx context.Context, command apply.Command) error {
	return c.around(command, func() error { return c.Cluster.Do(ctx, command) })
}

// While a step is under way it is told how long it has been, and nothing when none is.
func TestStepThatGoesOn(t *testing.T) {
	w, p := newBalancerConflictError(t)
	tick := make(chan time.Time)
	o := w.options()
	o.ReportTick = tick
	sent := 0
	c := &counting{Cluster: w.steps, around: func(_ apply.Command, send func() error) error {
		sent++
		if err := o.Clock.Sleep(t.Context(), time.Minute); err != nil {
			return err
		}
		tick <- noon
		return send()
	}}
	var told []apply.Event
	o.OnEvent = func(e apply.Event) {
		if e.Kind == apply.StillRunning {
			told = append(told, e)
		}
	}
	if r, err := apply.Run(t.Context(), c, p, o); err != nil || !r.Finished {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(told) != sent || sent < len(p.Steps) {
		t.Fatalf("%d commands, told of %d times", sent, len(told))
	}
	for i, e := range told {
		if e.Step.Number != i+1 || e.StepAge < time.Minute || e.StepAge > 2*time.Minute || e.Progress.StepsThisRun != i {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

func TestLimitsAndStops(t *testing.T) {
	w, p := newBalancerConflictError(t)
	path := filepath.Join(t.TempDir(), "journal")
	j, err := apply.CreateJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	o := w.options()
	o.Journal, o.Gate = j, w.pace(pace.Rules{MaxMoves: 1})
	r, err := apply.Run(t.Context(), w.steps, p, o)
	if err != nil || r.Finished || r.Progress.MovesThisRun != 1 || r.Stopped != "the limit of 1 move is reached" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	h := w.history(path)
	o.Journal, o.EarlierJournal, o.Gate = nil, h, w.pace(pace.Rules{MaxBytes: p.Steps[1].Bytes})
	if r, err = apply.Run(t.Context(), w.steps, nil, o); err != nil || r.Progress.MovesThisRun != 1 || r.Progress.MovesDone != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	// Ctrl-C in the middle of a step: it comes to its end, and nothing more begins.
	o.Gate = nil
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan struct{}) // that it was interrupted
	c := &hooked{Cluster: w.steps, before: func(int, apply.Command) error {
		cancel()
		<-seen
		return nil
	}}
	var told []apply.EventKind
	o.OnEvent = func(e apply.Event) {
		told = append(told, e.Kind)
		if e.Kind == apply.WaitingToStop {
			close(seen)
		}
	}
	r, err = apply.Run(ctx, c, nil, o)
	if err != nil || r.Finished || r.Stopped != "interrupted" || c.sent != 1 || r.Progress.StepsThisRun != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if !slices.Contains(told, apply.WaitingToStop) {
		t.Errorf("told %v", told)
	}
}

// An error that passes is waited out; another one stops the run, and the step can
// be tried again later.
func TestErrors(t *testing.T) {
	w, p := newBalancerConflictError(t)
	failing := func(err error, times int) *hooked {
		return &hooked{Cluster: w.steps, before: func(n int, _ apply.Command) error {
			if n <= times {
				return err
			}
			return nil
		}}
	}
	busy := mongoerr.New(mongoerr.ConflictingOperationInProgress, "busy")
	_, err := apply.Run(t.Context(), failing(busy, 100), p, w.options())
	if step, ok := errors.AsType[*apply.StepError](err); !ok || step.Step.Number != 1 || !errors.Is(err, busy) {
		t.Errorf("got %v", err)
	}
	c := failing(mongoerr.New(mongoerr.Unauthorized, "not allowed"), 1)
	if _, err := apply.Run(t.Context(), c, p, w.options()); err == nil || c.sent != 1 ||
		!strings.Contains(err.Error(), "not allowed") {
		t.Errorf("got %v after %d", err, c.sent)
	}
	if r, err := apply.Run(t.Context(), failing(busy, 3), p, w.options()); err != nil || !r.Finished || r.Failures > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A dry run sends nothing that matters, step after step that builds on the last.
func TestDryRun(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release50, catalog.Release80} {
		w := newWorld(t, uneven(rand.New(rand.NewPCG(6, 6))), release, 6)
		p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "s0"})
		before := w.layout()
		w.run("admin", bson.D{{Key: "balancerStart", Value: 1}})
		o := w.options()
		o.DryRun, o.PauseBalancing = true, true
		sent := 0
		c := &counting{Cluster: nothing{w.steps}, around: func(apply.Command, func() error) error {
			sent++
			return nil
		}}
		r, err := apply.Run(t.Context(), c, p, o)
		if err != nil || !r.Applicable || sent < len(p.Steps) {
			t.Errorf("%d commands, %+v, %v", sent, r, err)
		}
		if now := r.Progress; r.Finished || now.Steps != len(p.Steps) || now.StepsDone+now.StepsThisRun != 0 ||
			now.BytesDone+now.BytesThisRun != 0 {
			t.Errorf("nothing was done, and the result says %+v", r)
		}
		w.sameLayout("after a dry run", before)
		w.balancedAgain()
	}
}

type nothing struct{ apply.Cluster }

func (nothing) SetBalancing(context.Context, []string, bool) error { return nil }

func TestAnotherCluster(t *testing.T) {
	_, p := newBalancerConflictError(t)
	p.Basis.ClusterID[0]++
	other := newWorld(t, simple(), catalog.Release80, 2)
	if _, err := apply.Run(t.Context(), other.steps, p, other.options()); !errors.As(err, new(*apply.BlockedError)) ||
		!strings.Contains(err.Error(), "the plan is for the cluster with the id") {
		t.Error(err)
	}
}

func TestJournalFile(t *testing.T) {
	w, p := newBalancerConflictError(t)
	path := filepath.Join(t.TempDir(), "journal")
	w.life(path, p, w.options(), 9)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := apply.CreateJournal(path); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Error(err)
	}
	first, err := apply.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apply.OpenJournal(path); !errors.Is(err, apply.ErrJournalInUse) {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "something else": "hello\n", "no plan": `{"what":"began","step":1}` + "\n",
		"a damaged plan": `{"what":"plan","plan":{"format":1}}` + "\n",
	} {
		other := filepath.Join(t.TempDir(), "other")
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := apply.OpenJournal(other); !errors.Is(err, apply.ErrNoJournal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
