package policy

import "shardsh/balancer/catalog"

// Rules are what a balancer evens out, and when it begins.
type Rules uint8

// The rules, newest first (rules/01-selection §6 and §9.1).
const (
	// RulesDataSize evens out bytes: 6.0 and later.
	RulesDataSize Rules = iota
	// RulesNearest evens out chunks to the nearest whole number of them a
	// shard: 4.4 and 5.0.
	RulesNearest
	// RulesNearestGentle are RulesNearest without migrations that are to succeed
	// whatever the chunk's size: late 4.0 and 4.2.
	RulesNearestGentle
	// RulesCeiling evens out chunks to the next whole number, with a threshold
	// of 2 for collections at rest: 3.4, 3.6.
	RulesCeiling
	// RulesSpread moves one chunk a round while the fullest and the emptiest
	// shard are 2, 4 or 8 apart: 2.2 to 3.2.
	RulesSpread
)

// RulesOf returns the rules of a release.
func RulesOf(r catalog.Release) Rules {
	switch {
	case r.BalancesBySize():
		return RulesDataSize
	case r.ForcesJumbo():
		return RulesNearest
	case r.AtLeast(catalog.Release40):
		return RulesNearestGentle
	case r.AtLeast(catalog.Release34):
		return RulesCeiling
	}
	return RulesSpread
}

// String names the rules in a line of a report.
func (r Rules) String() string {
	return [...]string{
		"by data size: shards that differ by 3 chunk sizes or more",
		"by number of chunks: shards above the ideal, rounded to the nearest number",
		"by number of chunks: shards above the ideal, rounded to the nearest number",
		"by number of chunks: shards 2 above the ideal, rounded up (1 after a move, or below 20 chunks)",
		"by number of chunks: one migration at a time, fullest and emptiest shard 2, 4 or 8 apart",
	}[r]
}

// forcesJumbo: migrations may ask the donor to move too much.
func (r Rules) forcesJumbo() bool { return r <= RulesNearest }

// SharesShards reports whether a shard takes part in one migration a round, and
// the collections, in random order, take what others have left. Before 4.0 each
// collection has all shards, so that two may choose the same one.
func (r Rules) SharesShards() bool { return r <= RulesNearestGentle }

// singleMigration reports whether a collection has at most one migration a round, and a round runs
// one after the other.
func (r Rules) singleMigration() bool { return r >= RulesSpread }

// threshold returns how far a shard with the most chunks may be from the ideal,
// or from the shard with the fewest, before a chunk moves.
func (r Rules) threshold(chunks int, moved bool) int {
	small := moved || chunks < 20
	switch {
	case r <= RulesNearestGentle, r == RulesCeiling && small:
		return 1
	case r == RulesCeiling:
		return 2
	case small:
		return 2
	case chunks < 80:
		return 4
	}
	return 8
}

// ideal returns the number of chunks a shard should have.
func (r Rules) ideal(chunks, shards int) int {
	if r == RulesCeiling {
		return (chunks + shards - 1) / shards
	}
	return (2*chunks + shards) / (2 * shards)
}
