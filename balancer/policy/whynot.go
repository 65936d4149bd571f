package policy

import (
	"fmt"
	"strings"

	"shardsh/balancer/catalog"
)

// RejectCode names why something was not chosen. The names are stable: scripts
// and checks may compare with them.
type RejectCode string

// About a shard, for the whole collection.
const (
	ShardBusy   RejectCode = "shardBusy"   // donor or recipient of a migration of this round already
	NoSizeEntry RejectCode = "noSizeEntry" // not measured: no recipient, and no donor by size
)

// About a draining shard, or one with chunks outside their zone.
const (
	NothingToDrain RejectCode = "nothingToDrain"
	NoRecipient    RejectCode = "noRecipient"
	TooFewShards   RejectCode = "tooFewShards" // the rest of the collection waits
)

// JumboFlag is about one chunk.
const JumboFlag RejectCode = "jumboFlag"

// About balancing the sizes of a zone.
const (
	ZoneWithoutShards  RejectCode = "zoneWithoutShards"
	NoData             RejectCode = "noData"
	NoDonor            RejectCode = "noDonor"
	DonorIsRecipient   RejectCode = "donorIsRecipient"
	DonorAtIdeal       RejectCode = "donorAtIdeal"
	RecipientAtIdeal   RejectCode = "recipientAtIdeal"
	BelowThreshold     RejectCode = "belowThreshold"
	OnlyJumboChunks    RejectCode = "onlyJumboChunks"
	LargestOutsideZone RejectCode = "largestOutsideZone"
	NoChunkInZone      RejectCode = "noChunkInZone"
)

// WhyNot is one thing that was not chosen, with the numbers that decided it.
// Fields that do not belong to the code are zero.
type WhyNot struct {
	Code      RejectCode
	Namespace string
	Step      Reason          // what it would have moved for; empty = for anything
	Shard     catalog.ShardID // the donor it would have been, or the shard itself
	Recipient catalog.ShardID
	Zone      string
	Chunk     catalog.Key // lower bound

	DonorBytes     int64 // the collection on the donor, all zones together
	RecipientBytes int64
	IdealBytes     int64 // average over the shards of the zone
	ThresholdBytes int64 // the difference from which on data moves
	Count          int   // flagged chunks seen, or shards left

	Ineligible Ineligible
}

// Ineligible counts the shards that can't receive chunks of a zone, each by
// the first of these that holds.
type Ineligible struct{ OutsideZone, Draining, Unmeasured, Busy int }

// String is "2 outside the zone, 1 draining".
func (n Ineligible) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{n.OutsideZone, "outside the zone"},
		{n.Draining, "draining"},
		{n.Unmeasured, "without a size"},
		{n.Busy, "busy this round"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if parts == nil {
		return "there are none"
	}
	return strings.Join(parts, ", ")
}

// Text is the rejection in one sentence, with its numbers.
func (w WhyNot) Text() string {
	zone := "zone " + w.Zone
	if w.Zone == catalog.NoZone {
		zone = "the unzoned keys"
	}
	switch w.Code {
	case ShardBusy:
		return fmt.Sprintf("Shard %s already takes part in a migration of this round.", w.Shard)
	case NoSizeEntry:
		return fmt.Sprintf("Shard %s gave no size for the collection.", w.Shard)
	case NothingToDrain:
		return fmt.Sprintf("Shard %s is draining but owns no chunk of the collection.", w.Shard)
	case NoRecipient:
		return fmt.Sprintf("No shard can receive chunks of %s: %s.", zone, w.Ineligible)
	case TooFewShards:
		return fmt.Sprintf("It takes 2 shards without a migration to go on, and this round has %d left.", w.Count)
	case JumboFlag:
		return fmt.Sprintf("The chunk at %s on %s is flagged jumbo and never moves by itself.", w.Chunk, w.Shard)
	case ZoneWithoutShards:
		return fmt.Sprintf("Zone %s has ranges but no measured shard belongs to it.", w.Zone)
	case NoData:
		return fmt.Sprintf("The shards for %s have no data of the collection.", zone)
	case NoDonor:
		return fmt.Sprintf("No measured shard without a migration is left to give chunks of %s.", zone)
	case DonorIsRecipient:
		return fmt.Sprintf("Shard %s with %s is both the largest shard left and the smallest one for %s.", w.Shard, bytesText(w.DonorBytes), zone)
	case DonorAtIdeal:
		return fmt.Sprintf("The largest shard left, %s, has %s, which is not above the %s ideal for %s.",
			w.Shard, bytesText(w.DonorBytes), bytesText(w.IdealBytes), zone)
	case RecipientAtIdeal:
		return fmt.Sprintf("The smallest shard left for %s, %s, has %s, which is not below the ideal of %s.",
			zone, w.Recipient, bytesText(w.RecipientBytes), bytesText(w.IdealBytes))
	case BelowThreshold:
		return fmt.Sprintf("For %s, shards %s with %s and %s with %s differ by %s, less than the %s from which on data moves.",
			zone, w.Shard, bytesText(w.DonorBytes), w.Recipient, bytesText(w.RecipientBytes),
			bytesText(w.DonorBytes-w.RecipientBytes), bytesText(w.ThresholdBytes))
	case OnlyJumboChunks:
		return fmt.Sprintf("All %d chunks of %s on the largest shard left, %s, are flagged jumbo.", w.Count, zone, w.Shard)
	case LargestOutsideZone:
		return fmt.Sprintf("The largest shard left, %s with %s, has nothing to do with %s, and no other may give chunks before it.",
			w.Shard, bytesText(w.DonorBytes), zone)
	case NoChunkInZone:
		return fmt.Sprintf("The largest shard left, %s with %s, owns no chunk of %s, and no other may give chunks before it.",
			w.Shard, bytesText(w.DonorBytes), zone)
	}
	return string(w.Code)
}

const mib = 1 << 20

// bytesText shows a size, rounded down so that a size below another never
// reads like it.
func bytesText(n int64) string {
	switch {
	case n%mib == 0:
		return fmt.Sprintf("%d MiB", n/mib)
	case n < 10*mib:
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d.%d MiB", n/mib, n%mib*10/mib)
}
