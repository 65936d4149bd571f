package sim

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// EventKind is what happened.
type EventKind uint8

// The kinds of events.
const (
	Moved EventKind = iota
	MoveFailed
	Split
	Merged
	MarkedJumbo
	PhaseEntered
	Defragmented // the defragmentation of a collection has ended
	SwitchedOff  // balancing of a collection, for lack of an index
)

// String returns the kind in the words of a report.
func (k EventKind) String() string {
	return [...]string{
		"moved", "move failed", "split", "merged", "marked jumbo", "phase", "defragmented", "switched off",
	}[k]
}

// Event is one change of the cluster, or a move that failed. Fields that do not
// belong to the kind are zero.
type Event struct {
	Kind EventKind
	// Began and Ended are equal for what takes no time.
	Began, Ended time.Time
	Namespace    string
	// From and To are a migration's; a split or a merge is on From.
	From, To catalog.ShardID
	Min, Max catalog.Key
	// Bytes and Documents moved.
	Bytes, Documents int64
	Reason           policy.Reason
	// Force is that of a migration; RemainingPieces is how many pieces of its chunk stay with
	// the donor.
	Force           policy.ForceJumbo
	RemainingPieces int
	// Points of a split.
	Points []catalog.Key
	// Lowest and Highest are set when a bound or a point was computed from what chunks
	// are assumed to hold: the donor would choose it, and it lies between them.
	Lowest, Highest catalog.Key
	// Chunks went into a merged one.
	Chunks int
	Phase  policy.PhaseName
	Err    error
}

// recordEvent notes an event that ends now.
func (c *cluster) recordEvent(e Event) {
	e.Ended = c.queue.Now()
	if e.Began.IsZero() {
		e.Began = e.Ended
	}
	if coll := c.collections[e.Namespace]; coll != nil {
		e.Lowest, e.Highest = coll.knownBoundsAround(e.Min, e.Max, e.Points)
	}
	c.sawActivity = true
	c.events = append(c.events, e)
}

// drainEvents yields the events noted since the last call.
func (c *cluster) drainEvents(yield func(Event) bool) bool {
	if len(c.events) == 0 {
		return true
	}
	events := c.events
	c.events = nil
	for i, e := range events {
		if !yield(e) {
			c.events = append(events[i+1:], c.events...)
			return false
		}
	}
	c.events = events[:0]
	return true
}
