package plan

import (
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// explainSteps sets the Why of the steps since the last round.
func (b *builder) explainSteps(decisions []policy.Decision) {
	steps := b.plan.Steps[b.explainedSteps:]
	b.explainedSteps = len(b.plan.Steps)
	for i := range steps {
		s := &steps[i]
		if s.Why != "" {
			continue
		}
		if s.Kind != Move {
			s.Why = b.splitOrMergeReason(*s)
			continue
		}
		at := slices.IndexFunc(decisions, func(d policy.Decision) bool {
			return d.IsChosen() && d.Namespace == s.Namespace && d.Shard == s.From && d.Recipient == s.To
		})
		if at >= 0 {
			s.Why = decisions[at].Text()
		} else {
			s.Why = fmt.Sprintf("Chosen by the balancer: %s.", s.Reason)
		}
	}
}

// splitOrMergeReason returns the reason why chunks are split or merged.
func (b *builder) splitOrMergeReason(s Step) string {
	if s.Kind == Merge {
		return fmt.Sprintf("%d adjacent chunks on %s are merged.", s.Chunks, s.From)
	}
	c := b.input.start.Collection(s.Namespace)
	for _, r := range c.Zones.Ranges() {
		if slices.ContainsFunc(s.Points, func(k catalog.Key) bool { return k.Equal(r.Min) || k.Equal(r.Max) }) {
			return fmt.Sprintf("A boundary of zone %s lies inside the chunk at %s on %s.", r.Zone, s.Min, s.From)
		}
	}
	return fmt.Sprintf("The chunk at %s on %s is too large to move as a whole.", s.Min, s.From)
}
