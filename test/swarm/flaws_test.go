package swarm

import (
	"slices"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/test/swarm/trace"
)

// What servers are known to do wrong is found, by the rule that says so, without being told
// where to look: the search begins at the seed that found it last, to be quick, and goes on until one
// does, as the traces of seeds change with what the program sends.
func TestKnownFlawsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("dozens of runs")
	}
	for _, tt := range []struct {
		name, rule string
		begin      uint64
		has        func(*mock.ServerBugs)
	}{
		{"balancerStop after a step-down", "fence", 16, func(f *mock.ServerBugs) { f.FixBalancerStop = false }},
		{"secondaries go on without a range", "writes", 193, func(f *mock.ServerBugs) { f.FixSecondaryReads = false }},
		{"indexes during a migration", "indexes", 11, func(f *mock.ServerBugs) { f.StaleRecipientIndexes = true }},
		{"range deletions of an aborted migration", "rest", 0, func(f *mock.ServerBugs) { f.KeepsAbortedDeletions = true }},
		{"range deletions that are not ready", "range deletions", 107, func(f *mock.ServerBugs) { f.DropsUnreadyDeletions = true }},
		{"unshardCollection leaves old uuids", "C8", 19, func(f *mock.ServerBugs) { f.UnshardKeepsUUIDs = true }},
		{"an early abort of a resharding", "abort", 97, func(f *mock.ServerBugs) { f.LosesEarlyAborts = true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const within = 2000
			for seed := tt.begin; seed < tt.begin+within; seed++ {
				s := draw(seed)
				tt.has(&s.Flaws)
				found := check(run(t, s))
				if slices.ContainsFunc(found, func(v trace.Violation) bool { return v.Rule == tt.rule }) {
					t.Logf("found by seed %d", seed)
					return
				}
			}
			t.Errorf("not found in %d seeds from %d on", within, tt.begin)
		})
	}
}
