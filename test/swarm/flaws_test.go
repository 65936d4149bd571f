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
		has        func(*mock.ServerBugs)
	}{
		{"balancerStop after a step-down", "fence", func(f *mock.ServerBugs) { f.FixBalancerStop = false }},
		{"secondaries go on without a range", "writes", func(f *mock.ServerBugs) { f.FixSecondaryReads = false }},
		{"indexes during a migration", "indexes", func(f *mock.ServerBugs) { f.StaleRecipientIndexes = true }},
		{"range deletions of an aborted migration", "rest", func(f *mock.ServerBugs) { f.KeepsAbortedDeletions = true }},
		{"range deletions that are not ready", "range deletions", func(f *mock.ServerBugs) { f.DropsUnreadyDeletions = true }},
		{"unshardCollection leaves old uuids", "C8", func(f *mock.ServerBugs) { f.UnshardKeepsUUIDs = true }},
		{"an early abort of a resharding", "abort", func(f *mock.ServerBugs) { f.LosesEarlyAborts = true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const within = 2000
			for seed := range uint64(within) {
				s := draw(seed)
				tt.has(&s.Flaws)
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
