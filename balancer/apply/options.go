package apply

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// ChangePolicy says what a run does when the cluster no longer matches its plan.
type ChangePolicy string

// RefuseChanges and ReplanOnChange are the values of ChangePolicy.
const (
	// RefuseChanges stops with a *ChangedError.
	RefuseChanges ChangePolicy = "refuse"
	// ReplanOnChange makes another plan with the same goal, and continues with it.
	ReplanOnChange ChangePolicy = "replan"
)

// ReplanRequest is the input for a new plan.
type ReplanRequest struct {
	Goal   plan.Goal
	Limits plan.Limits
	// Paused are the collections whose balancing is off only because of the run.
	Paused []string
	// Merged are the steps of the run that have merged chunks (plan.MeasuredAfterMerges).
	Merged []plan.Step
}

// Options say how a plan is executed.
type Options struct {
	// Journal is the write-ahead journal. With nil, the run can't be resumed after a kill, and can't be
	// undone.
	Journal RecordWriter
	// EarlierJournal is the content of the journal of earlier runs; nil for the first run.
	EarlierJournal *ParsedJournal
	// Undo executes the plan that UndoPlan makes from EarlierJournal, in its journal, instead of the
	// remaining steps of the journal's plan.
	Undo bool
	// DryRun says that the cluster does not execute the commands that it gets. The run continues as if
	// it had executed them. In the Result no step is done.
	DryRun bool

	ChangePolicy ChangePolicy
	// Replan makes a plan from the current state of the cluster. With nil, no new plan can be made.
	Replan func(context.Context, ReplanRequest) (*plan.Plan, error)
	// PauseBalancing switches off the balancing of the plan's collections during the run.
	PauseBalancing bool
	// BeforeRun is called first, also in a dry run. Nil does nothing.
	BeforeRun func(ctx context.Context) error
	// NoLongerDraining is the shard whose draining mark BeforeRun removes. A dry run continues as if the
	// mark were removed.
	NoLongerDraining catalog.ShardID
	// OnReady is called once, when it is certain that all steps can be executed and before the first
	// step. Nil does nothing.
	OnReady func(ctx context.Context) error
	// BeforeBalancingResumes is called when all steps are done and a new plan has none, before balancing is
	// switched on again. A dry run does not call it. Nil does nothing.
	BeforeBalancingResumes func(ctx context.Context) error
	// OnUnfinished is called when a run for which OnReady was called ends before all steps are done,
	// before balancing is switched on again. Nil does nothing.
	OnUnfinished func(ctx context.Context) error
	// WillContinue reports whether another run continues immediately after this one. If so, and not all
	// steps are done, OnUnfinished is not called and balancing stays off. Nil means false.
	WillContinue func() bool
	// StepsChecked says that it was checked before that all steps can be executed.
	StepsChecked bool
	// OnAllDone is called when all steps are done and a new plan has none. If it returns a
	// *ChangedError, there are new steps, and the run makes another plan. Nil does nothing. A dry run
	// does not call it.
	OnAllDone func(ctx context.Context) error
	// ForceJumbo moves ranges by force that are too large to be moved otherwise and whose documents all
	// have the same shard key. No write to the collection proceeds during such a move. Without
	// ForceJumbo, such a range stays.
	ForceJumbo bool
	// Parallel is the maximum number of steps of one round that run at once; zero means 1. A shard
	// takes part in one step at a time.
	Parallel int
	// Gate decides when steps may begin or be retried. Its limits apply to this run only. Nil admits
	// all steps, with delays after failures.
	Gate *pace.Gate

	Clock Clock
	// OnEvent is called for each event, never concurrently; nil ignores events.
	OnEvent func(Event)
	// ReportTick emits an Event of the kind StillRunning with each of its values while a step is running; nil
	// disables these events.
	ReportTick <-chan time.Time
	// MovesContext cancels running steps. The context of Run only prevents new steps. Nil never ends.
	MovesContext context.Context
}

// Progress is the progress of a plan.
type Progress struct {
	Steps, StepsDone int
	Moves, MovesDone int
	Bytes, BytesDone int64 // done as counted by the donors
	DocumentsDone    int64
	// BytesPlanned is the expected amount of all moves. Moves, bytes and documents include those of
	// earlier plans that were replaced; steps do not.
	BytesPlanned int64
	// StepsThisRun, MovesThisRun and BytesThisRun count the work of this run.
	StepsThisRun, MovesThisRun int
	BytesThisRun               int64
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events.
const (
	Began              EventKind = "began"
	StillRunning       EventKind = "going" // the oldest running step continues
	Ended              EventKind = "ended"
	AlreadyDone        EventKind = "already"  // there was nothing to do
	Retrying           EventKind = "again"    // the step failed transiently, and is retried
	WaitingForDeletion EventKind = "deleting" // the step waits for a range deletion on its recipient
	Failed             EventKind = "failed"
	ForcingMove        EventKind = "forcing" // a migration begins that blocks writes
	LeftInPlace        EventKind = "stays"   // only a forced move could do it
	Replanned          EventKind = "replanned"
	BalancingPaused    EventKind = "paused"
	BalancingResumed   EventKind = "restored"
	WaitingToStop      EventKind = "waiting" // for the running steps to end, before stopping
	RouterUnreachable  EventKind = "away"    // the router does not answer; the run waits for it
)

// Event is an event of a run. Fields that do not belong to its kind are zero.
type Event struct {
	Kind       EventKind
	Step       plan.Step
	Namespaces []string // of BalancingPaused and BalancingResumed
	Err        error
	Plan       *plan.Plan
	StepAge    time.Duration // of a step that is still running
	Forced     ForcedMove
	Progress   Progress
}

// Result is the result of a run.
type Result struct {
	// Plan is the last plan that was executed.
	Plan *plan.Plan
	// Finished says that all steps are done. If Finished is false and there is no error, Stopped says
	// why the run stopped: a limit was reached, or the user interrupted the run.
	Finished bool
	Stopped  string
	// LimitIsFixed says that no option of the run raises the limit that was reached.
	LimitIsFixed bool
	// Applicable says, for a dry run, that all remaining steps could be executed. A dry run is never
	// Finished.
	Applicable bool
	// RemainingFindings contains the reasons why the goal is not reached although all steps are done.
	RemainingFindings []diagnosis.Finding
	Progress          Progress
	// Replans is the number of new plans. Failures is the number of failed steps.
	Replans, Failures int
	Began, Ended      time.Time
}
