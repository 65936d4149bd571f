package policy

import (
	"time"

	"shardsh/balancer/catalog"
)

// ReportDisabled reports whether a round chooses nothing, because the balancer is off or because the
// time is outside the window. now is in the time zone of the windows.
func ReportDisabled(s catalog.Settings, now time.Time, why *Report) bool {
	switch {
	case s.ShouldBalance(now):
		return false
	case s.Mode != catalog.ModeFull:
		why.Add(Decision{Code: BalancerOff})
	default:
		why.Add(Decision{Code: WindowShut})
	}
	return true
}

// ReportBlocked reports whether the flags of a collection prevent migrations of its chunks
// (rules/01-rounds-and-settings §2.8), by the flags that a release supports.
func ReportBlocked(c catalog.Collection, r catalog.Release, why *Report) bool {
	if c.BalanceableIn(r) {
		return false
	}
	if !why.WantsDecisions() {
		return true
	}
	for _, flag := range []struct {
		set  bool
		code Code
	}{
		{c.NoBalance, BalancingOff},
		{r.BalancesBySize() && c.Defragment, DefragmentingFirst},
		{c.Resharding, Resharding},
		{r.FCVAtLeast(catalog.Release50) && (!c.AllowMigrations || !c.PermitMigrations), MigrationsForbidden},
		{c.ForbidsChunkOperations(r), ChunkOperationsForbidden},
	} {
		if flag.set {
			why.Add(Decision{Code: flag.code, Namespace: c.Namespace})
		}
	}
	return true
}

// ExplainInput contains everything that decides whether chunks of one collection move now.
type ExplainInput struct {
	Collection catalog.Collection
	Settings   catalog.Settings
	Now        time.Time // in the time zone of the windows
	// Situation is the input of a round for the collection. Without sizes, rules that need sizes treat
	// all shards as not measured.
	Situation Situation
	// MovedLastRound is used by the rules before 6.0 (CountSituation).
	MovedLastRound bool
}

// Explain returns what prevents migrations of chunks of a collection, and which chunks would move if
// nothing did. The selection runs with every shard available, even while the balancer is off. It is a
// dry run of the policy of the settings' release.
func Explain(q ExplainInput) (*Report, error) {
	why, release := &Report{}, q.Settings.Release
	ReportDisabled(q.Settings, q.Now, why)
	ReportBlocked(q.Collection, release, why)
	if err := CheckAligned(q.Situation.Table, q.Situation.Zones); err != nil {
		why.Add(Decision{Code: UnalignedZones, Namespace: q.Collection.Namespace, Err: err})
		return why, nil //nolint:nilerr // that is the explanation
	}
	available := NewAvailableShards(q.Situation.Shards)
	if rules := RulesOf(release); rules != RulesDataSize {
		SelectByCount(CountSituation{Situation: q.Situation, Rules: rules, MovedLastRound: q.MovedLastRound}, available, why)
		return why, nil
	}
	_, _, err := SelectMigrations(q.Situation, available, why)
	return why, err
}
