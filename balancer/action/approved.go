package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// approvedStepper refuses commands that are not in the plan. The bounds of a command may differ from
// those of its step, since only the donor knows where a step is split or where it ends before its
// bound.
type approvedStepper struct {
	stepper
	plan *plan.Plan
}

// Do sends a command that is part of a step of the plan.
func (a approvedStepper) Do(ctx context.Context, c apply.Command) error {
	for _, s := range a.plan.Steps {
		if s.Namespace == c.Namespace && isPartOf(s, c) {
			return a.stepper.Do(ctx, c)
		}
	}
	at := c.Min
	if c.Kind == plan.Split {
		at = c.Point
	}
	return &apply.ChangedError{What: fmt.Sprintf("a %s of %s at %s would go beyond the steps of the plan", c.Kind,
		c.Namespace, at)}
}

// isPartOf reports whether a command does part of a step and nothing else.
func isPartOf(s plan.Step, c apply.Command) bool {
	r := plan.Range{Min: s.Min, Max: s.Max}
	if s.KnownRange != nil {
		r = *s.KnownRange
	}
	has := func(k catalog.Key) bool { return !k.Less(r.Min) && !r.Max.Less(k) }
	switch c.Kind {
	case plan.Split:
		switch {
		case s.Kind == plan.Merge:
			return false
		case s.Kind == plan.Split && s.KnownRange == nil:
			return !c.Halve && slices.ContainsFunc(s.Points, c.Point.Equal)
		}
		return c.Halve && has(c.Min) && has(c.Max) || !c.Halve && has(c.Point)
	case plan.Move:
		return s.Kind == plan.Move && s.From == c.From && s.To == c.To && !c.Force && has(c.Min) && has(c.Max)
	}
	return s.Kind != plan.Split && has(c.Min) && has(c.Max)
}

// explainNotApproved explains, for a run that ended because the cluster has changed, that the run does
// not continue with a plan that was not approved.
func explainNotApproved(err error) error {
	if !errors.As(err, new(*apply.ChangedError)) {
		return err
	}
	return fmt.Errorf("%w. The approved plan is not continued: make a new plan and have it approved", err)
}
