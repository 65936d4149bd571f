package plan

import (
	"cmp"
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/sim"
)

// horizon is how far a plan looks. What takes longer than this is not planned to
// its end.
const horizon = 365 * 24 * time.Hour

// Make plans the way to a goal. It returns an error for a goal or a collection that
// the cluster does not know, and for a Snapshot without the chunks of a collection.
// A plan without steps is not an error: Left says why, unless the goal is reached
// already.
func Make(s *catalog.Snapshot, o Options) (*Plan, error) {
	if err := o.complete(s); err != nil {
		return nil, err
	}
	sc, err := newScope(s, o)
	if err != nil {
		return nil, err
	}
	basis, err := basisOf(s, sc.names(), o.Goal)
	if err != nil {
		return nil, err
	}
	b := newBuilder(sc, o)
	b.plan.Basis = basis
	if err := b.limitDisks(s); err != nil {
		return nil, err
	}
	if o.unplaced {
		b.plan.addNote(unplaced(s))
	}
	if err := b.choose(); err != nil {
		return nil, err
	}
	return b.finish()
}

// unplaced says what an unknown time zone leaves open.
func unplaced(s *catalog.Snapshot) string {
	note := fmt.Sprintf("the balancer's window is %s: the times are those of a window that is open", s.WindowText())
	if wait := s.NextOpening().Latest.Sub(s.Time()); wait > 0 {
		note += fmt.Sprintf("; the cluster's balancer may begin up to %s later", humanize.Duration(wait))
	}
	return note + " (--time-zone, timeZone name the time zone)"
}

// choose makes the steps: what the balancer would do, unless it knows nothing of the
// goal.
func (b *builder) choose() error {
	switch {
	case b.o.Goal.Kind == Presplit:
		return b.presplit()
	case b.o.Goal.Kind == Consolidate:
		b.consolidate()
		return nil
	case b.o.Goal.Kind == Load:
		b.evenOut()
		return nil
	case b.o.Goal.Kind == Defragment && !b.scope.start.Release().Defragments():
		b.pack()
		return nil
	}
	if err := b.simulate(); err != nil {
		return err
	}
	return b.fitOtherwise()
}

// complete puts the usual in the place of what is not set.
func (o *Options) complete(s *catalog.Snapshot) error {
	o.Goal.Kind = cmp.Or(o.Goal.Kind, Balance)
	o.Costs = cmp.Or(o.Costs, sim.SnapshotCosts(s))
	if settings := s.Settings(); settings.HasWindow() && s.Parts().Clock.Location == nil && !o.IgnoreWindow {
		o.IgnoreWindow, o.unplaced = true, true
	}
	if o.Model.Contents == nil {
		model, err := ParseModel(o.Model.Name, o.Seed)
		if err != nil {
			return err
		}
		o.Model = model
	}
	return o.check()
}

// config is how the engine runs for a plan.
func (b *builder) config() sim.Config {
	return sim.Config{
		Location: b.scope.start.BalancerTime().Location(), Rand: b.o.rand(), Parameters: b.o.Parameters, IgnoreMode: true,
		Reasons: b.scope.reasons, Contents: b.o.Model.Contents, Costs: b.o.Costs, OnDecisions: b.decided,
		ChosenOnly: true, Watch: b.o.Watch, DiskLimit: b.o.Limits.Disk,
	}
}

// simulate takes the steps from what the balancer would do.
func (b *builder) simulate() error {
	run, err := sim.New(b.scope.start, b.config())
	if err != nil {
		return err
	}
	defer run.Close()
	if !b.arrived() {
		for e := range run.EventsToRest(b.scope.start.Time().Add(horizon)) {
			b.take(e)
			if b.over() {
				break
			}
		}
	}
	if err := run.Err(); err != nil {
		return err
	}
	b.rest = run.AtRest()
	b.shortages = run.Shortages()
	b.end = run.Snapshot()
	return nil
}
