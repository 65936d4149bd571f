package swarm

import (
	"slices"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/test/swarm/trace"
)

// What servers are known to do wrong is found, by the rule that says so, without being told
// where to look.
func TestKnownFlawsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of runs")
	}
	for _, tt := range []struct {
		name, rule string
		flaws      mock.ServerBugs
	}{
		{"balancerStop after a step-down", "fence", mock.ServerBugs{}},
		{"indexes during a migration", "indexes", mock.ServerBugs{FixBalancerStop: true, StaleRecipientIndexes: true}},
		{"range deletions of an aborted migration", "rest", mock.ServerBugs{FixBalancerStop: true, KeepsAbortedDeletions: true}},
		{"unshardCollection leaves old uuids", "C8", mock.ServerBugs{FixBalancerStop: true, UnshardKeepsUUIDs: true}},
		{"an early abort of a resharding", "abort", mock.ServerBugs{FixBalancerStop: true, LosesEarlyAborts: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const within = 2000
			for seed := range uint64(within) {
				s := draw(seed)
				s.Flaws = tt.flaws
				found := check(run(t, s))
				if slices.ContainsFunc(found, func(v trace.Violation) bool { return v.Rule == tt.rule }) {
					t.Logf("found by seed %d", seed)
					return
				}
			}
			t.Errorf("not found in %d seeds", within)
		})
	}
}
