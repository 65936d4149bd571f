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
	// For is about how long no write goes on.
	For time.Duration
}

// ForcedOf returns what a forced migration of so many bytes takes.
func ForcedOf(bytes int64) Forced {
	return Forced{bytes, time.Duration(float64(bytes) / forcedRate * float64(time.Second))}
}

// String says how much moves, and for how long writes wait.
func (f Forced) String() string {
	return fmt.Sprintf("%s, writes to the collection wait for about %s", humanize.Bytes(f.Bytes),
		humanize.Duration(max(time.Second, f.For.Round(time.Second))))
}

// Stays says why such a range is not moved unless that is asked for, and what to do.
func (f Forced) Stays() string {
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
		e.Step.From, e.Stays())
}

// LeftError says that all steps are done but for some, and why.
type LeftError struct{ Stay []*StaysError }

// Error lists what stays.
func (e *LeftError) Error() string {
	list := make([]string, len(e.Stay))
	for i, s := range e.Stay {
		list[i] = s.Error()
	}
	return strings.Join(list, "; ")
}

// force moves what can't be cut, where that was asked for.
func (k *stepRun) force(c Command) error {
	size, err := k.cluster.Size(k.hard, c)
	if err != nil {
		return &StepError{k.step, err}
	}
	f := ForcedOf(size.Bytes)
	if !k.o.ForceJumbo {
		return &StaysError{k.step, plan.Range{Min: c.Min, Max: c.Max}, f}
	}
	k.tellForced(k.step, f)
	c.Force, c.Open = true, false
	if err := k.cluster.Do(k.hard, c); err != nil {
		return &StepError{k.step, err}
	}
	k.count(c)
	return nil
}

// tellForced is for steps under way, as tellAway.
func (r *run) tellForced(s plan.Step, f Forced) {
	if r.o.Tell != nil {
		r.telling.Lock()
		defer r.telling.Unlock()
		r.o.Tell(Event{Kind: Forcing, Step: s, Forced: f})
	}
}

// stay notes what a step leaves. The others go on.
func (r *run) stay(e *StaysError) error {
	r.behind = append(r.behind, e)
	r.leaveBehind()
	r.tell(Event{Kind: Stays, Step: e.Step, Err: e})
	return r.write(Record{What: stays, Step: e.Step.Number, Error: e.Error()})
}

// leaveBehind marks the steps of the plan whose range was found to stay.
func (r *run) leaveBehind() {
	r.stays = map[int]bool{}
	for _, s := range r.plan.Steps {
		r.stays[s.Number] = !r.done[s.Number] && r.staysOf(s)
	}
}

func (r *run) staysOf(s plan.Step) bool {
	for _, e := range r.behind {
		if s.Kind == plan.Move && s.Namespace == e.Step.Namespace && s.From == e.Step.From &&
			overlap(s.Min, s.Max, e.Range.Min, e.Range.Max) {
			return true
		}
	}
	return false
}

func overlap(min1, max1, min2, max2 catalog.Key) bool { return min1.Less(max2) && min2.Less(max1) }

// workIn reports whether a plan has steps besides those that stay.
func (r *run) workIn(p *plan.Plan) bool {
	for _, s := range p.Steps {
		if !r.staysOf(s) {
			return true
		}
	}
	return false
}
