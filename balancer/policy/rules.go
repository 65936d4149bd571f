package policy

import "shardsh/balancer/catalog"

// Rules determine what a balancer balances, and from which difference on.
type Rules uint8

// These are the rules, newest first (rules/01-selection §6 and §9.1).
const (
	// RulesDataSize balances bytes: 6.0 and later.
	RulesDataSize Rules = iota
	// RulesRounded balances chunks to the nearest whole number of chunks per shard: 4.4 and 5.0.
	RulesRounded
	// RulesRoundedUnforced is RulesRounded without migrations that are forced whatever the chunk's size:
	// late 4.0 and 4.2.
	RulesRoundedUnforced
	// RulesRoundedUp balances chunks to the next whole number per shard, with a threshold of 2 for a
	// collection of 20 chunks or more if no chunk moved in the last round: 3.4, 3.6.
	RulesRoundedUp
	// RulesDifference moves one chunk per round while the fullest and the emptiest shard differ by 2, 4 or
	// 8 chunks: 2.2 to 3.2.
	RulesDifference
)

// RulesOf returns the rules of a release.
func RulesOf(r catalog.Release) Rules {
	switch {
	case r.BalancesBySize():
		return RulesDataSize
	case r.ForcesJumbo():
		return RulesRounded
	case r.FCVAtLeast(catalog.Release40):
		return RulesRoundedUnforced
	case r.FCVAtLeast(catalog.Release34):
		return RulesRoundedUp
	}
	return RulesDifference
}

// String returns the name of the rules for a report.
func (r Rules) String() string {
	return [...]string{
		"by data size: shards that differ by 3 chunk sizes or more",
		"by number of chunks: shards above the ideal, rounded to the nearest number",
		"by number of chunks: shards above the ideal, rounded to the nearest number",
		"by number of chunks: shards 2 above the ideal, rounded up (1 after a move, or below 20 chunks)",
		"by number of chunks: one migration at a time, fullest and emptiest shard 2, 4 or 8 apart",
	}[r]
}

// forcesJumbo reports whether migrations may ask the donor to move a range that is too large.
func (r Rules) forcesJumbo() bool { return r <= RulesRounded }

// AllowsOneMigrationPerShard reports whether a shard takes part in at most one migration per round, and the
// collections, in random order, use the shards that are still available. Before 4.0 each collection may
// use all shards, so that two collections may choose the same shard.
func (r Rules) AllowsOneMigrationPerShard() bool { return r <= RulesRoundedUnforced }

// allowsOneMigrationPerCollection reports whether a collection has at most one migration per round, and a round runs
// its migrations one after the other.
func (r Rules) allowsOneMigrationPerCollection() bool { return r >= RulesDifference }

// threshold returns the difference between the shard with the most chunks and the ideal, or the shard
// with the fewest chunks, from which on a chunk moves.
func (r Rules) threshold(chunks int, moved bool) int {
	small := moved || chunks < 20
	switch {
	case r <= RulesRoundedUnforced, r == RulesRoundedUp && small:
		return 1
	case r == RulesRoundedUp:
		return 2
	case small:
		return 2
	case chunks < 80:
		return 4
	}
	return 8
}

// ideal returns the number of chunks that a shard should have.
func (r Rules) ideal(chunks, shards int) int {
	if r == RulesRoundedUp {
		return (chunks + shards - 1) / shards
	}
	return (2*chunks + shards) / (2 * shards)
}
