package policy

import (
	"fmt"

	"shardsh/balancer/humanize"
)

// The variables in this file are the table of codes. It is the only place where a code is explained:
// sentences, docs/codes.md and the tests are generated from it.

const noActionNeeded = "No action needed."

var chosenCodes = []CodeInfo{
	{ChosenDrain, SubjectChunk, true,
		"The shard is draining: one chunk at a time moves to the shard of its zone with the least data.",
		noActionNeeded,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s is draining: its chunk at %s moves to %s, the least loaded shard%s (%s).",
				d.Shard, d.Min, d.Recipient, d.ofZoneText(), d.recipientText())
		}},
	{ChosenZoneViolation, SubjectChunk, true,
		"The chunk is on a shard outside its zone, and moves to the shard of the zone with the least data.",
		noActionNeeded,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s is not in %s: its chunk at %s moves to %s, the least loaded shard%s (%s).",
				d.Shard, d.zoneText(), d.Min, d.Recipient, d.ofZoneText(), d.recipientText())
		}},
	{ChosenImbalance, SubjectChunk, true,
		"The largest and the smallest shard of the zone differ by the threshold or more: 3 chunk sizes since " +
			"6.0, a number of chunks before.",
		noActionNeeded,
		func(d Decision) string {
			if n := d.Numbers; n.Unit == UnitChunks && n.Ideal > 0 {
				return d.zoneSentence("Shard %s has %s, %d above the ideal of %d, and %s has %s: the chunk at %s moves.",
					d.Shard, d.donorText(), n.Donor-n.Ideal, n.Ideal, d.Recipient, d.recipientText(), d.Min)
			}
			return d.zoneSentence("Shard %s has %s and %s has %s, a difference of %s (threshold %s): the chunk at %s moves.",
				d.Shard, d.donorText(), d.Recipient, d.recipientText(), d.differenceText(), d.thresholdText(), d.Min)
		}},
	{ChosenDefragmentation, SubjectChunk, true,
		"Defragmentation: a small chunk moves to its neighbour's shard, to be merged.",
		noActionNeeded,
		func(d Decision) string {
			return fmt.Sprintf("The small chunk at %s on %s moves to %s, to be merged with its neighbour.",
				d.Min, d.Shard, d.Recipient)
		}},
	{ChosenUnsharded, SubjectCollection, true,
		"An unsharded collection moves. That happens only with the server's fail point for random migrations.",
		"Switch the fail point balancerShouldReturnRandomMigrations off.",
		func(d Decision) string {
			return fmt.Sprintf("The whole collection moves from %s to %s at random.", d.Shard, d.Recipient)
		}},
	{ChosenAtRandom, SubjectChunk, true,
		"A chunk moves at random, by the server's fail point for random migrations.",
		"Switch the fail point balancerShouldReturnRandomMigrations off.",
		func(d Decision) string {
			return fmt.Sprintf("The chunk at %s moves from %s to %s at random.", d.Min, d.Shard, d.Recipient)
		}},
}

// roundCodes are the codes that concern the cluster or collections.
var roundCodes = []CodeInfo{
	{BalancerOff, SubjectCluster, false,
		"The balancer is off: nothing moves, not even off draining shards.",
		"sh.startBalancer()",
		func(Decision) string { return "The balancer is off." }},
	{WindowShut, SubjectCluster, false,
		"The time is outside the balancing window, in the time zone of the config server's primary.",
		"Wait for the window, or change it: sh.balancerWindow(start, stop).",
		func(Decision) string { return "It is outside the balancing window." }},
	{RoundLocked, SubjectCluster, false,
		"Before 3.4 each mongos has a balancer, and another mongos holds the lock of the round.",
		"No action, unless the holder in config.locks is gone.",
		func(Decision) string { return "Another mongos holds the lock of the round." }},
	{Throttled, SubjectCluster, false,
		"The migrations of the round wait for the throttle after the last ones.",
		"Lower the server parameter balancerMigrationsThrottlingMs of the config server.",
		func(d Decision) string {
			return fmt.Sprintf("The migrations of the round wait for %s.", humanize.Duration(d.Wait))
		}},
	{BalancingOff, SubjectCollection, false,
		"Balancing is disabled for the collection (noBalance).",
		"sh.enableBalancing(namespace)",
		func(d Decision) string { return fmt.Sprintf("Balancing is switched off for %s.", d.Namespace) }},
	{MigrationsForbidden, SubjectCollection, false,
		"All migrations of the collection are forbidden, by an operation such as a resharding or " +
			"refineCollectionShardKey, or by setAllowMigrations.",
		"Let the operation end; after setAllowMigrations: db.adminCommand({ setAllowMigrations: namespace, " +
			"allowMigrations: true }).",
		func(d Decision) string { return fmt.Sprintf("Migrations of %s are forbidden.", d.Namespace) }},
	{ChunkOperationsForbidden, SubjectCollection, false,
		"Splits, merges and migrations of the collection are forbidden by the server itself " +
			"(allowChunkOperations, from 9.0).",
		"Wait: the operation that forbade them allows them again at its end. If it stays, contact MongoDB.",
		func(d Decision) string {
			return fmt.Sprintf("Splits, merges and migrations of %s are forbidden.", d.Namespace)
		}},
	{Resharding, SubjectCollection, false,
		"The collection is being resharded. Its chunks do not move meanwhile.",
		"Wait for the resharding, or db.adminCommand({ abortReshardCollection: namespace }).",
		func(d Decision) string { return fmt.Sprintf("Collection %s is being resharded.", d.Namespace) }},
	{DefragmentingFirst, SubjectCollection, false,
		"The collection is being defragmented: until then it is not balanced, and its shards do not drain.",
		"Wait for it, or db.adminCommand({ configureCollectionBalancing: namespace, defragmentCollection: false }).",
		func(d Decision) string { return fmt.Sprintf("Collection %s is being defragmented.", d.Namespace) }},
	{UnalignedZones, SubjectCollection, false,
		"A zone boundary is inside a chunk. Nothing of the collection moves before the chunk is split, which " +
			"the balancer tries in each round.",
		"If it stays: sh.splitAt(namespace, boundary), and find out why the balancer's split fails.",
		func(d Decision) string {
			return fmt.Sprintf("The zones of %s do not fit its chunks: %v.", d.Namespace, d.Err)
		}},
	{SelectionTimedOut, SubjectCollection, false,
		"The round's time was over before the sizes of the collection were read.",
		"No action: the order changes each round. The limit is balancerChunksSelectionTimeoutMs.",
		func(d Decision) string {
			return fmt.Sprintf("The round's time was over before the sizes of %s were read.", d.Namespace)
		}},
	{CollectionGone, SubjectCollection, false,
		"The collection was dropped during the round.",
		noActionNeeded,
		func(d Decision) string { return fmt.Sprintf("Collection %s is gone.", d.Namespace) }},
	{NotReadable, SubjectCollection, false,
		"The collection's entries in the catalog are unreadable or inconsistent.",
		"Check the error, and the entries in config.collections, config.chunks and config.tags.",
		func(d Decision) string { return fmt.Sprintf("Collection %s is left out: %v.", d.Namespace, d.Err) }},
	{TooFewShards, SubjectCollection, false,
		"Fewer than two shards are left without a migration in this round.",
		noActionNeeded,
		func(d Decision) string {
			return fmt.Sprintf("A migration needs 2 free shards; this round has %d left.", d.Count)
		}},
	{OneMigrationPerRound, SubjectCollection, false,
		"Before 3.4 a collection has one migration a round, and this round's is chosen.",
		noActionNeeded,
		func(d Decision) string {
			return fmt.Sprintf("Collection %s already has its one migration of this round.", d.Namespace)
		}},
}

var shardCodes = []CodeInfo{
	{ShardBusy, SubjectShard, false,
		"The shard takes part in another migration of this round.",
		noActionNeeded,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s already takes part in a migration of this round.", d.Shard)
		}},
	{ShardAtMaxSize, SubjectShard, false,
		"The shard has reached its maxSize (before 6.0), and receives nothing.",
		"Raise or remove maxSize of the shard in config.shards.",
		func(d Decision) string { return fmt.Sprintf("Shard %s has reached its maxSize.", d.Shard) }},
	{NoSizeEntry, SubjectShard, false,
		"The shard reported no size for the collection: it receives nothing, and gives only what drains or " +
			"is outside its zone.",
		"Check that the config server can reach the shard.",
		func(d Decision) string { return fmt.Sprintf("Shard %s reported no size for the collection.", d.Shard) }},
	{NothingToDrain, SubjectShard, false,
		"The draining shard owns no chunk of the collection any more.",
		noActionNeeded,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s is draining but owns no chunk of the collection.", d.Shard)
		}},
}

var zoneCodes = []CodeInfo{
	{NoRoom, SubjectZone, false,
		"No shard that may receive a chunk has room for it below the disk limit of the plan or run. No balancer of a " +
			"cluster asks for that.",
		"Wait for the deletion of what has moved, add a shard, enlarge a volume, or raise --disk-limit (diskLimit).",
		func(d Decision) string {
			return fmt.Sprintf("No shard has room below the disk limit for a chunk%s of %s.", d.ofZoneText(), d.Shard)
		}},
	{NoRecipient, SubjectZone, false,
		"No shard can receive chunks of the zone: each is outside it, full, draining, of unknown size or busy.",
		"Add another shard to the zone: sh.addShardToZone(shard, zone).",
		func(d Decision) string {
			return fmt.Sprintf("No shard can receive chunks%s: %s.", d.ofZoneText(), d.Ineligible)
		}},
	{ZoneWithoutShards, SubjectZone, false,
		"The zone has ranges but no shard with a known size. Its chunks do not move.",
		"sh.addShardToZone(shard, zone), or remove its ranges: sh.removeRangeFromZone(namespace, min, max).",
		func(d Decision) string {
			return fmt.Sprintf("Zone %s has ranges but no shard with a known size.", d.Zone)
		}},
	{NoData, SubjectZone, false,
		"The zone's shards have no data of the collection.",
		noActionNeeded,
		func(d Decision) string {
			return fmt.Sprintf("The shards%s have no data of the collection.", d.ofZoneText())
		}},
	{NoDonor, SubjectZone, false,
		"No available shard can give chunks of the zone.",
		noActionNeeded,
		func(d Decision) string {
			if d.Numbers.Unit == UnitChunks {
				return fmt.Sprintf("No available shard has chunks%s.", d.ofZoneText())
			}
			return fmt.Sprintf("No available shard with a known size can give chunks%s.", d.ofZoneText())
		}},
	{DonorIsRecipient, SubjectZone, false,
		"One shard is both the largest and the smallest available shard of the zone.",
		"No action, unless the zone should have more shards: sh.addShardToZone(shard, zone).",
		func(d Decision) string {
			if d.Numbers.Unit == UnitChunks {
				return fmt.Sprintf("Only shard %s (%s) can give or receive chunks%s.", d.Shard, d.donorText(), d.ofZoneText())
			}
			return d.zoneSentence("Shard %s (%s) is both the largest and the smallest available shard.", d.Shard, d.donorText())
		}},
	{DonorAtIdeal, SubjectZone, false,
		"The largest available shard is not above the ideal.",
		noActionNeeded,
		func(d Decision) string {
			return d.zoneSentence("%s, %s, has %s, not above the ideal of %s.",
				d.largestText(), d.Shard, d.donorText(), d.idealText())
		}},
	{DonorNearIdeal, SubjectZone, false,
		"The shard with the most chunks is above the ideal by less than the threshold.",
		noActionNeeded,
		func(d Decision) string {
			n := d.Numbers
			return d.zoneSentence("%s, %s, has %s, %d above the ideal of %d (threshold %d).",
				d.largestText(), d.Shard, d.donorText(), n.Donor-n.Ideal, n.Ideal, n.Threshold)
		}},
	{RecipientAtIdeal, SubjectZone, false,
		"The smallest available shard is not below the ideal.",
		noActionNeeded,
		func(d Decision) string {
			return d.zoneSentence("The smallest available shard, %s, has %s, not below the ideal of %s.",
				d.Recipient, d.recipientText(), d.idealText())
		}},
	{BelowThreshold, SubjectZone, false,
		"The shards differ by less than the threshold (3 chunk sizes since 6.0): the collection is balanced.",
		"A smaller chunk size lowers the threshold: sh.chunkSize(namespace, MiB).",
		func(d Decision) string {
			return d.zoneSentence("Shard %s has %s and %s has %s, a difference of %s, below the threshold of %s.",
				d.Shard, d.donorText(), d.Recipient, d.recipientText(), d.differenceText(), d.thresholdText())
		}},
	{OnlyJumboChunks, SubjectZone, false,
		"All chunks of the zone on the largest available shard are jumbo.",
		"Split them, which removes the flag, or db.adminCommand({ clearJumboFlag: namespace, find: key }); a " +
			"jumbo chunk of one key needs a better shard key.",
		func(d Decision) string {
			if d.Count == 1 {
				return fmt.Sprintf("The only chunk%s on %s is jumbo.", d.ofZoneText(), d.Shard)
			}
			return fmt.Sprintf("All %s%s on %s are jumbo.", humanize.Count(d.Count, "chunk"), d.ofZoneText(), d.Shard)
		}},
	{LargestOutsideZone, SubjectZone, false,
		"The largest available shard is outside the zone, and no other may give chunks before it.",
		"Balance the other zones first.",
		func(d Decision) string {
			return fmt.Sprintf("The largest available shard, %s (%s), is not in %s, and no other may give chunks before it.",
				d.Shard, d.donorText(), d.zoneText())
		}},
	{NoChunkInZone, SubjectZone, false,
		"The largest available shard has no chunk of the zone, and no other may give chunks before it.",
		"Balance the other zones first.",
		func(d Decision) string {
			return fmt.Sprintf("The largest available shard, %s (%s), has no chunk of %s, and no other may give chunks "+
				"before it.", d.Shard, d.donorText(), d.zoneText())
		}},
}

var chunkCodes = []CodeInfo{
	{JumboFlag, SubjectChunk, false,
		"The chunk was too large to move and could not be split. The balancer never moves it, not even off a " +
			"draining shard.",
		"Split it, which removes the flag, or db.adminCommand({ clearJumboFlag: namespace, find: key }); " +
			"sh.moveRange with forceJumbo moves it.",
		func(d Decision) string {
			return fmt.Sprintf("The chunk at %s on %s is jumbo: the balancer does not move it.", d.Min, d.Shard)
		}},
	{OtherChunkFirst, SubjectChunk, false,
		"The shard gives another chunk first: one a round, in key order.",
		noActionNeeded,
		func(d Decision) string { return fmt.Sprintf("Shard %s gives its chunk at %s first.", d.Shard, d.Min) }},
	{RangeSkipped, SubjectChunk, false,
		"A run of shardsh leaves the chunk alone: it could not be moved, or has just been.",
		"See the reason that is told with it; the next run tries the chunk again.",
		func(d Decision) string { return fmt.Sprintf("The chunk at %s on %s is skipped.", d.Min, d.Shard) }},
}

// differenceText returns the difference between the two shards.
func (d Decision) differenceText() string {
	return d.Numbers.amountText(d.Numbers.Donor - d.Numbers.Recipient)
}
