package catalog

// The functions below describe what has changed after 8.0.10, in some cases with a patch. "Inferred"
// means that the fact was not read in the code of that release (docs/releases.md).

// DonorBelongsToZone reports whether the donor of data of a zone is the largest shard of the zone, and
// not the largest of all shards (SERVER-115962). It is inferred that 8.1 has the old behaviour and 8.3
// the new one.
func (r Release) DonorBelongsToZone() bool {
	if r.Line() == Release80 {
		return r.binaryAtLeast(Release80, 20)
	}
	return r.binaryAtLeast(Release82, 6)
}

// FirstWithDonorFix returns the first release with DonorBelongsToZone to which a server can be
// upgraded.
func (r Release) FirstWithDonorFix() Release {
	if r.binaryAtLeast(Release81, 0) {
		return Release82.WithPatch(6)
	}
	return Release80.WithPatch(20)
}

// DrainingShardsDonate reports whether a draining shard can be the donor of a migration that balances
// sizes. It is inferred for 8.1.
func (r Release) DrainingShardsDonate() bool { return !r.binaryAtLeast(Release82, 0) }

// ForcesDrains reports whether chunks are moved off draining shards whatever their size. It is inferred
// that 8.2.6 is the first patch that does not (SERVER-116528); 9.0 does not.
func (r Release) ForcesDrains() bool { return r.ForcesJumbo() && !r.binaryAtLeast(Release82, 6) }

// ChecksMachineIDs reports whether a round begins with a comparison of the shards' machine ids. It is
// inferred that 9.0 is the first release that does not.
func (r Release) ChecksMachineIDs() bool { return !r.binaryAtLeast(Release90, 0) }

// SendsEpoch reports whether the epoch of the collection is sent to donors. It is inferred that 9.0 is
// the first release that does not.
func (r Release) SendsEpoch() bool { return !r.binaryAtLeast(Release90, 0) }

// HasChunkOperationsFlag reports whether collections have the flag allowChunkOperations.
func (r Release) HasChunkOperationsFlag() bool { return r.binaryAtLeast(Release90, 0) }

// ShardsOwnMetadata reports whether each shard stores the metadata of its own chunks, while routers and
// the balancer read config.chunks. It depends on the compatibility version.
func (r Release) ShardsOwnMetadata() bool { return r.FCVAtLeast(Release90) }

// RandomMovesByDonor reports whether the fail point for random migrations also moves collections of
// config, and leaves the end of the range to the donor.
func (r Release) RandomMovesByDonor() bool { return r.binaryAtLeast(Release90, 0) }

// WarnsOfMissingRecipients reports whether the server logs a warning if no shard of a zone can receive data.
func (r Release) WarnsOfMissingRecipients() bool { return r.binaryAtLeast(Release82, 0) }

// HasBalanceUnshardedFlag reports whether servers have the feature flag that would let the balancer move
// unsharded collections. The flag is off. It is inferred that it was removed in 9.0 and not in 8.3.
func (r Release) HasBalanceUnshardedFlag() bool {
	return r.binaryAtLeast(Release80, 0) && !r.binaryAtLeast(Release90, 0)
}

// ChecksMovedRanges reports whether config servers check the bounds of a move against the shard key and
// the chunks before they send the command to a shard.
func (r Release) ChecksMovedRanges() bool { return r.binaryAtLeast(Release90, 0) }

// FindsMaxKeyZones reports whether config servers check once for zones that end at MaxKey followed by
// MinKey. It is inferred that this depends on the compatibility version.
func (r Release) FindsMaxKeyZones() bool { return r.FCVAtLeast(Release90) }

// EndsReadsOfOrphans reports whether a read on a secondary that began before a chunk moved away ends
// with an error when the chunk's documents are deleted.
func (r Release) EndsReadsOfOrphans() bool { return r.binaryAtLeast(Release82, 0) }

// FindsDeletionsWithoutIndex reports whether checkMetadataConsistency finds range deletions without an
// index on the shard key.
func (r Release) FindsDeletionsWithoutIndex() bool { return r.binaryAtLeast(Release82, 0) }

// ShowsServiceField reports whether serverStatus has the field service.
func (r Release) ShowsServiceField() bool { return !r.binaryAtLeast(Release83, 0) }

// WildcardServesKey reports whether a compound wildcard index that begins with the shard key counts as
// an index on the shard key (SERVER-103774). It is inferred that 8.1 has the old behaviour.
func (r Release) WildcardServesKey() bool {
	if r.Line() == Release80 {
		return !r.binaryAtLeast(Release80, 18)
	}
	return !r.binaryAtLeast(Release82, 2)
}

// ParsesBalancerSettingsStrictly reports whether the settings of the balancer are parsed as one
// structure, so that an unknown mode is an error whatever else is set. The codes are inferred.
func (r Release) ParsesBalancerSettingsStrictly() bool { return r.binaryAtLeast(Release83, 0) }

// ReadsDayWindows reports whether the windows of weekdays apply.
func (r Release) ReadsDayWindows() bool { return r.FCVAtLeast(Release83) }

// IgnoresDayWindows reports whether the server knows the windows of weekdays, but ignores them with a
// warning because of the feature compatibility version.
func (r Release) IgnoresDayWindows() bool {
	return r.binaryAtLeast(Release83, 0) && !r.ReadsDayWindows()
}

// YieldsNullsInArrays reports whether a path of a query yields null for each element of an array that is not
// a document, and for an empty array (SERVER-36681). It is inferred that this depends on the binary and
// not on the compatibility version: a parameter restores the old behaviour.
func (r Release) YieldsNullsInArrays() bool { return r.binaryAtLeast(Release90, 0) }

// ChecksChunkHistories reports whether checkMetadataConsistency checks the histories of chunks
// (SERVER-104975). It is inferred that 8.0.20 does, and that 8.1 and 8.2 do not.
func (r Release) ChecksChunkHistories() bool {
	if r.Line() == Release80 {
		return r.binaryAtLeast(Release80, 20)
	}
	return r.binaryAtLeast(Release83, 0)
}

// FindsMalformedBuckets reports whether checkMetadataConsistency finds buckets collections of a time
// series without its options. It is inferred that 8.3 is the first release that does, and not 9.0.
func (r Release) FindsMalformedBuckets() bool { return r.binaryAtLeast(Release83, 0) }

// HasDrainCommands reports whether the removal of a shard has separate commands, including one that
// returns the progress without changing anything, and one that stops the draining.
func (r Release) HasDrainCommands() bool { return r.FCVAtLeast(Release83) }

// AllowsCommitShardRemoval reports whether the command that ends a removal is allowed.
func (r Release) AllowsCommitShardRemoval() bool { return r.FCVAtLeast(Release82) }

// SupportsIgnoreRemovedShards reports whether change streams support the option ignoreRemovedShards.
func (r Release) SupportsIgnoreRemovedShards() bool { return r.FCVAtLeast(Release83) }

// RefusesEmptyGroupFields reports whether a field of $group must have a name. It is inferred that this
// depends on the binary and not on the compatibility version.
func (r Release) RefusesEmptyGroupFields() bool { return r.binaryAtLeast(Release90, 0) }

// DropsOrphansOfConfig reports whether a config server that is not a shard any more immediately drops
// its collections, including those with pending range deletions, instead of waiting for the deletions
// (SERVER-103990). It is inferred that 8.3 and 9.0 do.
func (r Release) DropsOrphansOfConfig() bool { return r.binaryAtLeast(Release82, 7) }

// SamplesQueryStats reports whether servers by default keep statistics of one query in a hundred, and
// $queryStats returns them in groups.
func (r Release) SamplesQueryStats() bool { return r.binaryAtLeast(Release90, 0) }

// CountsOverload reports whether routers count, by shard, the requests that a shard refused because it
// was overloaded. It is inferred that 8.0 and 8.2 do from the patches on in which the limits are on.
func (r Release) CountsOverload() bool {
	if r.Line() == Release80 {
		return r.binaryAtLeast(Release80, 20)
	}
	return r.binaryAtLeast(Release82, 0)
}

// FindsIncompatibleUniqueIndexes reports whether checkMetadataConsistency finds unique indexes of sharded
// collections that do not begin with the shard key.
func (r Release) FindsIncompatibleUniqueIndexes() bool { return r.binaryAtLeast(Release90, 0) }

// ShowsCriticalSections reports whether serverStatus of shards counts the critical sections in
// progress.
func (r Release) ShowsCriticalSections() bool { return r.binaryAtLeast(Release83, 0) }
