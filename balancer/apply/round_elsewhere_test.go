package apply_test

import (
	"context"
	"errors"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// turning is a cluster whose balancer says that it is in a round, so many times.
type turning struct {
	apply.Cluster
	rounds int
}

func (t *turning) Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	s, err := t.Cluster.Snapshot(ctx, namespaces)
	if err != nil || t.rounds == 0 {
		return s, err
	}
	t.rounds--
	parts := s.Parts()
	parts.Balancer.InRound = true
	return catalog.NewSnapshot(parts), nil
}

// A round that goes on though nothing should be moved stops a run before anything is
// sent; one seen in passing, as each look of the balancer at its settings, does not.
func TestRoundOutsideTheWindow(t *testing.T) {
	for _, rounds := range []int{1, 1000} {
		w := newWorld(t, simple(), catalog.Release80, 1)
		c := &turning{w.steps, rounds}
		_, err := apply.Run(t.Context(), c, w.plan(plan.Goal{Kind: plan.Balance}), apply.Options{Clock: w.cluster.Clock()})
		works, is := errors.AsType[*apply.BalancerConflictError](err)
		if refused := rounds > 1; is != refused || refused && !works.InForbiddenRound || !refused && err != nil {
			t.Errorf("%d times in a round: %v", rounds, err)
		}
	}
}
