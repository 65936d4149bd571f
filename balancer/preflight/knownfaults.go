package preflight

import (
	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// maxKnownFaults is how many known bugs that do not stop the run are listed individually.
const maxKnownFaults = 3

// checkKnownFaults reports known server bugs that affect the commands of the run. Bugs that lose data
// stop the run.
func (l *checker) checkKnownFaults() {
	hits := l.Advisories.HitsForCommands(AdvisoryCluster(l.Run, l.Facts), SentCommands(l.Run, l.Snapshot))
	listed, rest := 0, 0
	for _, h := range hits {
		switch {
		case h.Severity == advisory.DataLoss:
			l.addBlocking(h.Finding())
		case listed < maxKnownFaults:
			l.addWarning(h.Finding())
			listed++
		default:
			rest++
		}
	}
	if rest > 0 {
		l.addWarning(diagnosis.NewFinding(diagnosis.KnownFault, diagnosis.Scope{},
			humanize.Count(int64(rest), "milder known fault")+" of these versions may show, too"))
	}
}

// AdvisoryCluster returns the cluster for the comparison with advisories. Only the collections of the
// run count for its states.
func AdvisoryCluster(run Run, facts Facts) advisory.Cluster {
	c := advisory.Cluster{Snapshot: facts.Snapshot, MovingPrimary: facts.DatabasesMovingPrimary,
		Namespaces: run.Namespaces}
	if run.Plan != nil {
		c.Namespaces = nil
		for _, of := range run.Plan.Basis.Collections {
			c.Namespaces = append(c.Namespaces, of.Namespace)
		}
	}
	return c
}

// SentCommands returns the commands that a run sends, in the terms of advisories.
func SentCommands(run Run, s *catalog.Snapshot) (list []advisory.Command) {
	sends := map[advisory.Command]bool{advisory.Drain: run.Shard != "" && run.Remove}
	sends[advisory.TransitionToDedicated] = run.Shard == catalog.ConfigServerID && run.Remove
	if run.Plan == nil {
		sends[advisory.Move] = true
	} else {
		for _, step := range run.Plan.Steps {
			sends[advisoryCommand(step.Kind)] = true
		}
	}
	if run.MovePrimaries {
		for _, db := range s.Parts().Databases {
			sends[advisory.MovePrimary] = sends[advisory.MovePrimary] || db.Primary == run.Shard
		}
		for _, c := range s.Collections() {
			moves := c.Unsplittable && c.CountOn(run.Shard).Chunks > 0
			sends[advisory.MoveCollection] = sends[advisory.MoveCollection] || moves
		}
	}
	for _, command := range advisory.Commands() {
		if sends[command] {
			list = append(list, command)
		}
	}
	return list
}

func advisoryCommand(kind plan.StepKind) advisory.Command {
	switch kind {
	case plan.Move:
		return advisory.Move
	case plan.Merge:
		return advisory.Merge
	}
	return advisory.Split
}
