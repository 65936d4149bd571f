package plan

import (
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// FromSteps makes a plan of given steps, in their order. It numbers
// them, lays neighbours that touch different shards into one round, adds up and
// sets the plan's ID. It does not know what else shards hold.
func FromSteps(p Plan, steps []Step) (*Plan, error) {
	p.Format, p.Steps, p.Totals, p.Shards = Format, []Step{}, Totals{}, []ShardChange{}
	p.Reached, p.Left = true, []diagnosis.Finding{}
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
