package policy

import (
	"iter"

	"shardsh/balancer/catalog"
)

// Report collects the decisions of a selection, positive and negative, and the log events that the
// server has for them, in order. One report can be used for a whole round. A nil *Report collects
// nothing and costs nothing; a zero Report collects everything.
type Report struct {
	// EventsOnly collects only log events, for rounds whose decisions are not requested.
	EventsOnly bool
	// ChosenOnly collects only the chosen migrations. Most decisions are negative.
	ChosenOnly bool

	Events    []Event
	Decisions []Decision
}

// Log adds an event.
func (r *Report) Log(e Event) {
	if r != nil {
		r.Events = append(r.Events, e)
	}
}

// Add adds a decision.
func (r *Report) Add(d Decision) {
	// The code of a chosen migration is its reason, with one exception.
	chosen := string(d.Code) == string(d.Reason) || d.Code == ChosenAtRandom
	if !r.WantsDecisions() || r.ChosenOnly && !chosen {
		return
	}
	r.Decisions = append(r.Decisions, d)
}

// WantsDecisions reports whether decisions are collected, so that callers need not compute unwanted
// ones.
func (r *Report) WantsDecisions() bool { return r != nil && !r.EventsOnly }

// Chosen returns the chosen migrations, in order.
func (r *Report) Chosen() iter.Seq[Decision] { return r.filter(true) }

// Rejected returns the decisions against migrations, in order.
func (r *Report) Rejected() iter.Seq[Decision] { return r.filter(false) }

func (r *Report) filter(chosen bool) iter.Seq[Decision] {
	return func(yield func(Decision) bool) {
		if r == nil {
			return
		}
		for _, d := range r.Decisions {
			if d.IsChosen() == chosen && !yield(d) {
				return
			}
		}
	}
}

// AboutChunk returns the decisions that determined what happened to one chunk, which is in zone:
// decisions about the chunk, about its shard as a donor, its zone, its collection or the cluster. If
// its shard gives another chunk instead, that decision becomes OtherChunkFirst.
func (r *Report) AboutChunk(ns string, c catalog.Chunk, zone string) iter.Seq[Decision] {
	return func(yield func(Decision) bool) {
		if r == nil {
			return
		}
		for _, d := range r.Decisions {
			if d.Namespace != "" && d.Namespace != ns {
				continue
			}
			if about, ok := d.forChunk(c, zone); ok && !yield(about) {
				return
			}
		}
	}
}

// forChunk converts a decision on the chunk's collection into a decision on the chunk. It returns false
// if the decision does not concern the chunk.
func (d Decision) forChunk(c catalog.Chunk, zone string) (Decision, bool) {
	switch subject := d.Code.Info().Subject; {
	case !d.Min.IsZero() && d.Min.Equal(c.Min):
		return d, true
	case d.IsChosen() && d.Shard == c.Shard:
		d.Code = OtherChunkFirst
		return d, true
	case d.IsChosen(), subject == SubjectChunk:
		return d, false
	case subject == SubjectShard:
		return d, d.Shard == c.Shard
	case subject == SubjectZone:
		return d, d.Zone == zone && (d.Reason == ReasonChunksImbalance || d.Shard == c.Shard)
	}
	return d, true
}
