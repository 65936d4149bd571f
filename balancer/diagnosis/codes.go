package diagnosis

import "shardsh/balancer/policy"

// Code identifies the kind of a finding. Codes are stable: scripts and checks may compare with them. An
// obstacle that keeps the balancer from a move has the same code in a finding and in a policy.Decision.
type Code = policy.Code

// The codes that decisions also have. Their meaning and remedy are in the table of package policy.
const (
	BalancerOff              = policy.BalancerOff
	WindowShut               = policy.WindowShut
	BalancingOff             = policy.BalancingOff
	MigrationsForbidden      = policy.MigrationsForbidden
	ChunkOperationsForbidden = policy.ChunkOperationsForbidden
	Resharding               = policy.Resharding
	ZoneWithoutShards        = policy.ZoneWithoutShards
	UnalignedZones           = policy.UnalignedZones
	NoSizeEntry              = policy.NoSizeEntry
	NoRecipient              = policy.NoRecipient
	ShardAtMaxSize           = policy.ShardAtMaxSize
	NoRoom                   = policy.NoRoom
	LargestOutsideZone       = policy.LargestOutsideZone
	OnlyJumboChunks          = policy.OnlyJumboChunks
	BelowThreshold           = policy.BelowThreshold
	NoChunkInZone            = policy.NoChunkInZone
)

// The codes that only findings have. Definitions describes them.
const (
	ConfigUnreachable  Code = "configUnreachable"
	SettingsUnreadable Code = "settingsUnreadable"
	ShardUnreachable   Code = "shardUnreachable"
	ShardSlow          Code = "shardSlow"
	NotRead            Code = "notRead"

	DuplicateMachineIDs Code = "duplicateMachineIds"

	WindowTimeZoneUnknown Code = "windowZoneUnknown"

	RoundsFailing     Code = "roundsFailing"
	MigrationsFailing Code = "migrationsFailing"
	MigrationUnderWay Code = "migrationUnderWay"

	RunsPaused          Code = "runsPaused"
	VersionChanging     Code = "versionChanging"
	LeftPaused          Code = "leftPaused"
	PausedByRun         Code = "pausedByRun"
	NotBalancedPaused   Code = "notBalancedPaused"
	NotBalanced         Code = "notBalanced"
	NotBalancedDisabled Code = "notBalancedHeld"
	BalanceUnknown      Code = "balanceUnknown"
	Defragmenting       Code = "defragmenting"
	DefragmentationIdle Code = "defragmentationIdle"
	JumboChunks         Code = "jumboChunks"

	ShardKeyIndexMissing Code = "shardKeyIndexMissing"

	Orphans Code = "orphans"

	ZoneDraining      Code = "zoneDraining"
	ZoneRangesOverlap Code = "zoneRangesOverlap"
	ZoneEndsEarly     Code = "zoneEndsEarly"
	ZoneWithoutRanges Code = "zoneWithoutRanges"
	ZoneWithoutData   Code = "zoneWithoutData"

	Draining           Code = "draining"
	DrainNeedsOperator Code = "drainNeedsOperator"
	DrainComplete      Code = "drainComplete"

	MoveWaitsForDeletion Code = "pendingDeletion"
	CountsUneven         Code = "countsUneven"
	BalancesByCount      Code = "balancesByCount"
	UnshardedData        Code = "unshardedData"
	MixedVersions        Code = "mixedVersions"
	KnownFault           Code = "knownFault"

	// Codes of load findings (heat).
	HotShard     Code = "hotShard"
	HotChunk     Code = "hotChunk"
	HotKey       Code = "hotKey"
	MonotonicKey Code = "monotonicKey"
	Scatter      Code = "scatter"

	PlanLimited Code = "planLimited"
	PlanStuck   Code = "planStuck"

	// Codes of preflight findings, which say what blocks a run.
	NoPlan                Code = "noPlan"
	LastShard             Code = "lastShard"
	OnlyShardOfZone       Code = "onlyShardOfZone"
	ConfigShardLeaves     Code = "configShardLeaves"
	ChunkUnmovable        Code = "chunkUnmovable"
	RecipientIndexMissing Code = "recipientIndexMissing"
	BalancerActive        Code = "balancerWorks"
	LeaseHeld             Code = "leaseHeld"
	Quiesced              Code = "quiesced"
	PrivilegeMissing      Code = "privilegeMissing"
	LittleRoom            Code = "littleRoom"
)

// Definition says what a code means and how to fix it. A finding can be milder than its definition,
// never more severe.
type Definition struct {
	Code     Code
	Severity Severity
	Actor    Actor
	Meaning  string
	Remedy   string
}

// Definitions returns the definitions of all codes, the most severe first and then in the order in
// which Diagnose checks them.
func Definitions() []Definition {
	return []Definition{
		{ConfigUnreachable, Critical, Operator,
			"The config server does not answer: the metadata cannot be read, and nothing is balanced.",
			"Restore a majority of its members."},
		{SettingsUnreadable, Critical, Operator,
			"A document of config.settings is invalid, so the balancer skips its rounds.",
			"Correct the setting that the finding names."},
		{ShardUnreachable, Critical, Operator,
			"A shard did not answer.",
			"Restore it; until then no data moves from or to it."},
		{KnownFault, Critical, Operator,
			"The servers' version has a known fault that concerns this cluster, or what a run is about to do. It is " +
				"critical if data can be lost, exposed or wrong, a warning if something hangs or is not done, else info.",
			"Upgrade to the patch that the finding names; until then do what it says."},

		{ShardSlow, Warning, Operator,
			"A shard takes 250 ms or more to answer the router: rounds and migrations are slow and may fail.",
			"Check the shard's primary, its load, and the network to it."},
		{DuplicateMachineIDs, Warning, Balancer,
			"Two shards generate ObjectIds with the same machine id, and the round failed.",
			"No action needed: the balancer has changed both ids and continues in its next round."},
		policyDefinition(BalancerOff, Warning, Operator),
		{RoundsFailing, Warning, Operator,
			"Some of the last five balancer rounds ended with an error.",
			"Fix the cause that the error names; the next round runs in any case."},
		{MigrationsFailing, Warning, Operator,
			"Migrations between two shards failed in the last ten minutes.",
			"Fix the cause that the error names; the balancer retries in its next rounds."},
		{LeftPaused, Warning, Operator,
			"A run of shardsh has disabled the balancing of collections, and ended without enabling it again.",
			"Run shardsh balance --give-back, or sh.balance({ giveBack: true })."},
		{NotBalancedDisabled, Warning, Operator,
			"A collection is not balanced, and balancing or migrations are disabled for it.",
			"Run sh.enableBalancing or sh.enableMigrations."},
		{BalanceUnknown, Warning, Operator,
			"It is unknown whether a collection is balanced.",
			"See the reason; balancerCollectionStatus requires the privilege enableSharding on it."},
		{JumboChunks, Warning, Operator,
			"Chunks are flagged jumbo, and the balancer does not move them.",
			"Split them, clear the flag, or refine the shard key."},
		{ShardKeyIndexMissing, Warning, Operator,
			"A shard has no index on a collection's shard key, so no chunk can move off it. Since 8.0 the balancer " +
				"disables balancing of a collection whose hashed shard key has lost its index.",
			"Create the index, then run sh.enableBalancing."},
		policyDefinition(ZoneWithoutShards, Warning, Operator),
		{ZoneDraining, Warning, Operator,
			"All shards of a zone are draining, so no shard can receive its chunks.",
			"Add another shard with sh.addShardToZone."},
		{ZoneRangesOverlap, Warning, Operator,
			"Two zone ranges of a collection overlap, so the balancer skips it.",
			"Remove one of the ranges with sh.removeRangeFromZone."},
		{ZoneEndsEarly, Warning, Operator,
			"A zone range ends at MaxKey in the first fields of the shard key and at MinKey in the others: documents with " +
				"MaxKey there are outside. That is how servers completed { x: MaxKey }; config servers of 9.0 look for it, too.",
			"Assign the range again, up to MaxKey in all fields."},
		policyDefinition(UnalignedZones, Warning, Balancer),
		policyDefinition(NoSizeEntry, Warning, Operator),
		policyDefinition(NoRecipient, Warning, Operator),
		policyDefinition(OnlyJumboChunks, Warning, Operator),
		{DrainNeedsOperator, Warning, Operator,
			"A draining shard has databases or collections that the balancer does not move.",
			"Run sh.movePrimary, sh.moveCollection or sh.enableBalancing for each."},

		{HotShard, Warning, Operator,
			"A shard has a quarter more of a collection's load than the average. Only shardsh heat looks for it, " +
				"and for hotKey, hotChunk, monotonicKey and scatter.",
			"Move hot chunks: shardsh balance --goal load, or sh.balance with {goal: \"load\"}."},
		{HotKey, Warning, Operator,
			"One shard key has most of the load of its chunk, or more than a shard should have. No move or split helps.",
			"Spread it in the application (cache it, or add a suffix), or choose another shard key: shardsh advise."},
		{HotChunk, Warning, Operator,
			"A chunk has several times the load of the average one.",
			"Run shardsh balance --goal load, which splits it at the median of its load."},
		{MonotonicKey, Warning, Operator,
			"All inserts go to the chunk at one end of the shard key, so that one shard takes them; moving it moves them along.",
			"Choose a hashed key, or one that begins with another field: shardsh advise."},
		{PlanStuck, Warning, Operator,
			"A plan ends because the balancer would retry the same step without success.",
			"Fix the cause that the error names."},
		{NoPlan, Warning, Operator,
			"Preflight: no plan to the goal can be made.",
			"See the reason."},
		{LastShard, Warning, Operator,
			"Preflight: no other shard stays in the cluster that could take the data of the shard to drain.",
			"Add a shard with sh.addShard, or end the draining of another one."},
		{OnlyShardOfZone, Warning, Operator,
			"The shard to drain is the only one of a zone that has ranges; servers refuse to remove it.",
			"Add another shard to the zone with sh.addShardToZone, or remove its ranges."},
		{ChunkUnmovable, Warning, Operator,
			"Preflight: a chunk is too large to be moved, and can't be cut, as all of it has one shard key.",
			"Move it by force with --force-jumbo (forceJumbo), which blocks writes, or refine the shard key."},
		{RecipientIndexMissing, Warning, Operator,
			"Preflight: a shard that is to receive chunks has documents of the collection, and lacks an index of the donor.",
			"Create the index on all shards."},
		{BalancerActive, Warning, Operator,
			"Preflight: the cluster's own balancer works on the collections that a run is about, or may before it ends.",
			"Stop it, disable it for the collections, or use --pause-balancing (pauseBalancing)."},
		{LeaseHeld, Warning, Nobody,
			"Preflight: another run of shardsh is changing the cluster.",
			"Wait for its end."},
		{Quiesced, Warning, Operator,
			"Preflight: the cluster is kept quiet, as for a backup.",
			"Wait, or end it with shardsh quiesce --end."},
		{LittleRoom, Warning, Operator,
			"Preflight: a shard is to receive more than the volume of its primary has free, before compression.",
			"Free or add space, or move less with --max-bytes (maxBytes)."},
		policyDefinition(NoRoom, Warning, Operator),
		{PrivilegeMissing, Warning, Operator,
			"Preflight: the user lacks a privilege that a run needs.",
			"Grant the role shardshEngine; load(\"shardsh:roles.js\") creates it, or brings it up to date."},
		policyDefinition(WindowShut, Info, Balancer),
		{WindowTimeZoneUnknown, Info, Balancer,
			"The balancer has a window in the local time of the config servers' primary, whose time zone is unknown.",
			"Name the time zone with --time-zone (timeZone)."},
		{RunsPaused, Info, Nobody,
			"A user has paused all runs of shardsh: they wait before their next step.",
			"No action needed: the pause ends by itself. shardsh pause --end, or sh.pause({ end: true }), ends it before."},
		{VersionChanging, Info, Operator,
			"The feature compatibility version is being changed, or a change of it has failed: runs of shardsh wait.",
			"Wait, or run setFeatureCompatibilityVersion again."},
		{PausedByRun, Info, Nobody,
			"A run of shardsh that is running has disabled the balancing of collections.",
			"No action needed: the run enables it again at its end."},
		{NotBalancedPaused, Info, Nobody,
			"A collection is not balanced, and a run of shardsh that is running has disabled its balancing.",
			"No action needed: the run enables it again at its end."},
		{NotBalanced, Info, Balancer,
			"A collection is not balanced yet.",
			"The balancer moves its chunks by itself while it is on."},
		policyDefinition(BalancingOff, Info, Operator),
		policyDefinition(MigrationsForbidden, Info, Operator),
		policyDefinition(ChunkOperationsForbidden, Info, Operator),
		{Defragmenting, Info, Balancer,
			"A collection is being defragmented; it is balanced afterwards.",
			"Wait, or run sh.stopDefragment."},
		{DefragmentationIdle, Info, Balancer,
			"Defragmentation is requested, and the balancer has not started it.",
			"It starts in the next round if the balancer is on and its window is open."},
		{Orphans, Info, Balancer,
			"Shards have orphaned documents of chunks that moved away.",
			"No action needed: shards delete them orphanCleanupDelaySecs after the migration."},
		{ZoneWithoutRanges, Info, Nobody,
			"A zone has shards but no range, so it has no effect.",
			"Add a range with sh.updateZoneKeyRange, or remove the shards with sh.removeShardFromZone."},
		{ZoneWithoutData, Info, Nobody,
			"No document is in a range of a zone, so the range has no effect yet. A common mistake is a bound of another " +
				"BSON type than the keys.",
			"No action needed if its data is yet to come; otherwise remove it with sh.removeRangeFromZone."},
		{Draining, Info, Balancer,
			"A shard is draining.",
			"No action needed while the balancer is on."},
		{ConfigShardLeaves, Info, Nobody,
			"Preflight: a config server must delete its donated ranges before it can be removed as a shard.",
			"No action needed: the run waits for it."},
		{DrainComplete, Info, Operator,
			"A draining shard is empty.",
			"Remove it with sh.drain and {remove: true}."},
		{MigrationUnderWay, Info, Balancer, "A chunk is being moved.", "No action needed."},
		policyDefinition(Resharding, Info, Nobody),
		policyDefinition(ShardAtMaxSize, Info, Operator),
		policyDefinition(LargestOutsideZone, Info, Operator),
		policyDefinition(NoChunkInZone, Info, Operator),
		{MoveWaitsForDeletion, Info, Balancer,
			"A shard still has orphans of a range that would move to it.",
			"No action needed: it deletes them orphanCleanupDelaySecs after the migration."},
		policyDefinition(BelowThreshold, Info, Nobody),
		{CountsUneven, Info, Nobody,
			"Shards have equal data of a collection in different numbers of chunks. Since 6.0 that is balanced.",
			"No action needed; sh.defragment merges small chunks."},
		{BalancesByCount, Info, Nobody,
			"Shards have equal numbers of chunks of a collection with different data sizes. Before 6.0 that is balanced.",
			"Split the large chunks: sh.splitAt or sh.splitFind."},
		{UnshardedData, Info, Operator,
			"Shards differ in unsharded data, which the balancer neither counts nor moves.",
			"Move it with sh.moveCollection or sh.movePrimary, or shard it with sh.shardCollection."},
		{MixedVersions, Info, Operator,
			"Routers, config servers or shards of several versions are in use.",
			"Complete the upgrade."},
		{Scatter, Info, Operator,
			"Many queries name no value of the shard key and go to all shards; more shards do not make them cheaper.",
			"Name the shard key in the queries, or choose one that they name: shardsh advise."},
		{PlanLimited, Info, Operator,
			"A plan ends at a limit before its goal is reached.",
			"Make another plan after its steps, or raise the limit."},
		{NotRead, Info, Operator,
			"A part of the metadata could not be read; the rest is complete.",
			"See the reason."},
	}
}

// policyDefinition returns the definition of a code that decisions also have.
func policyDefinition(code Code, severity Severity, actor Actor) Definition {
	info := code.Info()
	return Definition{code, severity, actor, info.Meaning, info.Remedy}
}

// DefinitionOf returns what a code means; the zero Definition for an unknown code.
func DefinitionOf(code Code) Definition {
	for _, d := range Definitions() {
		if d.Code == code {
			return d
		}
	}
	return Definition{}
}

// NewFinding returns a finding for other packages, with the severity and the actor of its definition.
func NewFinding(code Code, scope Scope, sentence string, commands ...string) Finding {
	return finding(code, scope, sentence, commands...)
}

// finding returns a finding with the severity and the actor of its definition.
func finding(code Code, scope Scope, sentence string, commands ...string) Finding {
	d := DefinitionOf(code)
	return Finding{
		Code: code, Severity: d.Severity, Actor: d.Actor, Scope: scope, Sentence: sentence, Commands: commands,
	}
}
