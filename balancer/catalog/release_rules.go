package catalog

import "time"

// The functions below describe what has changed between releases, so that callers ask for a behaviour
// and not for a version number (rules/01-selection §9, rules/02-examples-and-traps §12).

// BalancesBySize reports whether the balancer balances bytes; older releases balance numbers of chunks.
func (r Release) BalancesBySize() bool { return r.FCVAtLeast(Release60) }

// ReportsCollectionStatus reports whether servers have balancerCollectionStatus.
func (r Release) ReportsCollectionStatus() bool { return r.FCVAtLeast(Release44) }

// Defragments reports whether collections can be defragmented.
func (r Release) Defragments() bool { return r.FCVAtLeast(Release60) }

// HasBalancingCommand reports whether there is a command that enables and disables the balancing of a
// collection: older routers accept the option, and ignore it.
func (r Release) HasBalancingCommand() bool { return r.FCVAtLeast(Release80) }

// AutoMerges reports whether the auto-merger exists, with its setting and its merge command.
func (r Release) AutoMerges() bool { return r.FCVAtLeast(Release70) }

// ShowsSplitPoints reports whether a router returns the points at which a shard would split a range of
// a sharded collection (splitVector).
func (r Release) ShowsSplitPoints() bool { return r.FCVAtLeast(Release60) }

// AutoSplits reports whether shards split chunks that have grown beyond the chunk size.
func (r Release) AutoSplits() bool { return !r.FCVAtLeast(Release60) }

// AllowsDroppingHashedIndex reports whether the index on a hashed shard key may be dropped or hidden.
func (r Release) AllowsDroppingHashedIndex() bool { return r.FCVAtLeast(Release60) }

// SecondariesReturnOrphans reports whether secondaries return all documents, including orphans, to a
// read without a read concern.
func (r Release) SecondariesReturnOrphans() bool { return !r.FCVAtLeast(Release50) }

// DefaultsToMajority reports whether a write without a write concern waits for a majority.
func (r Release) DefaultsToMajority() bool { return r.FCVAtLeast(Release50) }

// MovesCollections reports whether an unsharded collection can be on any shard (moveCollection,
// unshardCollection), and rounds count its moves.
func (r Release) MovesCollections() bool { return r.FCVAtLeast(Release80) }

// ReshardsToSameKey reports whether reshardCollection accepts the current key of the collection.
func (r Release) ReshardsToSameKey() bool { return r.FCVAtLeast(Release80) }

// DisablesOnMissingIndex reports whether a round disables the balancing of a collection whose hashed
// shard key has no index any more.
func (r Release) DisablesOnMissingIndex() bool { return r.FCVAtLeast(Release80) }

// HasSessionsCollection reports whether config.system.sessions exists.
func (r Release) HasSessionsCollection() bool { return r.FCVAtLeast(Release36) }

// SplitsSessions reports whether the balancer splits the sessions collection into many chunks. It no
// longer does in releases with the auto-merger, which would merge these chunks again and again
// (SERVER-78657; only the first patches of 7.0 have both).
func (r Release) SplitsSessions() bool { return r.FCVAtLeast(Release42) && !r.AutoMerges() }

// ForcesJumbo reports whether the balancer may ask donors to move chunks that are
// too large.
func (r Release) ForcesJumbo() bool { return r.FCVAtLeast(Release44) }

// CleanupDelay returns how long shards by default wait before they delete the ranges that they have
// given away.
func (r Release) CleanupDelay() time.Duration {
	if r.FCVAtLeast(Release82) {
		return time.Hour
	}
	return 15 * time.Minute
}

// HasConfigServerBalancer reports whether the setting mode exists besides stopped, and the balancer runs on the config
// servers, where it holds its lock permanently. In older releases each router has a balancer and takes
// the lock for a round.
func (r Release) HasConfigServerBalancer() bool { return r.FCVAtLeast(Release34) }

// LocksBalancer reports whether a balancer holds a lock in config.locks. The balancer of the config
// servers holds it for compatibility with old routers, and no longer does in 3.6.
func (r Release) LocksBalancer() bool { return !r.FCVAtLeast(Release36) }

// SpillsToDisk reports whether stages with much data spill to disk unless the command forbids it.
func (r Release) SpillsToDisk() bool { return r.FCVAtLeast(Release60) }

// HasMaxShardSize reports whether config.shards may have a maxSize.
func (r Release) HasMaxShardSize() bool { return !r.FCVAtLeast(Release60) }

// DefaultChunkSize returns the default chunk size in bytes.
func (r Release) DefaultChunkSize() int64 {
	if r.BalancesBySize() {
		return DefaultMaxChunkSizeBytes
	}
	return 64 << 20
}
