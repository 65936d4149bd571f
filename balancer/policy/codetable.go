package policy

import (
	"fmt"

	"shardsh/balancer/humanize"
)

// The table of codes. It is the one place where a code is explained: sentences,
// docs/codes.md and the tests are made from it.

const nothingToDo = "No action needed."

var chosenCodes = []CodeInfo{
	{ChosenDrain, SubjectChunk, true,
		"The shard is draining: one chunk at a time moves to the shard of its zone with the least data.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s is draining: its chunk at %s moves to %s, which with %s has the least of "+
				"the shards for %s.",
				d.Shard, d.Min, d.Recipient, d.recipient(), d.zone())
		}},
	{ChosenZoneViolation, SubjectChunk, true,
		"The chunk is on a shard outside its zone, and moves to the shard of the zone with the least data.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s does not belong to %s: its chunk at %s moves to %s, which with %s has "+
				"the least of the shards that do.",
				d.Shard, d.zone(), d.Min, d.Recipient, d.recipient())
		}},
	{ChosenImbalance, SubjectChunk, true,
		"The largest and the smallest shard of the zone differ by the threshold or more: 3 chunk sizes since " +
			"6.0, a number of chunks before.",
		nothingToDo,
		func(d Decision) string {
			if n := d.Numbers; n.Unit == Chunks && n.Ideal > 0 {
				return fmt.Sprintf("For %s, shard %s with %s is %d above the ideal of %d, and %s with %s below "+
					"it: the chunk at %s moves.",
					d.zone(), d.Shard, d.donor(), n.Donor-n.Ideal, n.Ideal, d.Recipient, d.recipient(), d.Min)
			}
			return fmt.Sprintf("For %s, shards %s with %s and %s with %s differ by %s, and from %s on data moves: "+
				"the chunk at %s does.",
				d.zone(), d.Shard, d.donor(), d.Recipient, d.recipient(), d.apart(), d.threshold(), d.Min)
		}},
	{ChosenDefragmentation, SubjectChunk, true,
		"Defragmentation: a small chunk moves to its neighbour's shard, to be merged.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("The small chunk at %s on %s moves to %s, beside the one it will be merged with.",
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

// roundCodes are about the cluster and about collections.
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
		"Before 3.4 each mongos has a balancer, and another one holds the lock of the round.",
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
	{Resharding, SubjectCollection, false,
		"The collection is being resharded. Its chunks do not move meanwhile.",
		"Wait for the resharding, or db.adminCommand({ abortReshardCollection: namespace }).",
		func(d Decision) string { return fmt.Sprintf("Collection %s is being resharded.", d.Namespace) }},
	{DefragmentingFirst, SubjectCollection, false,
		"The collection is being defragmented: until then it is not balanced, and its shards do not drain.",
		"Wait for it, or db.adminCommand({ configureCollectionBalancing: namespace, defragmentCollection: false }).",
		func(d Decision) string { return fmt.Sprintf("Collection %s is being defragmented first.", d.Namespace) }},
	{UnalignedZones, SubjectCollection, false,
		"A zone boundary is inside a chunk. Nothing of the collection moves before the chunk is split, which " +
			"the balancer tries in each round.",
		"If it stays: sh.splitAt(namespace, boundary), and find out why the balancer's split fails.",
		func(d Decision) string {
			return fmt.Sprintf("The zones of %s do not fit its chunks: %v.", d.Namespace, d.Err)
		}},
	{NotCached, SubjectCollection, false,
		"The time for choosing ended before the collection was measured.",
		"No action: each round has another order. The time is balancerChunksSelectionTimeoutMs.",
		func(d Decision) string {
			return fmt.Sprintf("The time for choosing was over before %s was measured.", d.Namespace)
		}},
	{CollectionGone, SubjectCollection, false,
		"The collection was dropped during the round.",
		nothingToDo,
		func(d Decision) string { return fmt.Sprintf("Collection %s is gone.", d.Namespace) }},
	{NotReadable, SubjectCollection, false,
		"The collection's entries in the catalog are unreadable or inconsistent.",
		"Check the error, and the entries in config.collections, config.chunks and config.tags.",
		func(d Decision) string { return fmt.Sprintf("Collection %s is left out: %v.", d.Namespace, d.Err) }},
	{TooFewShards, SubjectCollection, false,
		"Fewer than two shards are left without a migration in this round.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("It takes 2 shards without a migration to go on, and this round has %d left.", d.Count)
		}},
	{OneMigration, SubjectCollection, false,
		"Before 3.4 a collection has one migration a round, which is chosen.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Collection %s has its one migration of this round.", d.Namespace)
		}},
}

var shardCodes = []CodeInfo{
	{ShardBusy, SubjectShard, false,
		"The shard takes part in another migration of this round.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s already takes part in a migration of this round.", d.Shard)
		}},
	{ShardFull, SubjectShard, false,
		"The shard has reached its maxSize (before 6.0), and receives nothing.",
		"Raise or remove maxSize of the shard in config.shards.",
		func(d Decision) string { return fmt.Sprintf("Shard %s has reached its maxSize.", d.Shard) }},
	{NoSizeEntry, SubjectShard, false,
		"The shard reported no size for the collection: it receives nothing, and gives only what drains or " +
			"is outside its zone.",
		"Check that the config server can reach the shard.",
		func(d Decision) string { return fmt.Sprintf("Shard %s gave no size for the collection.", d.Shard) }},
	{NothingToDrain, SubjectShard, false,
		"The draining shard owns no chunk of the collection any more.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s is draining but owns no chunk of the collection.", d.Shard)
		}},
}

var zoneCodes = []CodeInfo{
	{NoRecipient, SubjectZone, false,
		"No shard can receive chunks of the zone: each is outside it, full, draining, not measured or busy.",
		"Add another shard to the zone: sh.addShardToZone(shard, zone).",
		func(d Decision) string {
			return fmt.Sprintf("No shard can receive chunks of %s: %s.", d.zone(), d.Ineligible)
		}},
	{ZoneWithoutShards, SubjectZone, false,
		"The zone has ranges but no measured shard. Its chunks stay where they are.",
		"sh.addShardToZone(shard, zone), or remove its ranges: sh.removeRangeFromZone(namespace, min, max).",
		func(d Decision) string {
			return fmt.Sprintf("Zone %s has ranges but no measured shard belongs to it.", d.Zone)
		}},
	{NoData, SubjectZone, false,
		"The zone's shards have no data of the collection.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("The shards for %s have no data of the collection.", d.zone())
		}},
	{NoDonor, SubjectZone, false,
		"No shard is left that could give chunks of the zone.",
		nothingToDo,
		func(d Decision) string {
			if d.Numbers.Unit == Chunks {
				return fmt.Sprintf("No shard without a migration is left that has chunks of %s.", d.zone())
			}
			return fmt.Sprintf("No measured shard without a migration is left to give chunks of %s.", d.zone())
		}},
	{DonorIsRecipient, SubjectZone, false,
		"One shard is both the largest one left and the smallest one of the zone.",
		"No action, unless the zone should have more shards: sh.addShardToZone(shard, zone).",
		func(d Decision) string {
			if d.Numbers.Unit == Chunks {
				return fmt.Sprintf("Shard %s with %s is the only one left that can give or receive chunks of %s.",
					d.Shard, d.donor(), d.zone())
			}
			return fmt.Sprintf("Shard %s with %s is both the largest shard left and the smallest one for %s.",
				d.Shard, d.donor(), d.zone())
		}},
	{DonorAtIdeal, SubjectZone, false,
		"The largest shard left does not exceed the fair share.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("%s, %s, has %s, which is not above the %s ideal for %s.",
				d.largest(), d.Shard, d.donor(), d.ideal(), d.zone())
		}},
	{DonorNearIdeal, SubjectZone, false,
		"The shard with the most chunks exceeds the fair share by less than the threshold.",
		nothingToDo,
		func(d Decision) string {
			n := d.Numbers
			return fmt.Sprintf("%s, %s, has %s, %d above the ideal of %d; chunks move from %d above it on.",
				d.largest(), d.Shard, d.donor(), n.Donor-n.Ideal, n.Ideal, n.Threshold)
		}},
	{RecipientAtIdeal, SubjectZone, false,
		"The smallest shard left is not below the fair share.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("The smallest shard left for %s, %s, has %s, which is not below the ideal of %s.",
				d.zone(), d.Recipient, d.recipient(), d.ideal())
		}},
	{BelowThreshold, SubjectZone, false,
		"The shards differ by less than the threshold (3 chunk sizes since 6.0): the collection is balanced.",
		"A smaller chunk size lowers the threshold: sh.chunkSize(namespace, MiB).",
		func(d Decision) string {
			return fmt.Sprintf("For %s, shards %s with %s and %s with %s differ by %s, less than the %s from "+
				"which on data moves.",
				d.zone(), d.Shard, d.donor(), d.Recipient, d.recipient(), d.apart(), d.threshold())
		}},
	{OnlyJumboChunks, SubjectZone, false,
		"All chunks of the zone on the donor are jumbo.",
		"Split them, which removes the flag, or db.adminCommand({ clearJumboFlag: namespace, find: key }); a " +
			"jumbo chunk of one key needs a better shard key.",
		func(d Decision) string {
			if d.Numbers.Unit == Chunks {
				return fmt.Sprintf("All %d chunks of %s on the shard left with the most of them, %s, are flagged "+
					"jumbo.",
					d.Count, d.zone(), d.Shard)
			}
			return fmt.Sprintf("All %d chunks of %s on the largest shard left, %s, are flagged jumbo.",
				d.Count, d.zone(), d.Shard)
		}},
	{LargestOutsideZone, SubjectZone, false,
		"The largest shard of all is outside the zone, and no other may give before it.",
		"Balance the other zones first.",
		func(d Decision) string {
			return fmt.Sprintf("The largest shard left, %s with %s, has nothing to do with %s, and no other may "+
				"give chunks before it.",
				d.Shard, d.donor(), d.zone())
		}},
	{NoChunkInZone, SubjectZone, false,
		"The largest shard of all has no chunk of the zone, and no other may give before it.",
		"Balance the other zones first.",
		func(d Decision) string {
			return fmt.Sprintf("The largest shard left, %s with %s, owns no chunk of %s, and no other may give "+
				"chunks before it.",
				d.Shard, d.donor(), d.zone())
		}},
}

var chunkCodes = []CodeInfo{
	{JumboFlag, SubjectChunk, false,
		"The chunk was too large to move and could not be split. The balancer never moves it, not even off a " +
			"draining shard.",
		"Split it, which removes the flag, or db.adminCommand({ clearJumboFlag: namespace, find: key }); " +
			"sh.moveRange with forceJumbo moves it by hand.",
		func(d Decision) string {
			return fmt.Sprintf("The chunk at %s on %s is flagged jumbo and never moves by itself.", d.Min, d.Shard)
		}},
	{OtherChunkFirst, SubjectChunk, false,
		"The shard gives another chunk first: one a round, in key order.",
		nothingToDo,
		func(d Decision) string { return fmt.Sprintf("Shard %s gives its chunk at %s first.", d.Shard, d.Min) }},
}

// apart returns the difference of the two shards.
func (d Decision) apart() string { return d.Numbers.text(d.Numbers.Donor - d.Numbers.Recipient) }
