package apply

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// OnChange says what becomes of an applying when the cluster has moved on.
type OnChange string

// The ways.
const (
	// Refuse stops with a *ChangedError.
	Refuse OnChange = "refuse"
	// Replan makes another plan with the same goal, and goes on with it.
	Replan OnChange = "replan"
)

// Wanted is what a new plan is to be made for.
type Wanted struct {
	Goal   plan.Goal
	Limits plan.Limits
	// Paused are the collections whose balancing is off only because of the run.
	Paused []string
	// Merged are the steps of the run that have merged chunks (plan.AfterMerges).
	Merged []plan.Step
}

// Options say how a plan is carried out.
type Options struct {
	// Log is where everything is written down first; nil: nowhere, and there is no
	// going on after a kill and no undoing.
	Log Log
	// Resume is what the journal tells of earlier runs; nil for the first one.
	Resume *History
	// Undo carries out the plan that Undo has made of Resume, in its journal, in
	// place of what is left of the journal's own.
	Undo bool
	// DryRun gives commands to a cluster that does not carry them out, and goes on
	// as if it had. Its Result has nothing as done.
	DryRun bool

	OnChange OnChange
	// Replan makes a plan from the cluster as it is. Nil: can't be done.
	Replan func(context.Context, Wanted) (*plan.Plan, error)
	// PauseBalancing switches the balancing of the plan's collections off
	// meanwhile.
	PauseBalancing bool
	// Before is called before anything else, also in a dry run. Nil does nothing.
	Before func(ctx context.Context) error
	// Unmarks is the shard whose mark as draining Before takes back: a dry run goes on as if
	// it had.
	Unmarks catalog.ShardID
	// Ready is called once, when it is certain that all steps can be carried out and
	// before the first one is. Nil does nothing.
	Ready func(ctx context.Context) error
	// Last is called when all steps are done and a new plan has none, before balancing is
	// switched on again; a dry run leaves it out. Nil does nothing.
	Last func(ctx context.Context) error
	// Unfinished is called when a run that was Ready ends before all is done, before
	// balancing is switched on again. Nil does nothing.
	Unfinished func(ctx context.Context) error
	// Keeps reports whether another run goes on right after this one: when it ends before all
	// is done, Unfinished is not called and balancing stays off. Nil is never.
	Keeps func() bool
	// Checked says that it was certain already that all steps can be carried out.
	Checked bool
	// Finish is called when all steps are done and a new plan has none. A
	// *ChangedError of it says that there are some again, and has another plan take
	// over. Nil does nothing, and a dry run leaves it out.
	Finish func(ctx context.Context) error
	// ForceJumbo moves by force what is too large to be moved otherwise, where all of it
	// has one shard key: no write to the collection goes on meanwhile. Else it stays.
	ForceJumbo bool
	// Parallel is how many steps of one round run at once; 1 when it is zero. A
	// shard takes part in one at a time.
	Parallel int
	// Pace lets steps begin, and those start over that failed. Its limits are of this
	// run, and can be passed by the next one. Nil lets all of them, later after
	// failures.
	Pace *pace.Gate

	Clock Clock
	// Tell is called with everything that happens, never twice at once; nil tells
	// nobody.
	Tell func(Event)
	// Tick has an Event of the kind Going told with each of its values while a step
	// is under way; nil has none.
	Tick <-chan time.Time
	// Hard ends what is under way. The context of Run only has nothing more begin.
	// Nil never ends.
	Hard context.Context
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

// Kind says what an Event tells.
type Kind string

// The kinds of events.
const (
	Began     Kind = "began"
	Going     Kind = "going" // the oldest step under way goes on
	Ended     Kind = "ended"
	Already   Kind = "already"  // there was nothing to do
	Again     Kind = "again"    // it failed in passing, and is tried again
	Deleting  Kind = "deleting" // it waits until its recipient has deleted what it gave away
	Failed    Kind = "failed"
	Forcing   Kind = "forcing" // a migration begins that blocks writes
	Stays     Kind = "stays"   // only force could do it
	Replanned Kind = "replanned"
	Paused    Kind = "paused"
	Restored  Kind = "restored"
	Waiting   Kind = "waiting" // for the end of steps under way, to stop
	Away      Kind = "away"    // the router does not answer, and is waited for
)

// Event is something that has happened. Fields that do not belong to its kind are
// zero.
type Event struct {
	Kind       Kind
	Step       plan.Step
	Namespaces []string // of Paused and Restored
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
	// Possible tells of a dry run that all that is left could be carried out. A dry
	// run is never Finished.
	Possible bool
	// Left is what keeps the goal from being reached though all is done.
	Left     []diagnosis.Finding
	Progress Progress
	// Replans is how often another plan took over, Failures how many steps failed.
	Replans, Failures int
	Began, Ended      time.Time
}
