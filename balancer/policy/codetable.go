package policy

import (
	"fmt"

	"shardsh/balancer/humanize"
)

// The table of codes. It is the one place where a code is explained: sentences,
// docs/codes.md and the tests are made from it.

const nothingToDo = "Nothing."

var chosenCodes = []CodeInfo{
	{ChosenDrain, SubjectChunk, true,
		"The shard is draining. One chunk at a time moves off it, whatever the sizes, to the shard of the " +
			"chunk's zone with the least.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s is draining: its chunk at %s moves to %s, which with %s has the least of "+
				"the shards for %s.",
				d.Shard, d.Min, d.Recipient, d.recipient(), d.zone())
		}},
	{ChosenZoneViolation, SubjectChunk, true,
		"The chunk lies in a zone that its shard does not belong to. It moves to the shard of the zone with " +
			"the least.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s does not belong to %s: its chunk at %s moves to %s, which with %s has "+
				"the least of the shards that do.",
				d.Shard, d.zone(), d.Min, d.Recipient, d.recipient())
		}},
	{ChosenImbalance, SubjectChunk, true,
		"The largest shard has more of the collection than the smallest one of the zone, by the threshold or " +
			"more: 3 chunk sizes since 6.0, a number of chunks before.",
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
		"The collection is being defragmented: a small chunk moves beside a neighbour in key order, to be " +
			"merged with it.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("The small chunk at %s on %s moves to %s, beside the one it will be merged with.",
				d.Min, d.Shard, d.Recipient)
		}},
	{ChosenUnsharded, SubjectCollection, true,
		"A whole collection that is not sharded moves. The balancer does that only while the server's fail " +
			"point for random migrations is on.",
		"Switch the fail point balancerShouldReturnRandomMigrations off.",
		func(d Decision) string {
			return fmt.Sprintf("The whole collection moves from %s to %s at random.", d.Shard, d.Recipient)
		}},
	{ChosenAtRandom, SubjectChunk, true,
		"A chunk moves at random, because the server's fail point for random migrations is on.",
		"Switch the fail point balancerShouldReturnRandomMigrations off.",
		func(d Decision) string {
			return fmt.Sprintf("The chunk at %s moves from %s to %s at random.", d.Min, d.Shard, d.Recipient)
		}},
}

// roundCodes are about the cluster and about collections.
var roundCodes = []CodeInfo{
	{BalancerOff, SubjectCluster, false,
		"The balancer's mode is not full: nothing moves by itself, not even off draining shards.",
		"sh.startBalancer()",
		func(Decision) string { return "The balancer is off." }},
	{WindowShut, SubjectCluster, false,
		"The time is outside the balancing window, which is read in the time zone of the config server's primary.",
		"Wait for the window, or change it: sh.balancerWindow(start, stop).",
		func(Decision) string { return "It is outside the balancing window." }},
	{RoundLocked, SubjectCluster, false,
		"Before 3.4 each mongos has a balancer, and another one holds the lock of the round.",
		"Nothing, unless nobody holds it: config.locks names the holder.",
		func(Decision) string { return "Another mongos holds the lock of the round." }},
	{Throttled, SubjectCluster, false,
		"The migrations of the round are chosen and wait until the last ones are long enough ago.",
		"Lower the server parameter balancerMigrationsThrottlingMs of the config server.",
		func(d Decision) string {
			return fmt.Sprintf("The migrations of the round wait for %s.", humanize.Duration(d.Wait))
		}},
	{BalancingOff, SubjectCollection, false,
		"Balancing is switched off for the collection (noBalance).",
		"sh.enableBalancing(namespace)",
		func(d Decision) string { return fmt.Sprintf("Balancing is switched off for %s.", d.Namespace) }},
	{MigrationsForbidden, SubjectCollection, false,
		"No chunk of the collection may move, by hand neither: an operation such as a resharding or " +
			"refineCollectionShardKey forbids it, or somebody did with setAllowMigrations.",
		"Let the operation end; after setAllowMigrations: db.adminCommand({ setAllowMigrations: namespace, " +
			"allowMigrations: true }).",
		func(d Decision) string { return fmt.Sprintf("Migrations of %s are forbidden.", d.Namespace) }},
	{Resharding, SubjectCollection, false,
		"The collection is being resharded. Its chunks stay where they are until that has ended.",
		"Wait for the resharding, or db.adminCommand({ abortReshardCollection: namespace }).",
		func(d Decision) string { return fmt.Sprintf("Collection %s is being resharded.", d.Namespace) }},
	{DefragmentingFirst, SubjectCollection, false,
		"The collection is being defragmented: until that has ended it is not evened out, and its shards do " +
			"not drain.",
		"Wait for it, or db.adminCommand({ configureCollectionBalancing: namespace, defragmentCollection: false }).",
		func(d Decision) string { return fmt.Sprintf("Collection %s is being defragmented first.", d.Namespace) }},
	{UnalignedZones, SubjectCollection, false,
		"A boundary of a zone lies inside a chunk, so that the chunk belongs nowhere. Nothing of the " +
			"collection moves before the chunk is split, which the balancer tries in each round.",
		"If it stays: sh.splitAt(namespace, boundary), and look at why the balancer's split fails.",
		func(d Decision) string {
			return fmt.Sprintf("The zones of %s do not fit its chunks: %v.", d.Namespace, d.Err)
		}},
	{NotCached, SubjectCollection, false,
		"The time for choosing was over before the collection was measured. It is not among those remembered " +
			"as imbalanced, which come first.",
		"Nothing: the order is drawn anew in each round. balancerChunksSelectionTimeoutMs is the time.",
		func(d Decision) string {
			return fmt.Sprintf("The time for choosing was over before %s was measured.", d.Namespace)
		}},
	{CollectionGone, SubjectCollection, false,
		"The collection was dropped during the round.",
		nothingToDo,
		func(d Decision) string { return fmt.Sprintf("Collection %s is gone.", d.Namespace) }},
	{NotReadable, SubjectCollection, false,
		"The entries of the collection in the catalog could not be read or make no sense.",
		"Look at the error, and at the collection's documents in config.collections, config.chunks and config.tags.",
		func(d Decision) string { return fmt.Sprintf("Collection %s is left out: %v.", d.Namespace, d.Err) }},
	{TooFewShards, SubjectCollection, false,
		"A shard takes part in one migration of a round at most, and fewer than two are left for the rest of " +
			"the collection.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("It takes 2 shards without a migration to go on, and this round has %d left.", d.Count)
		}},
	{OneMigration, SubjectCollection, false,
		"Before 3.4 a collection has one migration a round, and it is chosen.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Collection %s has its one migration of this round.", d.Namespace)
		}},
}

var shardCodes = []CodeInfo{
	{ShardBusy, SubjectShard, false,
		"The shard gives or receives in another migration of this round.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("Shard %s already takes part in a migration of this round.", d.Shard)
		}},
	{ShardFull, SubjectShard, false,
		"The shard has reached its maxSize, which releases before 6.0 look at: it receives nothing.",
		"Raise or remove maxSize of the shard in config.shards.",
		func(d Decision) string { return fmt.Sprintf("Shard %s has reached its maxSize.", d.Shard) }},
	{NoSizeEntry, SubjectShard, false,
		"The shard gave no size for the collection: it receives nothing, and gives only what drains or lies " +
			"outside its zone.",
		"See whether the shard can be reached from the config server.",
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
		"No shard can receive chunks of the zone: each is outside the zone, full, draining, not measured or busy.",
		"Give the zone another shard that is not draining: sh.addShardToZone(shard, zone).",
		func(d Decision) string {
			return fmt.Sprintf("No shard can receive chunks of %s: %s.", d.zone(), d.Ineligible)
		}},
	{ZoneWithoutShards, SubjectZone, false,
		"The zone has ranges, and no shard that was measured belongs to it. Its chunks stay wherever they are.",
		"sh.addShardToZone(shard, zone), or remove its ranges: sh.removeRangeFromZone(namespace, min, max).",
		func(d Decision) string {
			return fmt.Sprintf("Zone %s has ranges but no measured shard belongs to it.", d.Zone)
		}},
	{NoData, SubjectZone, false,
		"The shards of the zone have no data of the collection.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("The shards for %s have no data of the collection.", d.zone())
		}},
	{NoDonor, SubjectZone, false,
		"No shard is left that could give chunks of the zone: each is busy, or has none.",
		nothingToDo,
		func(d Decision) string {
			if d.Numbers.Unit == Chunks {
				return fmt.Sprintf("No shard without a migration is left that has chunks of %s.", d.zone())
			}
			return fmt.Sprintf("No measured shard without a migration is left to give chunks of %s.", d.zone())
		}},
	{DonorIsRecipient, SubjectZone, false,
		"One shard is both the largest one left and the smallest one of the zone.",
		"Nothing, unless the zone has one shard only and should have more: sh.addShardToZone(shard, zone).",
		func(d Decision) string {
			if d.Numbers.Unit == Chunks {
				return fmt.Sprintf("Shard %s with %s is the only one left that can give or receive chunks of %s.",
					d.Shard, d.donor(), d.zone())
			}
			return fmt.Sprintf("Shard %s with %s is both the largest shard left and the smallest one for %s.",
				d.Shard, d.donor(), d.zone())
		}},
	{DonorAtIdeal, SubjectZone, false,
		"The largest shard left has no more than each shard of the zone should have.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("%s, %s, has %s, which is not above the %s ideal for %s.",
				d.largest(), d.Shard, d.donor(), d.ideal(), d.zone())
		}},
	{DonorNearIdeal, SubjectZone, false,
		"The shard with the most chunks has more than the ideal, by less than the threshold of the release.",
		nothingToDo,
		func(d Decision) string {
			n := d.Numbers
			return fmt.Sprintf("%s, %s, has %s, %d above the ideal of %d; chunks move from %d above it on.",
				d.largest(), d.Shard, d.donor(), n.Donor-n.Ideal, n.Ideal, n.Threshold)
		}},
	{RecipientAtIdeal, SubjectZone, false,
		"The smallest shard left in the zone has no less than each of its shards should have.",
		nothingToDo,
		func(d Decision) string {
			return fmt.Sprintf("The smallest shard left for %s, %s, has %s, which is not below the ideal of %s.",
				d.zone(), d.Recipient, d.recipient(), d.ideal())
		}},
	{BelowThreshold, SubjectZone, false,
		"The largest and the smallest shard differ by less than the threshold: 3 chunk sizes since 6.0. The " +
			"collection is balanced.",
		"A smaller chunk size lowers the threshold: sh.chunkSize(namespace, MiB).",
		func(d Decision) string {
			return fmt.Sprintf("For %s, shards %s with %s and %s with %s differ by %s, less than the %s from "+
				"which on data moves.",
				d.zone(), d.Shard, d.donor(), d.Recipient, d.recipient(), d.apart(), d.threshold())
		}},
	{OnlyJumboChunks, SubjectZone, false,
		"All chunks of the zone on the shard that should give are flagged jumbo.",
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
		"The largest shard of all has nothing to do with the zone, and no other may give before it: the zone " +
			"is not evened out meanwhile.",
		"Even out the other zones first; sizes of zones that differ much keep small zones from being balanced.",
		func(d Decision) string {
			return fmt.Sprintf("The largest shard left, %s with %s, has nothing to do with %s, and no other may "+
				"give chunks before it.",
				d.Shard, d.donor(), d.zone())
		}},
	{NoChunkInZone, SubjectZone, false,
		"The largest shard of all owns no chunk of the zone, and no other may give before it.",
		"Even out the other zones first.",
		func(d Decision) string {
			return fmt.Sprintf("The largest shard left, %s with %s, owns no chunk of %s, and no other may give "+
				"chunks before it.",
				d.Shard, d.donor(), d.zone())
		}},
}

var chunkCodes = []CodeInfo{
	{JumboFlag, SubjectChunk, false,
		"The chunk was found too large to move and could not be split. It never moves by itself again, not " +
			"off a draining shard either.",
		"Split it, which removes the flag, or db.adminCommand({ clearJumboFlag: namespace, find: key }); " +
			"sh.moveRange with forceJumbo moves it by hand.",
		func(d Decision) string {
			return fmt.Sprintf("The chunk at %s on %s is flagged jumbo and never moves by itself.", d.Min, d.Shard)
		}},
	{OtherChunkFirst, SubjectChunk, false,
		"The shard of the chunk gives another chunk in this round: a shard gives one at a time, those of a " +
			"zone in key order.",
		nothingToDo,
		func(d Decision) string { return fmt.Sprintf("Shard %s gives its chunk at %s first.", d.Shard, d.Min) }},
}

// apart returns the difference of the two shards.
func (d Decision) apart() string { return d.Numbers.text(d.Numbers.Donor - d.Numbers.Recipient) }
