package diagnosis

import (
	"slices"

	"shardsh/balancer/catalog"
)

// Diagnosis is the state of a cluster, derived from a Snapshot.
type Diagnosis struct {
	*catalog.Snapshot
	// Balances has an element for every sharded collection, by namespace.
	Balances []Balance
	// Findings are ordered by severity, the most severe first; findings of equal severity in the order
	// of the balancer, migrations, collections by namespace, zones by name, shards by id.
	Findings []Finding
}

// Diagnose derives the diagnosis of a cluster. The Diagnosis belongs to the caller.
func Diagnose(s *catalog.Snapshot) *Diagnosis {
	d := &Diagnosis{Snapshot: s, Balances: Balances(s)}
	for _, look := range []func() []Finding{
		d.gapFindings, d.unreachableFindings, d.balancerFindings,
		func() []Finding { return WaitingRunFindings(s) }, d.pausedFindings, d.migrationFindings, d.collectionFindings,
		d.zoneFindings, d.shardFindings, d.unshardedFindings,
	} {
		d.Findings = append(d.Findings, look()...)
	}
	sortBySeverity(d.Findings)
	return d
}

// IsBalanced reports whether the balancer has no work left: no shard drains, and every collection that
// the balancer may change is balanced.
func (d *Diagnosis) IsBalanced() bool {
	for _, shard := range d.Shards() {
		if shard.Draining {
			return false
		}
	}
	return !slices.ContainsFunc(d.Balances, func(b Balance) bool { return !b.Balanced && b.DisabledBy == NotDisabled })
}

// FindingsWithCodes returns the findings with one of the codes, in order.
func (d *Diagnosis) FindingsWithCodes(codes ...Code) (list []Finding) {
	for _, f := range d.Findings {
		if slices.Contains(codes, f.Code) {
			list = append(list, f)
		}
	}
	return list
}
