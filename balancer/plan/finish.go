package plan

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/diagnosis"
)

// finish completes the plan.
func (b *builder) finish() (*Plan, error) {
	b.explainSteps(nil)
	b.dropAfterDrain()
	p := b.plan
	for i := range p.Shards {
		p.Shards[i].After = b.holdings[p.Shards[i].Shard]
	}
	p.Left = b.leftFindings()
	b.noteGuessedCuts()
	p.ReachesGoal = !slices.ContainsFunc(p.Left, b.preventsGoal)
	return p, p.setIDs()
}

// noteGuessedCuts adds a note with the collections whose chunks are split although the distribution of
// their keys is not known.
func (b *builder) noteGuessedCuts() {
	var guessed []string
	for _, s := range b.plan.Steps {
		c := b.input.start.Collection(s.Namespace)
		if s.KnownRange != nil && c != nil && !c.KnowsKeyDistribution() && !slices.Contains(guessed, s.Namespace) {
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

// preventsGoal reports whether a finding means that the goal is not reached.
func (b *builder) preventsGoal(f diagnosis.Finding) bool {
	if b.o.Goal.Kind == Balance {
		return f.PreventsBalance() || f.Code == diagnosis.PlanLimited
	}
	return f.Code != diagnosis.Orphans && f.Code != diagnosis.ShardSlow
}

// leftFindings returns findings about what remains when all steps are done, with reasons.
func (b *builder) leftFindings() []diagnosis.Finding {
	list := []diagnosis.Finding{}
	switch {
	case b.exceededLimit != "":
		return append(list, diagnosis.NewFinding(diagnosis.PlanLimited, diagnosis.Scope{},
			fmt.Sprintf("the plan reaches its limit of %s before its goal", b.exceededLimit)))
	case len(b.obstacles) > 0:
		return append(append(list, b.obstacles...), b.noRoomFindings()...)
	case b.closed, b.o.Goal.Kind == Consolidate:
	case !b.balancerIdle && b.o.Goal.Kind != Drain:
		why := "no more moves after " + b.endSnapshot.Time().UTC().Format("2006-01-02 15:04")
		if b.failures.last != nil {
			why = "migrations would keep failing: " + b.failures.last.Error()
		}
		list = append(list, diagnosis.NewFinding(diagnosis.PlanStuck, diagnosis.Scope{}, why))
	}
	if !b.isGoalReached() || b.o.Goal.Kind != Drain {
		list = append(list, b.noRoomFindings()...)
	}
	if !slices.Contains([]GoalKind{Balance, Drain, Zones}, b.o.Goal.Kind) {
		return list
	}
	about := diagnosis.Scope{}
	if b.o.Goal.Kind == Drain {
		about.Shard = b.o.Goal.Shard
	}
	answer := diagnosis.Why(diagnosis.IdleWithBalancerOn(b.endSnapshot), about)
	for _, f := range slices.Concat(answer.Symptoms, answer.Causes) {
		said := slices.ContainsFunc(list, func(have diagnosis.Finding) bool {
			return have.Code == f.Code && have.Scope == f.Scope
		})
		if b.concernsGoal(f) && !said {
			list = append(list, f)
		}
	}
	return list
}

// zoneCodes are the codes of findings that prevent chunks from moving into their zones.
var zoneCodes = []diagnosis.Code{
	diagnosis.ZoneWithoutShards, diagnosis.ZoneDraining, diagnosis.UnalignedZones, diagnosis.ZoneRangesOverlap,
	diagnosis.NoRecipient, diagnosis.OnlyJumboChunks,
}

// concernsGoal reports whether a finding concerns the goal.
func (b *builder) concernsGoal(f diagnosis.Finding) bool {
	switch b.o.Goal.Kind {
	case Zones:
		return slices.Contains(zoneCodes, f.Code) && f.Scope.Zone != ""
	case Drain:
		if b.holdings[b.o.Goal.Shard].Chunks == 0 {
			return f.Code == diagnosis.DrainNeedsOperator && f.Scope.Shard == b.o.Goal.Shard
		}
		return f.Scope.Shard == b.o.Goal.Shard
	}
	return true
}
