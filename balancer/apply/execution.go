package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Execution is a plan and the journal of its execution.
type Execution struct {
	// Plan is the plan to execute.
	Plan *plan.Plan
	// Journal is the journal in a file; nil if there is no journal, or if it is in Store.
	Journal *Journal
	// Store is a journal outside of a file; nil if there is none.
	Store JournalStore

	history        *History
	createdJournal bool // this Execution has created the journal
	isUndo         bool
}

// JournalStore is a journal that is stored elsewhere than in a file of this machine.
type JournalStore interface {
	Log
	// Name identifies the journal for resume and undo, instead of a path.
	Name() string
}

// BeginInStore prepares a plan for its first run, with a new journal.
func BeginInStore(p *plan.Plan, in JournalStore) *Execution { return &Execution{Plan: p, Store: in} }

// ResumeInStore prepares the next run of a stored journal.
func ResumeInStore(h *History, in JournalStore) *Execution {
	h.path = in.Name()
	return &Execution{Plan: h.Plan(), Store: in, history: h}
}

// Begin prepares a plan for its first run, with a new journal; an empty path means no journal. A plan
// with the goal Undo is written to the journal of the run that it undoes.
func Begin(p *plan.Plan, path string) (*Execution, error) {
	if p.Goal.Kind == plan.Undo {
		w, err := PrepareUndo(p.Undoes)
		if err == nil && w.Plan.ID != p.ID {
			err = fmt.Errorf("%s was continued after this undo plan was made: make the undo plan again", p.Undoes)
			return nil, errors.Join(err, w.Close())
		}
		return w, err
	}
	w := &Execution{Plan: p}
	if path == "" {
		return w, nil
	}
	var err error
	w.Journal, err = CreateJournal(path)
	w.createdJournal = true
	return w, err
}

// Resume prepares the next run of a journal.
func Resume(path string) (*Execution, error) {
	j, err := OpenJournal(path)
	if err != nil {
		return nil, err
	}
	return &Execution{Plan: j.History.Plan(), Journal: j, history: j.History}, nil
}

// PrepareUndo prepares the undo of a journal. The undo is written to the same journal. An undo that was
// begun there is continued.
func PrepareUndo(path string) (*Execution, error) {
	w, err := Resume(path)
	if err != nil {
		return nil, err
	}
	if err := w.Undo(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Undo makes the next run of a journal undo the recorded steps.
func (w *Execution) Undo() (err error) {
	if w.Plan.Goal.Kind == plan.Undo && !w.history.Finished() {
		return nil
	}
	w.isUndo = true
	if w.Plan, err = Undo(w.history); err != nil {
		return fmt.Errorf("%s: %w", w.Path(), err)
	}
	return nil
}

// RecordShard records that a shard was marked as draining, unmarked or removed.
func (w *Execution) RecordShard(what RecordKind, shard catalog.ShardID, at time.Time) error {
	if w.history != nil {
		w.history.marked = map[RecordKind]catalog.ShardID{RecordMarked: shard}[what]
	}
	log := w.log()
	if log == nil {
		return nil
	}
	return log.Write(Record{What: what, At: at.UTC(), Shard: shard})
}

func (w *Execution) log() Log {
	switch {
	case w.Store != nil:
		return w.Store
	case w.Journal != nil:
		return w.Journal
	}
	return nil
}

// MarkedShard returns the shard that earlier runs have marked as draining, if the mark was not removed.
// removed says whether the shard has left the cluster.
func (w *Execution) MarkedShard() (shard catalog.ShardID, removed bool) {
	if w.history == nil {
		return "", false
	}
	return w.history.marked, w.history.removed
}

// RemainingSteps returns the steps that are not done.
func (w *Execution) RemainingSteps() []plan.Step {
	if w.history == nil || w.isUndo {
		return w.Plan.Steps
	}
	return slices.DeleteFunc(slices.Clone(w.Plan.Steps),
		func(s plan.Step) bool { return w.history.lastChapter().done[s.Number] })
}

// Run executes the plan.
func (w *Execution) Run(ctx context.Context, c Cluster, o Options) (Result, error) {
	o.Resume, o.Undo = w.history, w.isUndo
	if !o.DryRun {
		o.Log = w.log()
	}
	return Run(ctx, c, w.Plan, o)
}

// Path returns the path of the journal; empty if there is none.
func (w *Execution) Path() string {
	switch {
	case w.Store != nil:
		return w.Store.Name()
	case w.Journal != nil:
		return w.Journal.Path()
	}
	return ""
}

// Close closes the journal. A new one without records is removed:
// the plan can still be applied later.
func (w *Execution) Close() error {
	if w.Journal == nil {
		return nil
	}
	err := w.Journal.Close()
	if w.createdJournal && !w.Journal.acted {
		err = errors.Join(err, os.Remove(w.Path()))
	}
	return err
}

// HasRecords reports whether there is a journal with records.
func (w *Execution) HasRecords() bool {
	return w.Store != nil || w.Journal != nil && (!w.createdJournal || w.Journal.acted)
}

// IsResumed reports whether the Execution continues an earlier run.
func (w *Execution) IsResumed() bool { return w.history != nil && !w.isUndo }

// StepsLeft returns the number of steps that are not done.
func (w *Execution) StepsLeft() int {
	if w.history == nil || w.isUndo {
		return len(w.Plan.Steps)
	}
	return len(w.Plan.Steps) - w.history.StepsDone()
}
