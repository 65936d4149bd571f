package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// finish does what comes after the last step, which may take its time: the balancer
// works again meanwhile. What is found to be moved again may be gone when the cluster
// is looked at; then it is done once more.
func (r *run) finish(ctx context.Context) (more bool, err error) {
	if err := r.mayNot(ctx, r.o.Pace.Await(ctx)); err != nil || r.result.Stopped != "" {
		return false, err
	}
	if r.o.Last != nil && !r.o.DryRun {
		if err := r.o.Last(ctx); err != nil {
			return false, err
		}
	}
	if r.o.Finish == nil || r.o.DryRun {
		return false, nil
	}
	if err := r.restore(); err != nil {
		return false, err
	}
	for looks := 0; ; looks++ {
		err := r.o.Finish(ctx)
		if errors.As(err, new(*pace.OverError)) {
			return false, r.mayNot(ctx, err)
		}
		changed, is := errors.AsType[*ChangedError](err)
		if !is || !r.mayReplan() || looks == maxReplans {
			return false, err
		}
		p, err := r.newPlan(ctx)
		switch {
		case err != nil:
			return false, err
		case r.workIn(p):
			return true, r.follow(p, changed)
		case !p.Reached:
			return false, changed
		}
		if err := r.o.Clock.Sleep(ctx, roundPause); err != nil {
			return false, err
		}
	}
}

// maxReplans is after how many new plans nobody believes in the next one.
const maxReplans = 20

func (r *run) mayReplan() bool {
	return r.o.OnChange == Replan && r.o.Replan != nil && !r.o.DryRun && r.plan.Goal.Kind != plan.Undo
}

// replan has another plan take over, if one is needed: because the cluster has
// changed, or because a plan is done and its goal is not reached, as sizes could
// only be guessed.
func (r *run) replan(ctx context.Context, because *ChangedError) (more bool, err error) {
	if because == nil && !r.plan.Reached {
		return false, nil
	}
	p, err := r.newPlan(ctx)
	if err != nil || because == nil && !r.workIn(p) {
		return false, err
	}
	return true, r.follow(p, because)
}

// newPlan makes another plan with the same goal.
func (r *run) newPlan(ctx context.Context) (p *plan.Plan, err error) {
	err = r.waits.ask(ctx, func() (err error) {
		p, err = r.o.Replan(ctx, Wanted{r.plan.Goal, r.plan.Limits, slices.Clone(r.paused), r.merges()})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("making another plan: %w", err)
	}
	r.result.Left = p.Left
	return p, nil
}

// merges returns the steps that have merged chunks, of plans before this one, too: how large those
// chunks are is known by how many they were.
func (r *run) merges() []plan.Step {
	list := slices.Clip(r.merged)
	for _, s := range r.plan.Steps {
		if s.Kind == plan.Merge && r.done[s.Number] {
			list = append(list, s)
		}
	}
	return list
}

// follow has another plan take over.
func (r *run) follow(p *plan.Plan, because *ChangedError) error {
	r.result.Replans++
	if because == nil || !because.Contents { // which takes a step each time
		r.replans++
	}
	if r.replans > maxReplans {
		return fmt.Errorf(
			"the goal is not reached after %d new plans: the cluster changes too fast", maxReplans)
	}
	r.closeTally()
	r.merged = r.merges()
	r.plan, r.done, r.began, r.cuts = p, map[int]bool{}, map[int]time.Time{}, map[int][]catalog.Key{}
	r.spans, r.before, r.moves = map[int]plan.Range{}, map[int][]piece{}, map[int]tally{}
	r.leaveBehind()
	if err := r.writePlan(p.Basis.ClusterID); err != nil {
		return err
	}
	e := Event{Kind: Replanned, Plan: p}
	if because != nil {
		e.Err = because
	}
	r.tell(e)
	return nil
}
