package plan

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/diagnosis"
)

// finish puts the plan together.
func (b *builder) finish() (*Plan, error) {
	b.explain(nil)
	b.forgo()
	p := b.plan
	for i := range p.Shards {
		p.Shards[i].After = b.held[p.Shards[i].Shard]
	}
	p.Left = b.left()
	b.noteGuesses()
	p.Reached = !slices.ContainsFunc(p.Left, b.missed)
	return p, p.identify()
}

// noteGuesses names the collections whose chunks are cut where it is not known which keys there
// are.
func (b *builder) noteGuesses() {
	var guessed []string
	for _, s := range b.plan.Steps {
		c := b.scope.start.Collection(s.Namespace)
		if s.Within != nil && c != nil && !c.KnowsKeyDistribution() && !slices.Contains(guessed, s.Namespace) {
			guessed = append(guessed, s.Namespace)
		}
	}
	switch n := len(guessed); {
	case n == 0:
	case n > 3:
		b.plan.addNote(fmt.Sprintf("where chunks of %d collections are cut is guessed: which keys they have was not read "+
			"(shardsh snapshot reads a sample)", n))
	default:
		b.plan.addNote(fmt.Sprintf("where chunks of %s are cut is guessed: which keys there are was not read "+
			"(shardsh snapshot reads a sample)", strings.Join(guessed, ", ")))
	}
}

// missed reports whether the goal is not reached for what a finding says.
func (b *builder) missed(f diagnosis.Finding) bool {
	if b.o.Goal.Kind == Balance {
		return f.Prevents() || f.Code == diagnosis.PlanLimited
	}
	return f.Code != diagnosis.Orphans && f.Code != diagnosis.ShardSlow
}

// left is what stays when all steps are done, and why.
func (b *builder) left() []diagnosis.Finding {
	list := []diagnosis.Finding{}
	switch {
	case b.passed != "":
		return append(list, diagnosis.NewFinding(diagnosis.PlanLimited, diagnosis.Scope{},
			fmt.Sprintf("the plan reaches its limit of %s before its goal", b.passed)))
	case len(b.lacking) > 0:
		return append(append(list, b.lacking...), b.withoutRoom()...)
	case b.closed, b.o.Goal.Kind == Consolidate:
	case !b.rest && b.o.Goal.Kind != Drain:
		why := "no more moves after " + b.end.Time().UTC().Format("2006-01-02 15:04")
		if b.trouble.last != nil {
			why = "migrations would keep failing: " + b.trouble.last.Error()
		}
		list = append(list, diagnosis.NewFinding(diagnosis.PlanStuck, diagnosis.Scope{}, why))
	}
	if !b.arrived() || b.o.Goal.Kind != Drain {
		list = append(list, b.withoutRoom()...)
	}
	if !slices.Contains([]GoalKind{Balance, Drain, Zones}, b.o.Goal.Kind) {
		return list
	}
	about := diagnosis.Scope{}
	if b.o.Goal.Kind == Drain {
		about.Shard = b.o.Goal.Shard
	}
	answer := diagnosis.Why(diagnosis.AtWork(b.end), about)
	for _, f := range slices.Concat(answer.Symptoms, answer.Causes) {
		said := slices.ContainsFunc(list, func(have diagnosis.Finding) bool {
			return have.Code == f.Code && have.Scope == f.Scope
		})
		if b.matters(f) && !said {
			list = append(list, f)
		}
	}
	return list
}

// zoneCodes are of what keeps chunks from their zones.
var zoneCodes = []diagnosis.Code{
	diagnosis.ZoneWithoutShards, diagnosis.ZoneDraining, diagnosis.UnalignedZones, diagnosis.ZoneRangesOverlap,
	diagnosis.NoRecipient, diagnosis.OnlyJumboChunks,
}

// matters reports whether a finding is of what keeps the goal from being reached.
func (b *builder) matters(f diagnosis.Finding) bool {
	switch b.o.Goal.Kind {
	case Zones:
		return slices.Contains(zoneCodes, f.Code) && f.Scope.Zone != ""
	case Drain:
		if b.held[b.o.Goal.Shard].Chunks == 0 {
			return f.Code == diagnosis.DrainNeedsOperator && f.Scope.Shard == b.o.Goal.Shard
		}
		return f.Scope.Shard == b.o.Goal.Shard
	}
	return true
}
