package plan

import (
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// FromSteps makes a plan from steps, in their order. It numbers the steps, puts consecutive steps that
// use different shards into one round, computes the totals, and sets the plan's ID. The plan does not
// contain what else is on the shards.
func FromSteps(p Plan, steps []Step) (*Plan, error) {
	p.Format, p.Steps, p.Totals, p.Shards = FormatVersion, []Step{}, Totals{}, []ShardChange{}
	p.ReachesGoal, p.Left = true, []diagnosis.Finding{}
	var touched []catalog.ShardID
	changes := map[catalog.ShardID]ShardChange{}
	for _, s := range steps {
		s.Number, s.Round = len(p.Steps)+1, max(1, p.Totals.Rounds)
		if slices.ContainsFunc(s.shards(), func(id catalog.ShardID) bool { return slices.Contains(touched, id) }) {
			s.Round, touched = s.Round+1, nil
		}
		touched = append(touched, s.shards()...)
		p.Totals.add(s)
		p.Steps = append(p.Steps, s)
		for _, id := range s.shards() {
			change := changes[id]
			change.Shard = id
			if id == s.To {
				change.After.Bytes += s.Bytes
			} else {
				change.Before.Bytes += s.Bytes
			}
			changes[id] = change
		}
	}
	for _, change := range changes {
		p.Shards = append(p.Shards, change)
	}
	slices.SortFunc(p.Shards, func(a, b ShardChange) int { return cmp.Compare(a.Shard, b.Shard) })
	return &p, p.setIDs()
}
