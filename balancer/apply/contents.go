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
func (k *carrying) count(c Command) Moved {
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

// mostBeyond is by how much more than was planned may have moved, as a divisor of that.
// One chunk size is always allowed.
const mostBeyond = 2

// asPlanned returns a *ChangedError when steps have moved much more than the plan
// expected: then it expects too little of the rest as well. Less does no harm. What an
// undoing moves nobody has planned.
func (r *run) asPlanned(at plan.Step) error {
	if r.plan.Goal.Kind == plan.Undo || r.o.DryRun {
		return nil
	}
	r.shared.Lock()
	defer r.shared.Unlock()
	var planned, is int64
	for _, s := range r.plan.Steps {
		if t, has := r.moves[s.Number]; has {
			planned, is = planned+s.Bytes, is+t.bytes
		}
	}
	if is-planned <= max(r.chunkSize, planned/mostBeyond) {
		return nil
	}
	return &ChangedError{
		Step: at.Number, Contents: true,
		What: fmt.Sprintf("the steps so far were planned to move %s and have moved %s: the chunks do not hold what the "+
			"plan expected; make a new plan, or have new ones take over (--on-change replan, onChange: \"replan\")",
			humanize.Bytes(planned), humanize.Bytes(is)),
	}
}
