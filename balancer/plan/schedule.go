package plan

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// schedule adds steps that were chosen without the engine, in an order in which each step can be
// executed. A step begins in the first round after all earlier steps that use one of its shards.
func (b *builder) schedule(steps []Step) {
	b.balancerIdle, b.endSnapshot = true, b.input.start
	after := map[catalog.ShardID]int{}
	for i := range steps {
		s := &steps[i]
		for _, id := range s.shards() {
			s.Round = max(s.Round, after[id]+1)
		}
		for _, id := range s.shards() {
			after[id] = s.Round
		}
	}
	slices.SortStableFunc(steps, func(x, y Step) int { return cmp.Compare(x.Round, y.Round) })
	at, until := b.input.start.Time(), b.input.start.Time()
	for i, s := range steps {
		if i > 0 && s.Round != steps[i-1].Round {
			at = until
			b.engineRound++
		}
		ended := at.Add(b.stepTime(s))
		if until.Before(ended) {
			until = ended
		}
		b.addStep(s, sim.Event{
			Began: at, Ended: ended, Namespace: s.Namespace, From: s.From, Min: s.Min, Max: s.Max,
		})
	}
}

// stepTime returns the estimated duration of a step.
func (b *builder) stepTime(s Step) time.Duration {
	switch s.Kind {
	case Move:
		return b.o.Costs.MoveTime(s.Bytes)
	case Merge:
		return b.o.Costs.Merge
	}
	return 0
}
