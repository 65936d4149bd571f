package sim

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// EventKind is the kind of an event.
type EventKind uint8

// The kinds of events.
const (
	Moved EventKind = iota
	MoveFailed
	Split
	Merged
	MarkedJumbo
	PhaseEntered
	Defragmented         // the defragmentation of a collection has ended
	BalancingSwitchedOff // balancing of a collection was switched off because an index is missing
)

// String returns the name of the kind in reports.
func (k EventKind) String() string {
	return [...]string{
		"moved", "move failed", "split", "merged", "marked jumbo", "phase", "defragmented", "switched off",
	}[k]
}

// Event is a change of the cluster, or a failed move. Fields that do not apply to the kind are zero.
type Event struct {
	Kind EventKind
	// Began and Ended are equal for instantaneous events.
	Began, Ended time.Time
	Namespace    string
	// From and To are the shards of a migration. A split or a merge is on From.
	From, To catalog.ShardID
	Min, Max catalog.Key
	// Bytes and Documents are the moved data.
	Bytes, Documents int64
	Reason           policy.Reason
	// Force belongs to a migration. RemainingPieces is the number of pieces of the chunk that stay on
	// the donor.
	Force           policy.ForceJumbo
	RemainingPieces int
	// Points are the points of a split.
	Points []catalog.Key
	// KnownBoundBelow and KnownBoundAbove are set if a bound or a point was computed from assumed contents
	// of chunks. On a real cluster the donor would choose it; it would be between the two.
	KnownBoundBelow, KnownBoundAbove catalog.Key
	// Chunks is the number of chunks that were merged.
	Chunks int
	Phase  policy.PhaseName
	Err    error
}

// recordEvent records an event that ends now.
func (c *cluster) recordEvent(e Event) {
	e.Ended = c.queue.Now()
	if e.Began.IsZero() {
		e.Began = e.Ended
	}
	if coll := c.collections[e.Namespace]; coll != nil {
		e.KnownBoundBelow, e.KnownBoundAbove = coll.knownBoundsAround(e.Min, e.Max, e.Points)
	}
	c.sawActivity = true
	c.events = append(c.events, e)
}

// drainEvents yields the events recorded since the last call.
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
