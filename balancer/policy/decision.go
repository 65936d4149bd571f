package policy

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

// Decision is one decision: a migration that was chosen or not, with the numbers that were decisive.
// Fields that do not belong to the code are zero.
type Decision struct {
	Code      Code
	Namespace string          // empty if it concerns the cluster
	Reason    Reason          // the reason for which something moves, or would have moved; empty = any reason
	Shard     catalog.ShardID // the donor, or the shard that would have been the donor; or the shard itself
	Recipient catalog.ShardID
	Zone      string
	// Min and Max are the bounds of the chunk. The donor may move less than the whole chosen chunk
	// (rules/01-selection §6.8).
	Min, Max catalog.Key

	Numbers    Numbers
	Count      int // number of flagged chunks, or of available shards
	Ineligible Ineligible
	Wait       time.Duration
	Err        error
}

// Unit is the quantity that a rule balances.
type Unit uint8

// UnitBytes is the unit of the rules of 6.0 and later, UnitChunks that of the rules before.
const (
	UnitBytes Unit = iota
	UnitChunks
)

// Numbers are the amounts by which a rule compares a donor with a recipient.
//
// In bytes, they are those of the whole collection on the shard, in all zones. In chunks, they are
// those of the zone if sizes are balanced, and those of the whole collection otherwise.
type Numbers struct {
	Unit             Unit
	Donor, Recipient int64
	// Ideal is the amount that each shard of the zone should have. Threshold is the difference from
	// which on data move. Both are zero if data move regardless of amounts: off a draining shard and
	// into a zone. RulesDifference have no ideal.
	Ideal, Threshold int64
}

// amountText returns an amount in the unit of the rule.
func (n Numbers) amountText(amount int64) string {
	if n.Unit == UnitBytes {
		return humanize.Bytes(amount)
	}
	return humanize.Count(amount, "chunk")
}

// Ineligible contains the numbers of shards that can't receive chunks of a zone. Each shard counts for
// the first of these reasons that applies.
type Ineligible struct{ OutsideZone, Full, Draining, Unmeasured, Busy int }

// String returns the numbers as text, such as "2 outside the zone, 1 draining".
func (i Ineligible) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{i.OutsideZone, "outside the zone"},
		{i.Full, "full"},
		{i.Draining, "draining"},
		{i.Unmeasured, "without a known size"},
		{i.Busy, "busy this round"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if parts == nil {
		return "no other shards"
	}
	return strings.Join(parts, ", ")
}

// IsChosen reports whether the decision is a chosen migration.
func (d Decision) IsChosen() bool { return d.Code.Info().Chosen }

// Text returns the decision in one sentence, with its numbers.
func (d Decision) Text() string {
	info := d.Code.Info()
	if info.sentence == nil {
		return string(d.Code)
	}
	return info.sentence(d)
}

// NewChoice returns the decision for a migration whose choice does not depend only on the amounts of
// two shards.
func NewChoice(m Migration) Decision {
	return Decision{
		Code: Code(m.Reason), Namespace: m.Namespace, Reason: m.Reason,
		Shard: m.From, Recipient: m.To, Min: m.Min, Max: m.Max,
	}
}

// zoneText returns the name of the zone for a sentence.
func (d Decision) zoneText() string {
	if d.Zone == catalog.NoZone {
		return "keys outside all zones"
	}
	return "zone " + d.Zone
}

// ofZoneText returns " of zone EU", and nothing for keys outside all zones.
func (d Decision) ofZoneText() string {
	if d.Zone == catalog.NoZone {
		return ""
	}
	return " of zone " + d.Zone
}

// zoneSentence formats a sentence with the zone before it.
func (d Decision) zoneSentence(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if d.Zone == catalog.NoZone {
		return text
	}
	return "Zone " + d.Zone + ": " + strings.ToLower(text[:1]) + text[1:]
}

func (d Decision) donorText() string     { return d.Numbers.amountText(d.Numbers.Donor) }
func (d Decision) recipientText() string { return d.Numbers.amountText(d.Numbers.Recipient) }
func (d Decision) idealText() string     { return d.Numbers.amountText(d.Numbers.Ideal) }
func (d Decision) thresholdText() string { return d.Numbers.amountText(d.Numbers.Threshold) }

// largestText returns "The largest available shard" in the unit of the rule.
func (d Decision) largestText() string {
	if d.Numbers.Unit == UnitChunks {
		return "The available shard with the most chunks"
	}
	return "The largest available shard"
}

const mib = 1 << 20
