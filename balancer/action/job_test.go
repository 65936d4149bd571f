package action

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// plans keeps the plans that are reported.
type plans []*plan.Plan

func (p *plans) Report(e Event) {
	if planned, is := e.(Planned); is {
		*p = append(*p, planned.Plan)
	}
}

var errNo = errors.New("no")

// What is confirmed is what is carried out: the plan stands in a journal that nobody else
// can open meanwhile, and nobody waits for a lease that is held while somebody is asked.
func TestConfirmedIsTheLockedJournal(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), catalog.Release80, 1)
	journal := filepath.Join(t.TempDir(), "j")
	first := RunOptions{Pace: Pace{Parallel: 1, MaxMoves: 1}, Journal: journal}
	if r, err := (Drain{Shard: "s0", RunOptions: first}).Run(t.Context(), w.actionCluster(), nil); err != nil || r.Stopped == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	asked := 0
	o := RunOptions{Pace: Pace{Parallel: 1}}
	o.Confirm = func(ctx context.Context, _ string) error {
		asked++
		if _, err := apply.Resume(journal); !errors.Is(err, apply.ErrJournalInUse) {
			t.Errorf("somebody else opens the journal: %v", err)
		}
		if n, err := live.LeaseCollectionOf(w.client).CountDocuments(ctx, bson.D{}); n != 0 || err != nil {
			t.Errorf("%d leases, %v", n, err)
		}
		return errNo
	}
	o.ResumeJournal = journal
	for verb, run := range map[string]func(r Reporter) (PlanResult, error){
		"apply": func(r Reporter) (PlanResult, error) {
			return Apply{RunOptions: o}.Run(t.Context(), w.actionCluster(), r)
		},
		"drain": func(r Reporter) (PlanResult, error) {
			return Drain{MovePrimaries: true, RunOptions: o}.Run(t.Context(), w.actionCluster(), r)
		},
		"undo": func(r Reporter) (PlanResult, error) {
			undo := o
			undo.ResumeJournal = ""
			return Apply{UndoJournal: journal, RunOptions: undo}.Run(t.Context(), w.actionCluster(), r)
		},
	} {
		var shown plans
		before := asked
		r, err := run(&shown)
		if !errors.Is(err, errNo) || r.PlanID != "" || asked != before+1 || len(shown) != 1 || (shown[0].Goal.Kind == plan.Undo) != (verb == "undo") {
			t.Errorf("%s: asked %d times, shown %d plans, %+v, %v", verb, asked-before, len(shown), r, err)
		}
		held, err := apply.OpenJournal(journal)
		if err != nil {
			t.Fatal(err)
		}
		var locked plans
		if _, err := run(&locked); !errors.Is(err, apply.ErrJournalInUse) || len(locked) != 0 {
			t.Errorf("%s, while somebody else is at work: shown %d plans, %v", verb, len(locked), err)
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	}
	w.well()
}
