package catalog

import "time"

// The switches below name what changed between releases, so that callers ask
// for the thing and not for a number (rules/01-selection §9, rules/02-examples-and-traps §12).

// BalancesBySize reports whether sizes in bytes count; before that numbers of chunks.
func (r Release) BalancesBySize() bool { return r.AtLeast(Release60) }

// ReportsCollectionStatus reports whether servers say of a collection whether it is balanced.
func (r Release) ReportsCollectionStatus() bool { return r.AtLeast(Release44) }

// Defragments reports whether collections can be defragmented.
func (r Release) Defragments() bool { return r.AtLeast(Release60) }

// SwitchesBalancing reports whether there is a command that switches the balancing of a
// collection: older routers take the option, and ignore it.
func (r Release) SwitchesBalancing() bool { return r.AtLeast(Release80) }

// AutoMerges reports whether the auto-merger exists, with its setting and its merge command.
func (r Release) AutoMerges() bool { return r.AtLeast(Release70) }

// ShowsSplitPoints reports whether a router says where a shard would cut a range of a sharded
// collection (splitVector).
func (r Release) ShowsSplitPoints() bool { return r.AtLeast(Release60) }

// AutoSplits reports whether shards split chunks that have grown beyond the chunk size.
func (r Release) AutoSplits() bool { return !r.AtLeast(Release60) }

// AllowsDroppingHashedIndex reports whether the index of a shard key that is hashed may
// be dropped or hidden.
func (r Release) AllowsDroppingHashedIndex() bool { return r.AtLeast(Release60) }

// SecondariesReturnOrphans reports whether secondaries return everything, orphans included,
// where a read asks for no read concern.
func (r Release) SecondariesReturnOrphans() bool { return !r.AtLeast(Release50) }

// DefaultsToMajority reports whether a write that does not say waits for a majority.
func (r Release) DefaultsToMajority() bool { return r.AtLeast(Release50) }

// MovesCollections reports whether a collection that is not sharded can lie on any shard
// (moveCollection, unshardCollection), and rounds count these moves.
func (r Release) MovesCollections() bool { return r.AtLeast(Release80) }

// ReshardsToSameKey reports whether reshardCollection takes the key that the collection has.
func (r Release) ReshardsToSameKey() bool { return r.AtLeast(Release80) }

// DisablesOnMissingIndex reports whether a round switches the balancing of a collection off whose hashed
// shard key has no index any more.
func (r Release) DisablesOnMissingIndex() bool { return r.AtLeast(Release80) }

// HasSessionsCollection reports whether there is a collection of the sessions.
func (r Release) HasSessionsCollection() bool { return r.AtLeast(Release36) }

// SplitsSessions reports whether the balancer cuts the sessions collection into
// many chunks. With the auto-merger, which would put them together again for
// ever, it stopped (SERVER-78657; only the first patches of 7.0 have both).
func (r Release) SplitsSessions() bool { return r.AtLeast(Release42) && !r.AutoMerges() }

// ForcesJumbo reports whether the balancer may ask donors to move chunks that are
// too large.
func (r Release) ForcesJumbo() bool { return r.AtLeast(Release44) }

// CleanupDelay is how long shards wait by default until they delete what they gave away.
func (r Release) CleanupDelay() time.Duration {
	if r.AtLeast(Release82) {
		return time.Hour
	}
	return 15 * time.Minute
}

// HasModes reports whether the setting mode exists beside stopped, and the balancer runs on
// the config servers, which has it hold its lock for good. Before that each
// router has a balancer and takes the lock for a round.
func (r Release) HasModes() bool { return r.AtLeast(Release34) }

// LocksBalancer reports whether a balancer holds a lock in config.locks. That of
// the config servers did so for the sake of old routers, and no longer does in 3.6.
func (r Release) LocksBalancer() bool { return !r.AtLeast(Release36) }

// SpillsToDisk reports whether stages that keep much go to the disk unless the
// command forbids it.
func (r Release) SpillsToDisk() bool { return r.AtLeast(Release60) }

// HasMaxShardSize reports whether config.shards may have a maxSize.
func (r Release) HasMaxShardSize() bool { return !r.AtLeast(Release60) }

// DefaultChunkSize returns the chunk size in bytes where none is set.
func (r Release) DefaultChunkSize() int64 {
	if r.BalancesBySize() {
		return DefaultMaxChunkSizeBytes
	}
	return 64 << 20
}
