package apply

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// forcedBytesPerSecond is the number of bytes per second that a forced migration copies while writes to the
// collection are blocked, as measured on real servers.
const forcedBytesPerSecond = 45_000_000

// ForcedMove is a migration that blocks writes to its collection.
type ForcedMove struct {
	Bytes int64
	// BlockedFor is the approximate time for which writes are blocked.
	BlockedFor time.Duration
}

// EstimateForcedMove returns the estimate for a forced migration of the given number of bytes.
func EstimateForcedMove(bytes int64) ForcedMove {
	return ForcedMove{bytes, time.Duration(float64(bytes) / forcedBytesPerSecond * float64(time.Second))}
}

// String describes the amount and how long writes wait.
func (f ForcedMove) String() string {
	return fmt.Sprintf("%s, writes to the collection wait for about %s", humanize.Bytes(f.Bytes),
		humanize.Duration(max(time.Second, f.BlockedFor.Round(time.Second))))
}

// NeedsForceText says why a range is not moved unless force is requested, and what the user can do.
func (f ForcedMove) NeedsForceText() string {
	return fmt.Sprintf(
		"it is too large to be moved, and can't be split because all its documents have the same shard key; force it "+
			"(--force-jumbo, forceJumbo: true: %s), or refine the shard key (sh.refineCollectionShardKey)", f)
}

// NeedsForceError says that a range stays where it is because only a forced migration could move it.
type NeedsForceError struct {
	Step  plan.Step
	Range plan.Range
	ForcedMove
}

// Error names the range, the reason and the remedy.
func (e *NeedsForceError) Error() string {
	return fmt.Sprintf("the range of %s from %s to %s stays on %s: %s", e.Step.Namespace, e.Range.Min, e.Range.Max,
		e.Step.From, e.NeedsForceText())
}

// SkippedStepsError lists the steps that could not be executed, with reasons; all other steps are done.
type SkippedStepsError struct{ Steps []*NeedsForceError }

// Error lists the ranges that stay.
func (e *SkippedStepsError) Error() string {
	list := make([]string, len(e.Steps))
	for i, s := range e.Steps {
		list[i] = s.Error()
	}
	return strings.Join(list, "; ")
}

// forceMove moves a range that can't be split, if Options.ForceJumbo is set.
func (s *stepRun) forceMove(c Command) error {
	size, err := s.cluster.RangeSize(s.hardCtx, c)
	if err != nil {
		return &StepError{s.step, err}
	}
	f := EstimateForcedMove(size.Bytes)
	if !s.o.ForceJumbo {
		return &NeedsForceError{s.step, plan.Range{Min: c.Min, Max: c.Max}, f}
	}
	s.emitForcedMove(s.step, f)
	c.Force, c.DonorChoosesEnd = true, false
	if err := s.cluster.Do(s.hardCtx, c); err != nil {
		return &StepError{s.step, err}
	}
	s.countMove(c)
	return nil
}

// emitForcedMove emits an event for running steps, like emitUnreachable.
func (r *run) emitForcedMove(s plan.Step, f ForcedMove) {
	if r.o.OnEvent != nil {
		r.emitMu.Lock()
		defer r.emitMu.Unlock()
		r.o.OnEvent(Event{Kind: ForcingMove, Step: s, Forced: f})
	}
}

// noteLeftInPlace records a range that a step leaves in place. Other steps continue.
func (r *run) noteLeftInPlace(e *NeedsForceError) error {
	r.leftBehind = append(r.leftBehind, e)
	r.markNeedsForce()
	r.emit(Event{Kind: LeftInPlace, Step: e.Step, Err: e})
	return r.write(Record{What: recordNeedsForce, Step: e.Step.Number, Error: e.Error()})
}

// markNeedsForce marks the steps of the plan whose range is known to stay.
func (r *run) markNeedsForce() {
	r.needsForce = map[int]bool{}
	for _, s := range r.plan.Steps {
		r.needsForce[s.Number] = !r.done[s.Number] && r.stepNeedsForce(s)
	}
}

func (r *run) stepNeedsForce(s plan.Step) bool {
	for _, e := range r.leftBehind {
		if s.Kind == plan.Move && s.Namespace == e.Step.Namespace && s.From == e.Step.From &&
			catalog.Overlap(s.Min, s.Max, e.Range.Min, e.Range.Max) {
			return true
		}
	}
	return false
}

// hasWork reports whether a plan has steps besides those that stay.
func (r *run) hasWork(p *plan.Plan) bool {
	for _, s := range p.Steps {
		if !r.stepNeedsForce(s) {
			return true
		}
	}
	return false
}
