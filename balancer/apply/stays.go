package apply

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// forcedRate is how many bytes a second a forced migration copies, while no write to the
// collection goes on: as was seen on real servers.
const forcedRate = 45_000_000

// Forced is a migration that blocks writes to its collection.
type Forced struct {
	Bytes int64
	// BlockedFor is about how long no write goes on.
	BlockedFor time.Duration
}

// EstimateForced returns what a forced migration of so many bytes takes.
func EstimateForced(bytes int64) Forced {
	return Forced{bytes, time.Duration(float64(bytes) / forcedRate * float64(time.Second))}
}

// String says how much moves, and for how long writes wait.
func (f Forced) String() string {
	return fmt.Sprintf("%s, writes to the collection wait for about %s", humanize.Bytes(f.Bytes),
		humanize.Duration(max(time.Second, f.BlockedFor.Round(time.Second))))
}

// StaysText says why such a range is not moved unless that is asked for, and what to do.
func (f Forced) StaysText() string {
	return fmt.Sprintf("it is too large to be moved, and can't be cut, as all of it has one shard key; force it "+
		"(--force-jumbo, forceJumbo: true: %s), or refine the shard key (sh.refineCollectionShardKey)", f)
}

// StaysError says that a range stays where it is, as only a forced migration moves it.
type StaysError struct {
	Step  plan.Step
	Range plan.Range
	Forced
}

// Error says why, and what to do.
func (e *StaysError) Error() string {
	return fmt.Sprintf("the range of %s from %s to %s stays on %s: %s", e.Step.Namespace, e.Range.Min, e.Range.Max,
		e.Step.From, e.StaysText())
}

// LeftError lists the steps that could not be done, and why; all others are done.
type LeftError struct{ Left []*StaysError }

// Error lists what stays.
func (e *LeftError) Error() string {
	list := make([]string, len(e.Left))
	for i, s := range e.Left {
		list[i] = s.Error()
	}
	return strings.Join(list, "; ")
}

// forceMove moves what can't be cut, where that was asked for.
func (k *stepRun) forceMove(c Command) error {
	size, err := k.cluster.Size(k.hardCtx, c)
	if err != nil {
		return &StepError{k.step, err}
	}
	f := EstimateForced(size.Bytes)
	if !k.o.ForceJumbo {
		return &StaysError{k.step, plan.Range{Min: c.Min, Max: c.Max}, f}
	}
	k.tellForced(k.step, f)
	c.Force, c.DonorChoosesEnd = true, false
	if err := k.cluster.Do(k.hardCtx, c); err != nil {
		return &StepError{k.step, err}
	}
	k.countMove(c)
	return nil
}

// tellForced is for steps under way, as tellUnreachable.
func (r *run) tellForced(s plan.Step, f Forced) {
	if r.o.OnEvent != nil {
		r.tellMu.Lock()
		defer r.tellMu.Unlock()
		r.o.OnEvent(Event{Kind: ForcingMove, Step: s, Forced: f})
	}
}

// noteStay notes what a step leaves. The others go on.
func (r *run) noteStay(e *StaysError) error {
	r.leftBehind = append(r.leftBehind, e)
	r.markStays()
	r.tell(Event{Kind: LeftInPlace, Step: e.Step, Err: e})
	return r.write(Record{What: recordStays, Step: e.Step.Number, Error: e.Error()})
}

// markStays marks the steps of the plan whose range was found to stay.
func (r *run) markStays() {
	r.stays = map[int]bool{}
	for _, s := range r.plan.Steps {
		r.stays[s.Number] = !r.done[s.Number] && r.stepStays(s)
	}
}

func (r *run) stepStays(s plan.Step) bool {
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
		if !r.stepStays(s) {
			return true
		}
	}
	return false
}
