package catalog

// The switches below name what changed after 8.0.10, some of it with a patch. Those that say
// "inferred" were not read in the code of that release (docs/releases.md).

// DonorBelongsToZone reports whether the shard that gives data of a zone is the largest of
// the zone, and not the largest of all (SERVER-115962). That 8.1 has the old way, and 8.3 the
// new one, is inferred.
func (r Release) DonorBelongsToZone() bool {
	if r.Line() == Release80 {
		return r.binaryAtLeast(Release80, 20)
	}
	return r.binaryAtLeast(Release82, 6)
}

// FirstWithDonorFix returns the first release with DonorBelongsToZone that one can upgrade to.
func (r Release) FirstWithDonorFix() Release {
	if r.binaryAtLeast(Release81, 0) {
		return Release82.WithPatch(6)
	}
	return Release80.WithPatch(20)
}

// DrainingShardsDonate reports whether a draining shard can be the donor when the balancer evens out
// sizes. That it is so in 8.1 is inferred.
func (r Release) DrainingShardsDonate() bool { return !r.binaryAtLeast(Release82, 0) }

// ForcesDrains reports whether chunks are moved from draining shards whatever their size.
// That this ended with 8.2.6 is inferred (SERVER-116528); 9.0 does not.
func (r Release) ForcesDrains() bool { return r.ForcesJumbo() && !r.binaryAtLeast(Release82, 6) }

// ChecksMachineIDs reports whether a round begins with a comparison of the machine ids of
// shards. That this ended with 9.0 and not before is inferred.
func (r Release) ChecksMachineIDs() bool { return !r.binaryAtLeast(Release90, 0) }

// SendsEpoch reports whether donors are sent the epoch of the collection. That this ended
// with 9.0 and not before is inferred.
func (r Release) SendsEpoch() bool { return !r.binaryAtLeast(Release90, 0) }

// BlocksChunkOperations reports whether collections have the flag allowChunkOperations.
func (r Release) BlocksChunkOperations() bool { return r.binaryAtLeast(Release90, 0) }

// ShardsOwnMetadata reports whether each shard keeps the metadata of the chunks that it owns,
// and config.chunks is what routers and the balancer read. It goes by the compatibility version.
func (r Release) ShardsOwnMetadata() bool { return r.AtLeast(Release90) }

// RandomMovesByDonor reports whether the fail point for random migrations moves collections of
// config, too, and leaves the end of the range to the donor.
func (r Release) RandomMovesByDonor() bool { return r.binaryAtLeast(Release90, 0) }

// WarnsOfRecipients reports whether it is a warning that no shard of a zone can receive data.
func (r Release) WarnsOfRecipients() bool { return r.binaryAtLeast(Release82, 0) }

// KnowsUnshardedFlag reports whether servers have the feature flag that would let the balancer move
// collections that are not sharded. It is off; that it went with 9.0 and not with 8.3 is inferred.
func (r Release) KnowsUnshardedFlag() bool {
	return r.binaryAtLeast(Release80, 0) && !r.binaryAtLeast(Release90, 0)
}

// ChecksMovedRanges reports whether config servers compare the bounds of a move with the shard
// key and the chunks, before a shard is asked.
func (r Release) ChecksMovedRanges() bool { return r.binaryAtLeast(Release90, 0) }

// FindsMaxKeyZones reports whether config servers look once for zones that end at MaxKey followed
// by MinKey. That it goes by the compatibility version is inferred.
func (r Release) FindsMaxKeyZones() bool { return r.AtLeast(Release90) }

// EndsReadsOfOrphans reports whether reads of secondaries that began before a chunk went away end
// with an error when its documents are deleted.
func (r Release) EndsReadsOfOrphans() bool { return r.binaryAtLeast(Release82, 0) }

// FindsLostDeletions reports whether checkMetadataConsistency finds range deletions that lack an
// index on the shard key.
func (r Release) FindsLostDeletions() bool { return r.binaryAtLeast(Release82, 0) }

// ShowsServices reports whether serverStatus has the field service.
func (r Release) ShowsServices() bool { return !r.binaryAtLeast(Release83, 0) }

// WildcardServesKey reports whether a compound wildcard index that begins with the shard key
// counts as one of its indexes (SERVER-103774). That 8.1 has the old way is inferred.
func (r Release) WildcardServesKey() bool {
	if r.Line() == Release80 {
		return !r.binaryAtLeast(Release80, 18)
	}
	return !r.binaryAtLeast(Release82, 2)
}

// ParsesBalancerSettingsStrictly reports whether the settings of the balancer are read as one structure: a
// mode that is unknown fails, whatever else is set. The codes are inferred.
func (r Release) ParsesBalancerSettingsStrictly() bool { return r.binaryAtLeast(Release83, 0) }

// ReadsDayWindows reports whether the windows of weekdays apply; IgnoresDayWindows whether
// they are known, and left out with a warning for the sake of the feature compatibility version.
func (r Release) ReadsDayWindows() bool { return r.AtLeast(Release83) }

// IgnoresDayWindows is explained at ReadsDayWindows.
func (r Release) IgnoresDayWindows() bool {
	return r.binaryAtLeast(Release83, 0) && !r.ReadsDayWindows()
}

// NullsInArrays reports whether a path of a query leads to null at each element of an array
// that is not a document, and at an empty array (SERVER-36681). That it goes by the server and
// not by the compatibility version is inferred: a parameter brings the old way back.
func (r Release) NullsInArrays() bool { return r.binaryAtLeast(Release90, 0) }

// FindsChunkHistories reports whether checkMetadataConsistency looks at the histories of chunks
// (SERVER-104975). That 8.0.20 has it, and 8.1 and 8.2 do not, is inferred.
func (r Release) FindsChunkHistories() bool {
	if r.Line() == Release80 {
		return r.binaryAtLeast(Release80, 20)
	}
	return r.binaryAtLeast(Release83, 0)
}

// FindsMalformedBuckets reports whether checkMetadataConsistency finds buckets of a time series
// without its options. That it began with 8.3 and not with 9.0 is inferred.
func (r Release) FindsMalformedBuckets() bool { return r.binaryAtLeast(Release83, 0) }

// HasDrainCommands reports whether the steps of a removal of a shard have commands of their own, of
// which one says how far it is without changing anything, and one takes it back.
func (r Release) HasDrainCommands() bool { return r.AtLeast(Release83) }

// CommitsRemovals reports whether the command that ends a removal is allowed.
func (r Release) CommitsRemovals() bool { return r.AtLeast(Release82) }

// IgnoresRemovedShards reports whether change streams take the option of that name.
func (r Release) IgnoresRemovedShards() bool { return r.AtLeast(Release83) }

// RefusesEmptyGroupFields reports whether a field of $group must have a name. That it goes by the
// server and not by the compatibility version is inferred.
func (r Release) RefusesEmptyGroupFields() bool { return r.binaryAtLeast(Release90, 0) }

// DropsOrphansOfConfig reports whether a config server that is not a shard any more drops what it holds
// at once, its range deletions too, instead of waiting for these (SERVER-103990). That 8.3 and 9.0 have
// it is inferred.
func (r Release) DropsOrphansOfConfig() bool { return r.binaryAtLeast(Release82, 7) }

// SamplesQueries reports whether servers keep statistics of one query in a hundred without being
// told to, and $queryStats shows them in groups.
func (r Release) SamplesQueries() bool { return r.binaryAtLeast(Release90, 0) }

// CountsOverload reports whether routers count by shard the requests that were refused because it had
// too much to do. That 8.0 and 8.2 have it from the patches with the limits on is inferred.
func (r Release) CountsOverload() bool {
	if r.Line() == Release80 {
		return r.binaryAtLeast(Release80, 20)
	}
	return r.binaryAtLeast(Release82, 0)
}

// FindsUniqueIndexes reports whether checkMetadataConsistency finds unique indexes of sharded
// collections that do not begin with the shard key.
func (r Release) FindsUniqueIndexes() bool { return r.binaryAtLeast(Release90, 0) }

// ShowsCriticalSections reports whether serverStatus of shards counts the critical sections that
// are held.
func (r Release) ShowsCriticalSections() bool { return r.binaryAtLeast(Release83, 0) }
