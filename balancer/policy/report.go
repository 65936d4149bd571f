package policy

import (
	"iter"

	"shardsh/balancer/catalog"
)

// Report collects what a selection decided, for and against, and the log events
// the server has for it, in order. One report can go through a whole round. A
// nil *Report collects nothing and costs nothing; a zero one collects all.
type Report struct {
	// EventsOnly leaves the decisions out: the report of a round nobody asks
	// about, for its log.
	EventsOnly bool
	// ChosenOnly leaves out what was not chosen, which is by far the most.
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
	// The codes of what is chosen are those of the reasons, but for one.
	chosen := string(d.Code) == string(d.Step) || d.Code == ChosenAtRandom
	if !r.WantsDecisions() || r.ChosenOnly && !chosen {
		return
	}
	r.Decisions = append(r.Decisions, d)
}

// WantsDecisions reports whether decisions are collected, for those who have to work
// them out first.
func (r *Report) WantsDecisions() bool { return r != nil && !r.EventsOnly }

// Chosen visits the migrations that were chosen, in their order.
func (r *Report) Chosen() iter.Seq[Decision] { return r.filter(true) }

// Rejected visits what was not chosen, in order.
func (r *Report) Rejected() iter.Seq[Decision] { return r.filter(false) }

func (r *Report) filter(chosen bool) iter.Seq[Decision] {
	return func(yield func(Decision) bool) {
		if r == nil {
			return
		}
		for _, d := range r.Decisions {
			if d.Chosen() == chosen && !yield(d) {
				return
			}
		}
	}
}

// AboutChunk visits the decisions that settled what became of one chunk, which
// lies in zone: those that name it, and those about its shard as a donor, its
// zone, its collection or the cluster. Of another chunk that its shard gives it
// says OtherChunkFirst.
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

// forChunk returns what a decision on the chunk's collection says about the
// chunk; false when it does not concern it.
func (d Decision) forChunk(c catalog.Chunk, zone string) (Decision, bool) {
	switch subject := d.Code.Info().Subject; {
	case !d.Min.IsZero() && d.Min.Equal(c.Min):
		return d, true
	case d.Chosen() && d.Shard == c.Shard:
		d.Code = OtherChunkFirst
		return d, true
	case d.Chosen(), subject == SubjectChunk:
		return d, false
	case subject == SubjectShard:
		return d, d.Shard == c.Shard
	case subject == SubjectZone:
		return d, d.Zone == zone && (d.Step == ReasonChunksImbalance || d.Shard == c.Shard)
	}
	return d, true
}
