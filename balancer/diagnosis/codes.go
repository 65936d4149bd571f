package diagnosis

// Code names what a finding says. Codes are stable: scripts and checks may
// compare with them.
type Code string

// The codes. Definitions has what they mean.
const (
	SettingsUnreadable Code = "settingsUnreadable"
	ShardUnreachable   Code = "shardUnreachable"
	NotRead            Code = "notRead"

	BalancerOff   Code = "balancerOff"
	WindowShut    Code = "windowShut"
	RoundsFailing Code = "roundsFailing"

	MigrationsFailing  Code = "migrationsFailing"
	MigrationUnderWay  Code = "migrationUnderWay"
	ReshardingUnderWay Code = "reshardingUnderWay"

	NotBalanced         Code = "notBalanced"
	NotBalancedHeld     Code = "notBalancedHeld"
	BalanceUnknown      Code = "balanceUnknown"
	BalancingDisabled   Code = "balancingDisabled"
	MigrationsForbidden Code = "migrationsForbidden"
	Defragmenting       Code = "defragmenting"
	DefragmentationIdle Code = "defragmentationIdle"
	JumboChunks         Code = "jumboChunks"
	Orphans             Code = "orphans"

	ZoneWithoutShards Code = "zoneWithoutShards"
	ZoneDraining      Code = "zoneDraining"
	ZoneRangesOverlap Code = "zoneRangesOverlap"
	ZoneWithoutRanges Code = "zoneWithoutRanges"

	Draining      Code = "draining"
	DrainForYou   Code = "drainForYou"
	DrainComplete Code = "drainComplete"
)

// Definition is what a code means and what is done about it. A finding can be
// milder than its definition, never graver.
type Definition struct {
	Code     Code
	Severity Severity
	Actor    Actor
	Meaning  string
	Remedy   string
}

// Definitions returns what all codes mean, the gravest first and then in the
// order in which Of looks for them.
func Definitions() []Definition {
	return []Definition{
		{SettingsUnreadable, Critical, Operator,
			"A document of config.settings cannot be read, so the balancer skips its rounds.",
			"Mend the setting that the finding names."},
		{ShardUnreachable, Critical, Operator,
			"A shard did not answer.",
			"Bring it back; until then no data moves from or to it."},

		{BalancerOff, Warning, Operator,
			"The balancer is switched off, or splits only; information while there is nothing to do.",
			"sh.startBalancer()"},
		{RoundsFailing, Warning, Operator,
			"Some of the last five rounds of the balancer ended with an error.",
			"The error says what to mend; the next round is tried in any case."},
		{MigrationsFailing, Warning, Operator,
			"Migrations between two shards failed in the last ten minutes.",
			"The error says what to mend; the balancer tries again in its next rounds."},
		{NotBalancedHeld, Warning, Operator,
			"A collection is not balanced, and the balancer may not touch it.",
			"sh.enableBalancing or sh.enableMigrations for it."},
		{BalanceUnknown, Warning, Operator,
			"Nobody could tell whether a collection is balanced.",
			"See the reason; a user needs the role clusterMonitor to ask."},
		{JumboChunks, Warning, Operator,
			"Chunks are flagged jumbo, and the balancer does not move them.",
			"Split them, or clear the flag, or refine the shard key."},
		{ZoneWithoutShards, Warning, Operator,
			"A zone has ranges and no shard, so their chunks stay where they are.",
			"sh.addShardToZone for one shard at least, or take the ranges out."},
		{ZoneDraining, Warning, Operator,
			"All shards of a zone are draining, so nobody can receive its chunks.",
			"sh.addShardToZone for another shard."},
		{ZoneRangesOverlap, Warning, Operator,
			"Two zone ranges of a collection overlap, so the balancer skips it.",
			"Take one of the ranges out with sh.removeRangeFromZone."},
		{DrainForYou, Warning, Operator,
			"A draining shard has databases or collections that the balancer does not move.",
			"sh.movePrimary, sh.moveCollection or sh.enableBalancing for each."},

		{WindowShut, Info, Balancer,
			"The balancer works in a window of time only, and now lies outside.",
			"Wait until it opens, or sh.clearBalancerWindow()."},
		{NotBalanced, Info, Balancer,
			"A collection is not balanced yet.",
			"The balancer moves its chunks by itself while it is on."},
		{BalancingDisabled, Info, Operator,
			"Balancing is switched off for a collection.",
			"sh.enableBalancing, if that is not wanted."},
		{MigrationsForbidden, Info, Operator,
			"All migrations of a collection are forbidden.",
			"sh.enableMigrations, if that is not wanted."},
		{Defragmenting, Info, Balancer,
			"A collection's small chunks are being merged, which goes before balancing it.",
			"Wait, or sh.stopDefragment."},
		{DefragmentationIdle, Info, Balancer,
			"A defragmentation was asked for, and the balancer has not taken it up.",
			"It does in its next round, if it is on and its window is open."},
		{Orphans, Info, Balancer,
			"Shards keep documents of chunks they gave away.",
			"Shards delete them by themselves, orphanCleanupDelaySecs after the migration."},
		{ZoneWithoutRanges, Info, Nobody,
			"A zone has shards and no range, so it has no effect.",
			"sh.updateZoneKeyRange, or sh.removeShardFromZone."},
		{Draining, Info, Balancer,
			"A shard is being emptied.",
			"Wait while the balancer is on."},
		{DrainComplete, Info, Operator,
			"A draining shard is empty.",
			"sh.drain with {remove: true} removes it."},
		{MigrationUnderWay, Info, Balancer, "A chunk is being moved.", "None is needed."},
		{ReshardingUnderWay, Info, Nobody,
			"A collection is being resharded, moved or unsharded as a whole; the balancer leaves it alone meanwhile.",
			"None is needed; sh.abortReshardCollection gives a resharding up."},
		{NotRead, Info, Operator,
			"The reader could not get a part of the picture; the rest is complete.",
			"See the reason."},
	}
}

// Define returns what a code means; the zero Definition for one that is none.
func Define(code Code) Definition {
	for _, d := range Definitions() {
		if d.Code == code {
			return d
		}
	}
	return Definition{}
}

// finding begins a finding with what its definition says.
func finding(code Code, scope Scope, sentence string, commands ...string) Finding {
	d := Define(code)
	return Finding{
		Code: code, Severity: d.Severity, Actor: d.Actor, Scope: scope, Sentence: sentence, Commands: commands,
	}
}
