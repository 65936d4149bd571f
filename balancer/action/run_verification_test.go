package action

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/verify"
)

// proven is a run that empties a shard, with what is to happen at its first step.
func (v *verified) proven(change func(*Drain), atStep func()) (PlanResult, []string, error) {
	v.Helper()
	d := Drain{Shard: "s1", RunOptions: RunOptions{
		Pace: Pace{Parallel: 1}, RunVerifyOptions: RunVerifyOptions{Verify: true}, Journal: v.path("run.journal"),
	}}
	if change != nil {
		change(&d)
	}
	var notes []string
	result, err := d.Run(v.Context(), v.cluster(), reporterFunc(func(e Event) {
		switch e := e.(type) {
		case Note:
			notes = append(notes, e.Text)
			if v.atNote != nil {
				v.atNote(e.Text)
			}
		case StepEvent:
			if atStep != nil && e.Kind == apply.Began {
				atStep()
				atStep = nil
			}
		}
	}))
	return result, notes, err
}

type reporterFunc func(e Event)

func (f reporterFunc) Report(e Event) { f(e) }

// A run that loses nothing says so, with writers at work; one during which a document vanishes
// without a write says that, too.
func TestRunIsVerified(t *testing.T) {
	for seed, release := range releases() {
		w := newVerified(t, release, uint64(seed))
		result, notes, err := w.proven(nil, func() { w.update(7, set("s", "written")) })
		if err != nil || !result.Finished || result.MovesDone == 0 || result.Verify == nil {
			t.Fatalf("%s: %v, %+v, %q", release, err, result, notes)
		}
		if v := result.Verify.Verdict; v != string(verify.Explained) && v != string(verify.Written) {
			t.Errorf("%s: %s, %+v", release, v, result.Verify.Collections)
		}
		w = newVerified(t, release, uint64(seed))
		result, _, err = w.proven(nil, func() { w.vanish(0) })
		if err != nil || !result.Finished || !result.Verify.Differs() {
			t.Errorf("%s: a lost document is not seen: %v, %+v", release, err, result)
		}
	}
}

// A run that goes on is compared with what was before its first step, though that was in an
// earlier process; and nobody has to say so again.
func TestResumedRunIsVerified(t *testing.T) {
	w := newVerified(t, catalog.Release80, 1)
	w.admin(bson.D{{Key: "split", Value: "db.c"}, {Key: "middle", Value: bson.D{{Key: "x", Value: 150}}}})
	result, _, err := w.proven(func(d *Drain) { d.MaxMoves = 1 }, nil)
	if err != nil || result.Finished || result.Verify == nil || result.Verify.Verdict != string(verify.Same) {
		t.Fatalf("%v, %+v", err, result)
	}
	if _, err := os.Stat(w.path("run.journal.digest")); err != nil {
		t.Fatal(err)
	}
	w.vanish(41)
	again := func(d *Drain) {
		*d = Drain{RunOptions: RunOptions{Pace: Pace{Parallel: 1}, ResumeJournal: w.path("run.journal")}}
	}
	result, notes, err := w.proven(again, nil)
	if err != nil || !result.Verify.Differs() || !strings.Contains(strings.Join(notes, "\n"), "run.journal.digest") {
		t.Errorf("%v, %+v, %q", err, result, notes)
	}
}

// admin sends a command.
func (v *verified) admin(command bson.D) {
	v.Helper()
	if err := v.client.Database("admin").RunCommand(v.TB.Context(), command).Err(); err != nil {
		v.Fatal(err)
	}
}

// vanish takes a document away that nobody has deleted.
func (v *verified) vanish(i int) {
	v.Helper()
	doc, err := v.coll().FindOne(v.Context(), bson.D{{Key: "_id", Value: idOf(i)}}).Raw()
	if err != nil {
		v.Fatal(err)
	}
	for _, shard := range []catalog.ShardID{"s0", "s1", "s2"} {
		if err := v.mock.Corrupter().Delete(shard, "db.c", doc.Lookup("_id")); err != nil {
			v.Fatal(err)
		}
	}
}

// Nothing is changed while what is to be verified can't be read, and the documents of an
// interrupted run are not read on.
func TestRunIsNotVerified(t *testing.T) {
	w := newVerified(t, catalog.Release80, 2)
	w.atNote = func(text string) {
		if strings.HasPrefix(text, "Before the first step") {
			w.admin(bson.D{{Key: "mockFailNext", Value: "find"}, {Key: "code", Value: 13}})
		}
	}
	result, _, err := w.proven(nil, func() { t.Error("a step began") })
	w.atNote = nil
	if err == nil || !strings.Contains(err.Error(), "before the first step") || result.PlanID != "" {
		t.Errorf("%v, %+v", err, result)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.TB = withContext{t, ctx}
	result, notes, err := w.proven(nil, stop)
	if result.Verify != nil || !strings.Contains(strings.Join(notes, "\n"), "shardsh verify --against "+w.path("run.journal.digest")) {
		t.Errorf("%v, %+v, %q", err, result.Verify, notes)
	}
}

type withContext struct {
	*testing.T
	ctx context.Context
}

func (w withContext) Context() context.Context { return w.ctx }

// An undo is compared with what was before the undo, and leaves the digest of its run alone.
func TestUndoIsVerified(t *testing.T) {
	w := newVerified(t, catalog.Release80, 3)
	if _, _, err := w.proven(nil, nil); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(w.path("run.journal.digest"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := Apply{UndoJournal: w.path("run.journal"), RunOptions: RunOptions{Pace: Pace{Parallel: 1}, RunVerifyOptions: RunVerifyOptions{Verify: true}}}.
		Run(t.Context(), w.cluster(), nil)
	if err != nil || !result.Finished || result.Verify == nil || result.Verify.Verdict != string(verify.Same) {
		t.Errorf("%v, %+v", err, result)
	}
	after, err := os.ReadFile(w.path("run.journal.digest"))
	if err != nil || string(after) != string(before) {
		t.Error("the digest of the run was changed:", err)
	}
}

// With the databases of a shard its unsharded collections move, and are verified.
func TestUnshardedIsVerified(t *testing.T) {
	w := newVerified(t, catalog.Release80, 4)
	small := w.client.Database("db").Collection("small")
	for i := range 20 {
		if _, err := small.InsertOne(t.Context(), bson.D{{Key: "_id", Value: i}}); err != nil {
			t.Fatal(err)
		}
	}
	result, notes, err := w.proven(func(d *Drain) { d.Shard, d.MovePrimaries = "s0", true }, nil)
	if err != nil || result.Verify == nil || len(result.Verify.Collections) != 2 ||
		result.Verify.Collections[1].Namespace != "db.small" || result.Verify.Verdict != string(verify.Same) {
		t.Errorf("%v, %+v, %q", err, result.Verify, notes)
	}
}

// A run that had nothing to do has nothing to compare.
func TestIdleRunIsNotVerified(t *testing.T) {
	w := newVerified(t, catalog.Release80, 6)
	result, _, err := w.proven(func(d *Drain) { d.MaxBytes = 1 }, nil)
	if _, missing := os.Stat(w.path("run.journal.digest")); err != nil || result.Verify != nil || missing == nil {
		t.Errorf("%v, %+v, %v", err, result, missing)
	}
}

func TestProofRefuses(t *testing.T) {
	w := newVerified(t, catalog.Release80, 5)
	_, _, err := w.proven(func(d *Drain) { d.VerifyBytesPerSecond = -1 }, nil)
	if !errors.As(err, new(*OptionError)) {
		t.Error(err)
	}
}
