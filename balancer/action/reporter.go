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
	// Counted is what is to be evened out by operations, in place of a plan.
	Counted struct{ Load Load }
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
	// Reading is how far the read of a cluster is.
	Reading struct{ live.Progress }
	// Read is the cluster as a verb that looks has read it.
	Read struct{ Snapshot *catalog.Snapshot }
	// Simulating is how far a simulation is.
	Simulating struct{ sim.Progress }
	// Unwell is what a check found that looks again, for as long as is left.
	Unwell struct {
		Report check.Report
		Left   time.Duration
	}
	// InTheWay is what would stop a run that is not a dry one.
	InTheWay struct{ preflight.Obstacle }
	// NotYet is why what is foreseen could not begin now.
	NotYet struct{ Err error }
	// Note is a sentence for people.
	Note struct{ Text string }
)

func (Planned) isEvent()    {}
func (Counted) isEvent()    {}
func (Started) isEvent()    {}
func (Step) isEvent()       {}
func (Move) isEvent()       {}
func (Wait) isEvent()       {}
func (WouldSend) isEvent()  {}
func (Reading) isEvent()    {}
func (Read) isEvent()       {}
func (Simulating) isEvent() {}
func (Unwell) isEvent()     {}
func (InTheWay) isEvent()   {}
func (NotYet) isEvent()     {}
func (Note) isEvent()       {}

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

func (s *serial) reading(p live.Progress) { s.Report(Reading{p}) }

func (s *serial) note(text string) { s.Report(Note{text}) }
