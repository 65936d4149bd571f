package diagnosis

import "shardsh/balancer/policy"

// Code names what a finding says. Codes are stable: scripts and checks may
// compare with them. What keeps the balancer from choosing a move has the same
// code as a finding that it has in a policy.Decision.
type Code = policy.Code

// The codes that decisions have, too. Their meaning and remedy are in the table
// of policy.
const (
	BalancerOff         = policy.BalancerOff
	WindowShut          = policy.WindowShut
	BalancingOff        = policy.BalancingOff
	MigrationsForbidden = policy.MigrationsForbidden
	Resharding          = policy.Resharding
	ZoneWithoutShards   = policy.ZoneWithoutShards
	UnalignedZones      = policy.UnalignedZones
	NoSizeEntry         = policy.NoSizeEntry
	NoRecipient         = policy.NoRecipient
	ShardFull           = policy.ShardFull
	LargestOutsideZone  = policy.LargestOutsideZone
	OnlyJumboChunks     = policy.OnlyJumboChunks
	BelowThreshold      = policy.BelowThreshold
	NoChunkInZone       = policy.NoChunkInZone
)

// The codes of findings alone. Definitions has what they mean.
const (
	ConfigUnreachable  Code = "configUnreachable"
	SettingsUnreadable Code = "settingsUnreadable"
	ShardUnreachable   Code = "shardUnreachable"
	ShardSlow          Code = "shardSlow"
	NotRead            Code = "notRead"

	DuplicateMachineIDs Code = "duplicateMachineIds"

	RoundsFailing     Code = "roundsFailing"
	MigrationsFailing Code = "migrationsFailing"
	MigrationUnderWay Code = "migrationUnderWay"

	NotBalanced         Code = "notBalanced"
	NotBalancedHeld     Code = "notBalancedHeld"
	BalanceUnknown      Code = "balanceUnknown"
	Defragmenting       Code = "defragmenting"
	DefragmentationIdle Code = "defragmentationIdle"
	JumboChunks         Code = "jumboChunks"

	ShardKeyIndexMissing Code = "shardKeyIndexMissing"

	Orphans Code = "orphans"

	ZoneDraining      Code = "zoneDraining"
	ZoneRangesOverlap Code = "zoneRangesOverlap"
	ZoneWithoutRanges Code = "zoneWithoutRanges"
	ZoneWithoutData   Code = "zoneWithoutData"

	Draining           Code = "draining"
	DrainNeedsOperator Code = "drainNeedsOperator"
	DrainComplete      Code = "drainComplete"

	PendingDeletion Code = "pendingDeletion"
	CountsUneven    Code = "countsUneven"
	BalancesByCount Code = "balancesByCount"
	UnshardedData   Code = "unshardedData"
	MixedVersions   Code = "mixedVersions"

	PlanLimited Code = "planLimited"
	PlanStuck   Code = "planStuck"
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
		{ConfigUnreachable, Critical, Operator,
			"The config server did not answer: nothing is known of the cluster's metadata, and nothing is balanced.",
			"Bring a majority of its members back."},
		{SettingsUnreadable, Critical, Operator,
			"A document of config.settings cannot be read, so the balancer skips its rounds.",
			"Correct the setting that the finding names."},
		{ShardUnreachable, Critical, Operator,
			"A shard did not answer.",
			"Bring it back; until then no data moves from or to it."},

		{ShardSlow, Warning, Operator,
			"A shard takes a quarter of a second or more to answer the router: rounds and migrations take long, and fail.",
			"Look at the shard's primary, its load, and the network to it."},
		{DuplicateMachineIDs, Warning, Balancer,
			"Two shards put the same number into the ObjectIds they make, and the round failed.",
			"No action needed: the balancer gave both another number, and continues in its next round."},
		ofPolicy(BalancerOff, Warning, Operator),
		{RoundsFailing, Warning, Operator,
			"Some of the last five rounds of the balancer ended with an error.",
			"Fix what the error says; the next round runs in any case."},
		{MigrationsFailing, Warning, Operator,
			"Migrations between two shards failed in the last ten minutes.",
			"Fix what the error says; the balancer tries again in its next rounds."},
		{NotBalancedHeld, Warning, Operator,
			"A collection is not balanced, and balancing or migrations are disabled for it.",
			"sh.enableBalancing or sh.enableMigrations for it."},
		{BalanceUnknown, Warning, Operator,
			"It is unknown whether a collection is balanced.",
			"See the reason; asking needs the privilege enableSharding on it."},
		{JumboChunks, Warning, Operator,
			"Chunks are flagged jumbo, and the balancer does not move them.",
			"Split them, or clear the flag, or refine the shard key."},
		{ShardKeyIndexMissing, Warning, Operator,
			"A shard has no index for a collection's shard key, so nothing can be moved off it. From 8.0 on the balancer " +
				"switches a collection off whose hashed key has lost its index.",
			"Create the index, then sh.enableBalancing for it."},
		ofPolicy(ZoneWithoutShards, Warning, Operator),
		{ZoneDraining, Warning, Operator,
			"All shards of a zone are draining, so nobody can receive its chunks.",
			"sh.addShardToZone for another shard."},
		{ZoneRangesOverlap, Warning, Operator,
			"Two zone ranges of a collection overlap, so the balancer skips it.",
			"Take one of the ranges out with sh.removeRangeFromZone."},
		ofPolicy(UnalignedZones, Warning, Operator),
		ofPolicy(NoSizeEntry, Warning, Operator),
		ofPolicy(NoRecipient, Warning, Operator),
		ofPolicy(OnlyJumboChunks, Warning, Operator),
		{DrainNeedsOperator, Warning, Operator,
			"A draining shard has databases or collections that the balancer does not move.",
			"sh.movePrimary, sh.moveCollection or sh.enableBalancing for each."},

		{PlanStuck, Warning, Operator,
			"A plan ends because the balancer would try the same again and again without success.",
			"Fix what the error says."},
		ofPolicy(WindowShut, Info, Balancer),
		{NotBalanced, Info, Balancer,
			"A collection is not balanced yet.",
			"The balancer moves its chunks by itself while it is on."},
		ofPolicy(BalancingOff, Info, Operator),
		ofPolicy(MigrationsForbidden, Info, Operator),
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
		{ZoneWithoutData, Info, Nobody,
			"No document has a shard key in a range of a zone, so the range has no effect yet. A bound of another type than " +
				"the keys have is a common mistake.",
			"Nothing, if its data is still to come; else sh.removeRangeFromZone."},
		{Draining, Info, Balancer,
			"A shard is being emptied.",
			"Wait while the balancer is on."},
		{DrainComplete, Info, Operator,
			"A draining shard is empty.",
			"sh.drain with {remove: true} removes it."},
		{MigrationUnderWay, Info, Balancer, "A chunk is being moved.", "No action needed."},
		ofPolicy(Resharding, Info, Nobody),
		ofPolicy(ShardFull, Info, Operator),
		ofPolicy(LargestOutsideZone, Info, Operator),
		ofPolicy(NoChunkInZone, Info, Operator),
		{PendingDeletion, Info, Balancer,
			"A recipient has orphans of a range that would move to it.",
			"No action needed: it deletes them orphanCleanupDelaySecs after the migration."},
		ofPolicy(BelowThreshold, Info, Nobody),
		{CountsUneven, Info, Nobody,
			"Shards have the same bytes of a collection in different numbers of chunks. Since 6.0 that is balanced.",
			"No action needed; sh.defragment merges small chunks."},
		{BalancesByCount, Info, Nobody,
			"Shards have as many chunks of a collection, with different bytes in them. Before 6.0 that is balanced.",
			"Split the large chunks: sh.splitAt or sh.splitFind."},
		{UnshardedData, Info, Operator,
			"Shards differ by data that is not sharded. The balancer doesn't count it, and leaves it where it is.",
			"sh.moveCollection or sh.movePrimary moves it, sh.shardCollection has it balanced."},
		{MixedVersions, Info, Operator,
			"Routers or shards of several releases are in use.",
			"Complete the upgrade."},
		{PlanLimited, Info, Operator,
			"A plan ends at a limit before its goal is reached.",
			"Make another one when its steps are done, or raise the limit."},
		{NotRead, Info, Operator,
			"A part of the metadata could not be read; the rest is complete.",
			"See the reason."},
	}
}

// ofPolicy returns the definition of a code that decisions have, too.
func ofPolicy(code Code, severity Severity, actor Actor) Definition {
	info := code.Info()
	return Definition{code, severity, actor, info.Meaning, info.Remedy}
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

// NewFinding begins a finding that others than this package found, with what its
// definition says.
func NewFinding(code Code, scope Scope, sentence string, commands ...string) Finding {
	return finding(code, scope, sentence, commands...)
}

// finding begins a finding with what its definition says.
func finding(code Code, scope Scope, sentence string, commands ...string) Finding {
	d := Define(code)
	return Finding{
		Code: code, Severity: d.Severity, Actor: d.Actor, Scope: scope, Sentence: sentence, Commands: commands,
	}
}
