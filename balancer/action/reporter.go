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

// Reporter learns what an action does, while it does it. Report is never called
// twice at once. A nil Reporter learns nothing.
type Reporter interface{ Report(e Event) }

// Event is something that an action reports.
type Event interface{ isEvent() }

type (
	// Planned is what is to be done, before anybody is asked and anything is sent.
	Planned struct{ Plan *plan.Plan }
	// LoadCounted is what is to be evened out by operations, in place of a plan.
	LoadCounted struct{ Load Load }
	// Started is when steps may begin. The gate knows how long the rest takes.
	// Comment is that of the run's moves on the servers, once there is one.
	Started struct {
		Gate    *pace.Gate
		Comment func() string
	}
	// Step is what happens to a plan that is carried out.
	Step struct{ apply.Event }
	// Move is what happens while the engine balances.
	Move struct{ runner.Event }
	// Wait is why nothing begins, and that it does again.
	Wait struct{ pace.Event }
	// WouldSend is a command that a dry run does not send.
	WouldSend struct {
		Database string
		Command  bson.Raw
	}
	// ReadProgress is how far the read of a cluster is.
	ReadProgress struct{ live.Progress }
	// SnapshotRead is the cluster as a verb that looks has read it.
	SnapshotRead struct{ Snapshot *catalog.Snapshot }
	// SimulationProgress is how far a simulation is.
	SimulationProgress struct{ sim.Progress }
	// CheckFailed is a failed check that is repeated, for as long as Left.
	CheckFailed struct {
		Report check.Report
		Left   time.Duration
	}
	// ObstacleFound is an obstacle that would stop the run if it were not a dry run.
	ObstacleFound struct{ preflight.Obstacle }
	// CannotStartYet is why the previewed run could not start now.
	CannotStartYet struct{ Err error }
	// Note is a sentence for people.
	Note struct{ Text string }
)

func (Planned) isEvent()            {}
func (LoadCounted) isEvent()        {}
func (Started) isEvent()            {}
func (Step) isEvent()               {}
func (Move) isEvent()               {}
func (Wait) isEvent()               {}
func (WouldSend) isEvent()          {}
func (ReadProgress) isEvent()       {}
func (SnapshotRead) isEvent()       {}
func (SimulationProgress) isEvent() {}
func (CheckFailed) isEvent()        {}
func (ObstacleFound) isEvent()      {}
func (CannotStartYet) isEvent()     {}
func (Note) isEvent()               {}

// serial reports one event at a time: steps, waits and notes come from several
// goroutines.
type serial struct {
	mu   sync.Mutex
	next Reporter
}

func (s *serial) Report(e Event) {
	if s.next == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next.Report(e)
}

func (s *serial) reportRead(p live.Progress) { s.Report(ReadProgress{p}) }

func (s *serial) note(text string) { s.Report(Note{text}) }
