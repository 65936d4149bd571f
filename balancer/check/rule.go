package check

import (
	"slices"

	"shardsh/balancer/diagnosis"
)

// Rule is a check of a cluster. Names are stable.
type Rule struct {
	Name        string
	Description string // the condition that has to hold, in a few words
	// Severity is the severity of the rule's findings, unless a policy sets another one.
	Severity diagnosis.Severity
	// Max is the default threshold; its unit is one of
	// the Units. A rule without units has no threshold.
	Max   Quantity
	Units []diagnosis.Unit
	// Default rules are enabled unless a policy says otherwise.
	Default bool
	Needs   Need

	check func(*ruleRun)
}

// Need is a set of data that rules need from a cluster.
type Need uint

// The needs. The cost of all but Tables grows with the number of collections and shards, but not with
// the number of chunks.
const (
	BalanceStatuses    Need = 1 << iota // whether each collection is balanced, according to the server
	ChunkCounts                         // chunks by shard
	Sizes                               // data by shard
	BalancerSwitches                    // when the balancer was turned on or off
	Rounds                              // the newest balancer rounds
	MigrationOutcomes                   // how migrations ended
	Zones                               // ranges of zones
	Drains                              // remaining data on draining shards
	RunningReshardings                  // which collections are being resharded
	Routers                             // config.mongos
	Reachability                        // which shards answer
	Leases                              // the lease of a shardsh run
	Disks                               // disk volumes of the shards
	AdvisoryData                        // data that known server bugs depend on
	Metadata                            // checkMetadataConsistency
	Audits                              // samples of the documents, on each shard
	Tables                              // every chunk, with sizes and logs: the whole Snapshot
)

// Has reports whether n contains all of other.
func (n Need) Has(other Need) bool { return n&other == other }

// Rules returns all rules in the order in which they are evaluated.
func Rules() []Rule {
	counts, spans := []diagnosis.Unit{diagnosis.Count}, []diagnosis.Unit{diagnosis.Seconds}
	return []Rule{
		{"shards", "every shard answers", diagnosis.Critical,
			Quantity{}, nil, true, Reachability, (*ruleRun).checkShards},
		{"balancer", "how long the balancer may be off", diagnosis.Warning,
			Quantity{3600, diagnosis.Seconds}, spans, true, BalancerSwitches, (*ruleRun).checkBalancer},
		{"rounds", "rounds that may fail of the last five", diagnosis.Warning,
			countQuantity(0), counts, true, Rounds, (*ruleRun).checkRounds},
		{"moves", "migrations that may fail from one shard to another", diagnosis.Warning,
			countQuantity(0), counts, true, MigrationOutcomes, (*ruleRun).checkMoves},
		{"compliant", "every collection is balanced", diagnosis.Warning,
			Quantity{}, nil, true, BalanceStatuses, (*ruleRun).checkCompliant},
		{"draining", "no draining is stuck", diagnosis.Warning,
			Quantity{}, nil, true, Drains | ChunkCounts | Zones, (*ruleRun).checkDraining},
		{"zones", "every zone with ranges has a shard for their chunks, and no range ends early by mistake",
			diagnosis.Warning, Quantity{}, nil, true, Zones, (*ruleRun).checkZones},
		{"jumbo", "jumbo chunks that a collection may have", diagnosis.Warning,
			countQuantity(0), counts, true, ChunkCounts, (*ruleRun).checkJumbo},
		{"paused", "no run of shardsh that has ended left balancing disabled", diagnosis.Warning,
			Quantity{}, nil, true, Leases, (*ruleRun).checkPaused},
		{"versions", "all routers, and all members that can be reached, run the same version", diagnosis.Warning,
			Quantity{}, nil, true, Routers, (*ruleRun).checkVersions},
		{"advisories", "no known fault of the servers concerns the cluster", diagnosis.Critical,
			Quantity{}, nil, false, AdvisoryData, (*ruleRun).checkAdvisories},
		{"orphans", "orphaned documents that a collection may have", diagnosis.Warning,
			countQuantity(100_000), counts, false, Sizes, (*ruleRun).checkOrphans},
		{"disk", "how full the volume of a shard may be", diagnosis.Warning,
			Quantity{85, Percent}, []diagnosis.Unit{Percent}, false, Disks, (*ruleRun).checkDisk},
		{"deletions", "orphaned documents that a shard may have to delete", diagnosis.Warning,
			countQuantity(1_000_000), counts, false, Sizes, (*ruleRun).checkPendingOrphans},
		{"uneven", "how far a shard may be from its fair share", diagnosis.Warning,
			Quantity{20, Percent}, []diagnosis.Unit{Percent, diagnosis.Bytes}, false, Sizes | Zones,
			(*ruleRun).checkUneven},
		{"fragmentation", "chunks that may be more than their data need", diagnosis.Warning,
			Quantity{50, Percent}, []diagnosis.Unit{Percent}, false, Sizes | ChunkCounts | Zones, (*ruleRun).checkFragmentation},
		{"chunks", "chunks that a shard may have", diagnosis.Warning,
			countQuantity(100_000), counts, false, ChunkCounts, (*ruleRun).checkChunks},
		{"window", "how long the balancer may need in its window", diagnosis.Warning,
			Quantity{7 * 24 * 3600, diagnosis.Seconds}, spans, false, Tables, (*ruleRun).checkWindow},
		{"metadata", "checkMetadataConsistency finds nothing", diagnosis.Critical,
			countQuantity(0), counts, false, Metadata, (*ruleRun).checkMetadata},
		{"audit", "documents, indexes or chunks that may be where they should not, by a sample of the documents",
			diagnosis.Critical, countQuantity(0), counts, false, Audits, (*ruleRun).checkAudit},
		{collectionsRule, "there is a sharded collection to check", diagnosis.Critical,
			Quantity{}, nil, false, 0, (*ruleRun).checkCollections},
	}
}

// RuleNames returns the names of all rules.
func RuleNames() (list []string) {
	for _, r := range Rules() {
		list = append(list, r.Name)
	}
	return list
}

func ruleIndex(name string) int {
	return slices.IndexFunc(Rules(), func(r Rule) bool { return r.Name == name })
}
