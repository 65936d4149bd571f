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

// finish does the work after the last step. This may take a while, during which the balancer works
// again. If finish finds new steps, these may already be done when the cluster is read again; then
// finish repeats its work.
func (r *run) finish(ctx context.Context) (more bool, err error) {
	if err := r.handlePaceError(ctx, r.o.Gate.AwaitUnheld(ctx)); err != nil || r.result.Stopped != "" {
		return false, err
	}
	if r.o.BeforeBalancingResumes != nil && !r.o.DryRun {
		if err := r.o.BeforeBalancingResumes(ctx); err != nil {
			return false, err
		}
	}
	if r.o.OnAllDone == nil || r.o.DryRun {
		return false, nil
	}
	if err := r.resumeBalancing(); err != nil {
		return false, err
	}
	for looks := 0; ; looks++ {
		err := r.o.OnAllDone(ctx)
		if errors.As(err, new(*pace.RunOverError)) {
			return false, r.handlePaceError(ctx, err)
		}
		changed, ok := errors.AsType[*ChangedError](err)
		if !ok || !r.canReplan() || looks == maxReplans {
			return false, err
		}
		p, err := r.newPlan(ctx)
		switch {
		case err != nil:
			return false, err
		case r.hasWork(p):
			return true, r.switchToPlan(p, changed)
		case !p.ReachesGoal:
			return false, changed
		}
		if err := r.o.Clock.Sleep(ctx, roundPollInterval); err != nil {
			return false, err
		}
	}
}

// maxReplans limits how many new plans a run makes.
const maxReplans = 20

func (r *run) canReplan() bool {
	return r.o.ChangePolicy == ReplanOnChange && r.o.Replan != nil && !r.o.DryRun && r.plan.Goal.Kind != plan.Undo
}

// replan makes a new plan if one is needed: because the cluster has changed, or because a plan is done
// and its goal is not reached since sizes were only estimates.
func (r *run) replan(ctx context.Context, because *ChangedError) (more bool, err error) {
	if because == nil && !r.plan.ReachesGoal {
		return false, nil
	}
	p, err := r.newPlan(ctx)
	if err != nil || because == nil && !r.hasWork(p) {
		return false, err
	}
	return true, r.switchToPlan(p, because)
}

// newPlan makes another plan with the same goal.
func (r *run) newPlan(ctx context.Context) (p *plan.Plan, err error) {
	err = r.retrying.retry(ctx, func() (err error) {
		p, err = r.o.Replan(ctx, ReplanRequest{r.plan.Goal, r.plan.Limits, slices.Clone(r.paused), r.mergeSteps()})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("making another plan: %w", err)
	}
	r.result.RemainingFindings = p.Left
	return p, nil
}

// mergeSteps returns the steps that have merged chunks, including those of earlier plans. The size of
// the merged chunks is derived from their number.
func (r *run) mergeSteps() []plan.Step {
	list := slices.Clip(r.earlierMerges)
	for _, s := range r.plan.Steps {
		if s.Kind == plan.Merge && r.done[s.Number] {
			list = append(list, s)
		}
	}
	return list
}

// switchToPlan replaces the current plan.
func (r *run) switchToPlan(p *plan.Plan, because *ChangedError) error {
	r.result.Replans++
	if because == nil || !because.ContentsOnly { // a plan makes progress by at least one step before such an error
		r.replans++
	}
	if r.replans > maxReplans {
		return fmt.Errorf(
			"the goal is not reached after %d new plans: the cluster changes too fast", maxReplans)
	}
	r.carryTallyOver()
	r.earlierMerges = r.mergeSteps()
	r.plan, r.done, r.began, r.splitPoints = p, map[int]bool{}, map[int]time.Time{}, map[int][]catalog.Key{}
	r.actualRanges, r.priorChunks, r.movedByStep = map[int]plan.Range{}, map[int][]priorChunk{}, map[int]tally{}
	r.markNeedsForce()
	if err := r.writePlan(p.Basis.ClusterID); err != nil {
		return err
	}
	e := Event{Kind: Replanned, Plan: p}
	if because != nil {
		e.Err = because
	}
	r.emit(e)
	return nil
}
