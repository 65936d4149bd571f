package plan

import (
	"cmp"
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/sim"
)

// maxPlanTime limits the simulated time of a plan. A plan ends after this time.
const maxPlanTime = 365 * 24 * time.Hour

// Make makes a plan for a goal. It returns an error for an unknown goal or collection, and for a
// Snapshot without the chunks of a collection. A plan without steps is not an error: Left contains the
// reasons, unless the goal is reached already.
func Make(s *catalog.Snapshot, o Options) (*Plan, error) {
	if err := o.setDefaults(s); err != nil {
		return nil, err
	}
	sc, err := newInput(s, o)
	if err != nil {
		return nil, err
	}
	basis, err := newBasis(s, sc.namespaces(), o.Goal)
	if err != nil {
		return nil, err
	}
	b := newBuilder(sc, o)
	b.plan.Basis = basis
	if err := b.initVolumes(s); err != nil {
		return nil, err
	}
	if o.timeZoneUnknown {
		b.plan.addNote(unknownTimeZoneNote(s))
	}
	if err := b.chooseSteps(); err != nil {
		return nil, err
	}
	return b.finish()
}

// unknownTimeZoneNote returns a note about a balancer window whose time zone is unknown.
func unknownTimeZoneNote(s *catalog.Snapshot) string {
	note := fmt.Sprintf("the balancer's window is %s: the times are those of a window that is open", s.WindowText())
	if wait := s.NextOpening().Latest.Sub(s.Time()); wait > 0 {
		note += fmt.Sprintf("; the cluster's balancer may begin up to %s later", humanize.Duration(wait))
	}
	return note + " (--time-zone, timeZone name the time zone)"
}

// chooseSteps chooses the steps: those of the balancer, if the balancer has the goal.
func (b *builder) chooseSteps() error {
	switch {
	case b.o.Goal.Kind == Presplit:
		return b.addPresplit()
	case b.o.Goal.Kind == Consolidate:
		b.addConsolidation()
		return nil
	case b.o.Goal.Kind == Load:
		b.addLoadSteps()
		return nil
	case b.o.Goal.Kind == Defragment && !b.input.start.Release().Defragments():
		b.addLegacyDefragmentation()
		return nil
	}
	if err := b.simulate(); err != nil {
		return err
	}
	return b.searchFittingOrder()
}

// setDefaults sets the defaults.
func (o *Options) setDefaults(s *catalog.Snapshot) error {
	o.Goal.Kind = cmp.Or(o.Goal.Kind, Balance)
	o.Costs = cmp.Or(o.Costs, sim.SnapshotCosts(s))
	if settings := s.Settings(); settings.HasWindow() && s.Parts().Clock.Location == nil && !o.IgnoreWindow {
		o.IgnoreWindow, o.timeZoneUnknown = true, true
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

// simConfig returns the configuration of the simulated engine.
func (b *builder) simConfig() sim.Config {
	return sim.Config{
		Location: b.input.start.BalancerTime().Location(), Rand: b.o.newRand(), Parameters: b.o.Parameters, IgnoreMode: true,
		Reasons: b.input.reasons, Contents: b.o.Model.Contents, Costs: b.o.Costs, OnDecisions: b.onDecisions,
		ChosenOnly: true, OnProgress: b.o.OnProgress, DiskLimit: b.o.Limits.Disk,
	}
}

// simulate takes the steps from a simulation of the balancer.
func (b *builder) simulate() error {
	run, err := sim.New(b.input.start, b.simConfig())
	if err != nil {
		return err
	}
	defer run.Close()
	if !b.isGoalReached() {
		for e := range run.EventsToRest(b.input.start.Time().Add(maxPlanTime)) {
			b.addEvent(e)
			if b.isOver() {
				break
			}
		}
	}
	if err := run.Err(); err != nil {
		return err
	}
	b.balancerIdle = run.AtRest()
	b.shortages = run.Shortages()
	b.endSnapshot = run.Snapshot()
	return nil
}
