package apply

import (
	"fmt"

	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// tally is the amount that a step has moved.
type tally struct {
	moves            int
	bytes, documents int64
}

// countMove adds the amount of a move, as counted by the donor. Without a count, the plan's estimate is
// added.
func (s *stepRun) countMove(c Command) RangeAmount {
	counted, err := s.cluster.MovedAmount(s.hardCtx, c)
	if err != nil || !counted.Counted {
		counted.Documents, counted.Bytes = s.step.Documents, s.step.Bytes
	}
	counted.Min = c.Min
	if counted.Max.IsZero() {
		counted.Max = c.Max
	}
	_ = s.write(Record{ // without the record, an undo asks the cluster
		What:      recordMoved,
		Step:      s.step.Number,
		Min:       counted.Min,
		Max:       counted.Max,
		Bytes:     counted.Bytes,
		Documents: counted.Documents,
	})
	s.mu.Lock()
	t := s.movedByStep[s.step.Number]
	s.movedByStep[s.step.Number] = tally{t.moves + 1, t.bytes + counted.Bytes, t.documents + counted.Documents}
	s.thisRun.MovesThisRun++
	s.thisRun.BytesThisRun += counted.Bytes
	s.largestChunkSize = max(s.largestChunkSize, c.ChunkSize)
	s.mu.Unlock()
	if s.entered {
		s.entered = false
		s.o.Gate.LeaveMoved(s.admitted, counted.Bytes)
	}
	return counted
}

// carryTallyOver adds the amounts of the current plan's steps to the amounts of earlier plans, when a
// new plan replaces it.
func (r *run) carryTallyOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.plan.Steps {
		if t, ok := r.movedByStep[s.Number]; ok {
			r.movedByEarlierPlans.moves += t.moves
			r.movedByEarlierPlans.bytes += t.bytes
			r.movedByEarlierPlans.documents += t.documents
			r.earlierPlannedBytes += s.Bytes
		}
	}
}

// toleranceDivisor is the tolerated difference between the planned and the moved amount, as a divisor
// of the planned amount. A difference of one chunk size is always tolerated, because a single chunk may
// be that much larger or smaller.
const toleranceDivisor = 2

// checkNotTooMuch returns a *ChangedError if the steps have moved much more than the plan expected,
// since then the expectations of the remaining steps are too low as well.
func (r *run) checkNotTooMuch(at plan.Step) error {
	d := r.difference(nil)
	if r.hasNoExpectation() || d.moved-d.planned <= d.allowed {
		return nil
	}
	return d.newChangedError(at, "more")
}

// checkNotTooLittle returns a *ChangedError if the finished steps have moved much less than the plan
// expected, and the goal depends on the moved amount: the shards would not be balanced at the end of
// the plan. Draining a shard and moving chunks into their zones do not depend on the amount.
func (r *run) checkNotTooLittle(at plan.Step) error {
	d := r.difference(r.done)
	if r.hasNoExpectation() || !r.balancesBytes || d.planned-d.moved <= d.allowed {
		return nil
	}
	return d.newChangedError(at, "less")
}

// hasNoExpectation reports whether there is no expected amount (undo), or nothing is moved (dry run).
func (r *run) hasNoExpectation() bool { return r.plan.Goal.Kind == plan.Undo || r.o.DryRun }

// difference contains the planned amount, the moved amount and the tolerated difference.
type difference struct{ planned, moved, allowed int64 }

// difference adds up the steps that have moved something, or only the finished steps among them if done
// is not nil.
func (r *run) difference(done map[int]bool) (d difference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.plan.Steps {
		if t, ok := r.movedByStep[s.Number]; ok && (done == nil || done[s.Number]) {
			d.planned, d.moved = d.planned+s.Bytes, d.moved+t.bytes
		}
	}
	d.allowed = max(r.largestChunkSize, d.planned/toleranceDivisor)
	return d
}

func (d difference) newChangedError(at plan.Step, how string) error {
	return &ChangedError{
		Step: at.Number, ContentsOnly: true,
		What: fmt.Sprintf("the steps so far were planned to move %s and have moved %s: the chunks hold much %s than the "+
			"plan expected; make a new plan, or have new ones take over (--on-change replan, onChange: \"replan\")",
			humanize.Bytes(d.planned), humanize.Bytes(d.moved), how),
	}
}
