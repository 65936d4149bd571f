package apply

import (
	"fmt"

	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// tally is what a step has moved.
type tally struct {
	moves            int
	bytes, documents int64
}

// count notes what a move has moved, as the donor has counted it. What nobody has
// counted counts as it was expected.
func (k *stepRun) count(c Command) Moved {
	is, err := k.cluster.Moved(k.hard, c)
	if err != nil || !is.Counted {
		is.Documents, is.Bytes = k.step.Documents, k.step.Bytes
	}
	is.Min = c.Min
	if is.Max.IsZero() {
		is.Max = c.Max
	}
	_ = k.write(Record{ // without it, undoing asks the cluster
		What: moved, Step: k.step.Number, Min: is.Min, Max: is.Max, Bytes: is.Bytes, Documents: is.Documents,
	})
	k.shared.Lock()
	t := k.moves[k.step.Number]
	k.moves[k.step.Number] = tally{t.moves + 1, t.bytes + is.Bytes, t.documents + is.Documents}
	k.here.MovesHere++
	k.here.BytesHere += is.Bytes
	k.chunkSize = max(k.chunkSize, c.MaxBytes)
	k.shared.Unlock()
	if k.entered {
		k.entered = false
		k.o.Pace.Moved(k.in, is.Bytes)
	}
	return is
}

// closeTally adds what the steps of a plan have moved, which another one takes over from,
// to what those before it have.
func (r *run) closeTally() {
	r.shared.Lock()
	defer r.shared.Unlock()
	for _, s := range r.plan.Steps {
		if t, has := r.moves[s.Number]; has {
			r.earlier.moves += t.moves
			r.earlier.bytes += t.bytes
			r.earlier.documents += t.documents
			r.planned += s.Bytes
		}
	}
}

// tolerance is by how much more or less than was planned may have moved, as a divisor of
// that. One chunk size is always allowed: as much a single chunk may hold or lack.
const tolerance = 2

// notMore returns a *ChangedError when the steps have moved much more than the plan
// expected: then it expects too little of the rest as well.
func (r *run) notMore(at plan.Step) error {
	d := r.difference(nil)
	if r.unplanned() || d.is-d.planned <= d.allowed {
		return nil
	}
	return d.changed(at, "more")
}

// notLess returns a *ChangedError when the steps that are done have moved much less than
// the plan expected, where it counts on what they move: the shards would not be even at its
// end. What empties a shard, or brings chunks into their zones, does so whatever they hold.
func (r *run) notLess(at plan.Step) error {
	d := r.difference(r.done)
	if r.unplanned() || !r.bySize || d.planned-d.is <= d.allowed {
		return nil
	}
	return d.changed(at, "less")
}

// unplanned reports whether nobody has planned how much moves, or nothing does.
func (r *run) unplanned() bool { return r.plan.Goal.Kind == plan.Undo || r.o.DryRun }

// difference is what was planned to be moved, and what was.
type difference struct{ planned, is, allowed int64 }

// difference adds up the steps that have moved something, or those of them that are done.
func (r *run) difference(done map[int]bool) (d difference) {
	r.shared.Lock()
	defer r.shared.Unlock()
	for _, s := range r.plan.Steps {
		if t, has := r.moves[s.Number]; has && (done == nil || done[s.Number]) {
			d.planned, d.is = d.planned+s.Bytes, d.is+t.bytes
		}
	}
	d.allowed = max(r.chunkSize, d.planned/tolerance)
	return d
}

func (d difference) changed(at plan.Step, how string) error {
	return &ChangedError{
		Step: at.Number, Contents: true,
		What: fmt.Sprintf("the steps so far were planned to move %s and have moved %s: the chunks hold much %s than the "+
			"plan expected; make a new plan, or have new ones take over (--on-change replan, onChange: \"replan\")",
			humanize.Bytes(d.planned), humanize.Bytes(d.is), how),
	}
}
