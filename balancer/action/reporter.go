package action

import (
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
	"shardsh/balancer/runner"
	"shardsh/balancer/sim"
)

// Reporter receives the events of an action while it runs. Report is never called concurrently. A nil
// Reporter ignores all events.
type Reporter interface{ Report(e Event) }

// Event is something that an action reports.
type Event interface{ isEvent() }

type (
	// Planned is reported before the user is asked and before any command is sent.
	Planned struct{ Plan *plan.Plan }
	// OpsCounted is reported instead of a plan, with the operations to balance.
	OpsCounted struct{ Preview OpsPreview }
	// Started is reported when steps may begin. The gate estimates the remaining time. Comment returns
	// the comment of the run's moves on the servers, once there is one.
	Started struct {
		Gate    *pace.Gate
		Comment func() string
	}
	// StepEvent is an event of a plan that is executed.
	StepEvent struct{ apply.Event }
	// EngineEvent is an event of the engine while it balances.
	EngineEvent struct{ runner.Event }
	// Wait says why no step begins, and when steps begin again.
	Wait struct{ pace.Event }
	// WouldSend is a command that a dry run does not send.
	WouldSend struct {
		Database string
		Command  bson.Raw
	}
	// ReadProgress is the progress of reading a cluster.
	ReadProgress struct{ live.Progress }
	// SnapshotRead is the snapshot that a read-only verb has read.
	SnapshotRead struct{ Snapshot *catalog.Snapshot }
	// SimulationProgress is the progress of a simulation.
	SimulationProgress struct{ sim.Progress }
	// CheckFailed is a failed check. The check is repeated for the time Remaining.
	CheckFailed struct {
		Report    check.Report
		Remaining time.Duration
	}
	// ObstacleFound is an obstacle that would stop the run if it were not a dry run.
	ObstacleFound struct{ preflight.Obstacle }
	// CannotStartYet says why the previewed run could not start now.
	CannotStartYet struct{ Err error }
	// Note is a sentence for the user.
	Note struct{ Text string }
)

func (Planned) isEvent()            {}
func (OpsCounted) isEvent()         {}
func (Started) isEvent()            {}
func (StepEvent) isEvent()          {}
func (EngineEvent) isEvent()        {}
func (Wait) isEvent()               {}
func (WouldSend) isEvent()          {}
func (ReadProgress) isEvent()       {}
func (SnapshotRead) isEvent()       {}
func (SimulationProgress) isEvent() {}
func (CheckFailed) isEvent()        {}
func (ObstacleFound) isEvent()      {}
func (CannotStartYet) isEvent()     {}
func (Note) isEvent()               {}

// serialReporter reports one event at a time: steps, waits and notes come from several goroutines.
type serialReporter struct {
	mu   sync.Mutex
	next Reporter
}

func (s *serialReporter) Report(e Event) {
	if s.next == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next.Report(e)
}

func (s *serialReporter) reportRead(p live.Progress) { s.Report(ReadProgress{p}) }

func (s *serialReporter) note(text string) { s.Report(Note{text}) }
