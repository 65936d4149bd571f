package diagnosis

import (
	"fmt"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// giveBackCommand is the command that enables balancing which a run has left disabled.
const giveBackCommand = "shardsh balance --give-back"

// pausedFindings finds collections whose balancing a run of shardsh has disabled. It returns a single
// finding for all of them.
func (d *Diagnosis) pausedFindings() []Finding {
	l := d.Parts().Lease
	if l == nil {
		return nil
	}
	var names []string
	for _, ns := range l.PausedCollections {
		if d.BalancingDisabledBy(ns) != nil {
			names = append(names, ns)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Finding{PausedFinding(*l, names)}
}

// PausedFinding returns a finding which says that the holder of a lease has disabled the balancing of
// collections, and whether the holder still runs.
func PausedFinding(l catalog.Lease, names []string) Finding {
	of := humanize.Count(int64(len(names)), "collection")
	if len(names) <= maxPausedNames {
		of = strings.Join(names, ", ")
	}
	f := finding(LeftPaused, Scope{},
		fmt.Sprintf("balancing of %s was disabled by a run that is gone: %s", of, l.Holder()), giveBackCommand)
	if l.Running {
		f = finding(PausedByRun, Scope{},
			fmt.Sprintf("balancing of %s is disabled by a run that is running: %s", of, l.Holder()))
	}
	f.Numbers, f.Since = countNumbers("collections", int64(len(names))), l.Since
	return f
}

// maxPausedNames is how many collections the sentence names.
const maxPausedNames = 3

// notBalancedPausedFinding returns a finding about a collection that is not balanced because a run of
// shardsh has disabled its balancing. While the run is active, the operator has nothing to do.
func notBalancedPausedFinding(ns string, b Balance, l *catalog.Lease) Finding {
	sentence := fmt.Sprintf("%s is not balanced (%s), but a run of shardsh has its balancing disabled", ns,
		b.ViolationText())
	if l.Running {
		return finding(NotBalancedPaused, Scope{Namespace: ns}, sentence)
	}
	return finding(NotBalancedDisabled, Scope{Namespace: ns}, sentence, giveBackCommand)
}
