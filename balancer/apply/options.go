package apply

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// OnChange says what a run does when the cluster no longer matches its plan.
type OnChange string

// The ways.
const (
	// Refuse stops with a *ChangedError.
	Refuse OnChange = "refuse"
	// Replan makes another plan with the same goal, and goes on with it.
	Replan OnChange = "replan"
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

// Options say how a plan is carried out.
type Options struct {
	// Log is the write-ahead journal; without one (nil) there is no
	// resuming after a kill and no undo.
	Log Log
	// Resume is what the journal tells of earlier runs; nil for the first one.
	Resume *History
	// Undo carries out the plan that Undo has made of Resume, in its journal, in
	// place of what is left of the journal's own.
	Undo bool
	// DryRun gives commands to a cluster that does not carry them out, and goes on
	// as if it had. In its Result no step is done.
	DryRun bool

	OnChange OnChange
	// Replan makes a plan from the cluster as it is. Nil: can't be done.
	Replan func(context.Context, ReplanRequest) (*plan.Plan, error)
	// PauseBalancing switches the balancing of the plan's collections off
	// meanwhile.
	PauseBalancing bool
	// BeforeRun is called before anything else, also in a dry run. Nil does nothing.
	BeforeRun func(ctx context.Context) error
	// UnmarkedShard is the shard whose mark as draining Before takes back: a dry run goes on as if
	// it had.
	UnmarkedShard catalog.ShardID
	// OnReady is called once, when it is certain that all steps can be carried out and
	// before the first one is. Nil does nothing.
	OnReady func(ctx context.Context) error
	// BeforeResume is called when all steps are done and a new plan has none, before balancing is
	// switched on again; a dry run leaves it out. Nil does nothing.
	BeforeResume func(ctx context.Context) error
	// OnUnfinished is called when a run for which OnReady was called ends before all is done, before
	// balancing is switched on again. Nil does nothing.
	OnUnfinished func(ctx context.Context) error
	// WillContinue reports whether another run goes on right after this one: when it ends before all
	// is done, OnUnfinished is not called and balancing stays off. Nil is never.
	WillContinue func() bool
	// AlreadyChecked says that it was certain already that all steps can be carried out.
	AlreadyChecked bool
	// OnAllDone is called when all steps are done and a new plan has none. A
	// *ChangedError of it says that there are some again, and has another plan take
	// over. Nil does nothing, and a dry run leaves it out.
	OnAllDone func(ctx context.Context) error
	// ForceJumbo moves by force what is too large to be moved otherwise, where all of it
	// has one shard key: no write to the collection goes on meanwhile. Else it stays.
	ForceJumbo bool
	// Parallel is how many steps of one round run at once; 1 when it is zero. A
	// shard takes part in one at a time.
	Parallel int
	// Pace decides when steps may begin or be retried. Its limits apply to this
	// run only. Nil lets all steps begin, with delays after
	// failures.
	Pace *pace.Gate

	Clock Clock
	// OnEvent is called for each event, never concurrently; nil ignores
	// them.
	OnEvent func(Event)
	// Tick makes an Event of the kind StillRunning be sent with each of its values while a step
	// is under way; nil has none.
	Tick <-chan time.Time
	// HardContext cancels running steps. The context of Run only keeps new ones from starting.
	// Nil never ends.
	HardContext context.Context
}

// Progress is how far a plan is.
type Progress struct {
	Steps, StepsDone int
	Moves, MovesDone int
	Bytes, BytesDone int64 // done as the donors have counted
	DocumentsDone    int64
	// BytesPlanned is what was expected of all moves. Moves, bytes and documents count
	// those of plans that others have taken over from, steps do not.
	BytesPlanned int64
	// StepsHere, MovesHere and BytesHere were done by this run.
	StepsHere, MovesHere int
	BytesHere            int64
}

// EventKind says what an Event tells.
type EventKind string

// The kinds of events.
const (
	Began              EventKind = "began"
	StillRunning       EventKind = "going" // the oldest step under way goes on
	Ended              EventKind = "ended"
	AlreadyDone        EventKind = "already"  // there was nothing to do
	Retrying           EventKind = "again"    // it failed transiently, and is retried
	WaitingForDeletion EventKind = "deleting" // it waits for a range deletion on its recipient
	Failed             EventKind = "failed"
	ForcingMove        EventKind = "forcing" // a migration begins that blocks writes
	LeftInPlace        EventKind = "stays"   // only force could do it
	Replanned          EventKind = "replanned"
	BalancingPaused    EventKind = "paused"
	BalancingResumed   EventKind = "restored"
	WaitingToStop      EventKind = "waiting" // for the running steps to end, before stopping
	RouterUnreachable  EventKind = "away"    // the router does not answer; the run waits for it
)

// Event is something that has happened. Fields that do not belong to its kind are
// zero.
type Event struct {
	Kind       EventKind
	Step       plan.Step
	Namespaces []string // of Paused and BalancingResumed
	Err        error
	Plan       *plan.Plan
	Age        time.Duration // of a step that goes on
	Forced     Forced
	Progress   Progress
}

// Result is how a run ended.
type Result struct {
	// Plan is the one that was carried out at last.
	Plan *plan.Plan
	// Finished tells that all of it is done. Where it is not and there is no error,
	// Stopped says why: a limit, or that somebody asked for it.
	Finished bool
	Stopped  string
	// Fixed tells of a limit that no option of the run lifts it.
	Fixed bool
	// Possible says of a dry run that all remaining steps could be carried out. A dry
	// run is never Finished.
	Possible bool
	// Left says why the goal is not reached although all steps are done.
	Left     []diagnosis.Finding
	Progress Progress
	// Replans is how often another plan took over, Failures how many steps failed.
	Replans, Failures int
	Began, Ended      time.Time
}
