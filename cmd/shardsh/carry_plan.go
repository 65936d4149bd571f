package main

import (
	"context"
	"fmt"
	"io"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// snapshotOf is what goals are made from.
type snapshotOf = catalog.Snapshot

// begun returns the plan of the journal to go on with; nil without one.
func (o *carryLine) begun(kind plan.GoalKind) (*plan.Plan, error) {
	if o.resume == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	h, err := apply.LoadJournal(o.resume)
	if err != nil {
		return nil, err
	}
	if p := h.Plan(); p.Goal.Kind != kind {
		return nil, fmt.Errorf("%s is of another goal, %s: shardsh apply --resume goes on with it", o.resume, p.Goal.Kind)
	}
	return h.Plan(), nil
}

// planFor makes the plan, unless a journal has it.
func (env environment) planFor(ctx context.Context, conn *connection, o aimed, begun *plan.Plan) (*plan.Plan, error) {
	var s *catalog.Snapshot
	var err error
	if begun == nil {
		if s, err = live.NewReader(conn.client, live.ReaderOptions{Parts: live.Current}).Read(ctx); err != nil {
			return nil, err
		}
		env.tellGaps(s)
		s = apply.Resumed(s, live.PausedByUs(ctx, conn.client))
	}
	goal, err := o.goal(ctx, conn, s, begun)
	if err != nil || begun != nil {
		return begun, err
	}
	return collecting(often, func() (*plan.Plan, error) {
		return plan.Make(s, plan.Options{Goal: goal, IgnoreWindow: true})
	})
}

// open opens the journal. A dry run has none.
func (o *carryLine) open(p *plan.Plan) (*apply.Execution, error) {
	switch {
	case o.resume != "":
		return apply.Resume(o.resume)
	case o.dryRun:
		return apply.Begin(p, "")
	case o.journal != "":
		return apply.Begin(p, o.journal)
	}
	return apply.Begin(p, p.ID+".journal")
}

// shown is where plans go that are shown before they are carried out.
func (o *carryLine) shown(env environment) io.Writer {
	if o.json {
		return env.warned()
	}
	return env.told()
}
