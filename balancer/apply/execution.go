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

	history        *ParsedJournal
	createdJournal bool // this Execution has created the journal
	isUndo         bool
}

// JournalStore is a journal that is stored elsewhere than in a file of this machine.
type JournalStore interface {
	RecordWriter
	// Name identifies the journal for resume and undo, instead of a path.
	Name() string
}

// BeginInStore prepares a plan for its first run, with a new journal.
func BeginInStore(p *plan.Plan, in JournalStore) *Execution { return &Execution{Plan: p, Store: in} }

// ResumeInStore prepares the next run of a stored journal.
func ResumeInStore(h *ParsedJournal, in JournalStore) *Execution {
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
	if err := w.SwitchToUndo(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// SwitchToUndo makes the next run of a journal undo the recorded steps.
func (e *Execution) SwitchToUndo() (err error) {
	if e.Plan.Goal.Kind == plan.Undo && !e.history.Finished() {
		return nil
	}
	e.isUndo = true
	if e.Plan, err = UndoPlan(e.history); err != nil {
		return fmt.Errorf("%s: %w", e.Path(), err)
	}
	return nil
}

// RecordShard records that a shard was marked as draining, unmarked or removed.
func (e *Execution) RecordShard(what RecordKind, shard catalog.ShardID, at time.Time) error {
	if e.history != nil {
		e.history.recordShard(what, shard)
	}
	log := e.recordWriter()
	if log == nil {
		return nil
	}
	return log.Write(Record{What: what, At: at.UTC(), Shard: shard})
}

func (e *Execution) recordWriter() RecordWriter {
	switch {
	case e.Store != nil:
		return e.Store
	case e.Journal != nil:
		return e.Journal
	}
	return nil
}

// DrainingShard returns the shard that earlier runs have marked as draining, if the mark was not removed.
// removed says whether the shard has left the cluster.
func (e *Execution) DrainingShard() (shard catalog.ShardID, removed bool) {
	if e.history == nil {
		return "", false
	}
	return e.history.drainingShard, e.history.shardRemoved
}

// RemainingSteps returns the steps that are not done.
func (e *Execution) RemainingSteps() []plan.Step {
	if e.history == nil || e.isUndo {
		return e.Plan.Steps
	}
	return slices.DeleteFunc(slices.Clone(e.Plan.Steps),
		func(s plan.Step) bool { return e.history.lastPlan().done[s.Number] })
}

// Run executes the plan.
func (e *Execution) Run(ctx context.Context, c Cluster, o Options) (Result, error) {
	o.EarlierJournal, o.Undo = e.history, e.isUndo
	if !o.DryRun {
		o.Journal = e.recordWriter()
	}
	return Run(ctx, c, e.Plan, o)
}

// Path returns the path of the journal; empty if there is none.
func (e *Execution) Path() string {
	switch {
	case e.Store != nil:
		return e.Store.Name()
	case e.Journal != nil:
		return e.Journal.Path()
	}
	return ""
}

// Close closes the journal. A new one without records is removed:
// the plan can still be applied later.
func (e *Execution) Close() error {
	if e.Journal == nil {
		return nil
	}
	err := e.Journal.Close()
	if e.createdJournal && !e.Journal.mayHaveExecuted {
		err = errors.Join(err, os.Remove(e.Path()))
	}
	return err
}

// HasRecords reports whether there is a journal with records.
func (e *Execution) HasRecords() bool {
	return e.Store != nil || e.Journal != nil && (!e.createdJournal || e.Journal.mayHaveExecuted)
}

// IsResumed reports whether the Execution continues an earlier run.
func (e *Execution) IsResumed() bool { return e.history != nil && !e.isUndo }
