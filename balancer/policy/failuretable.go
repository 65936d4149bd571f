package policy

import "shardsh/balancer/mongoerr"

// The table of failures: the codes of rules/02-migration-and-metadata §5.10, and of what is on the way
// to the shards. It is the one place where an error of a move, a split or a merge is explained:
// docs/failures.md and the tests are made from it.

const (
	readAnew    = "No action: shardsh reads the catalog again and continues."
	waitForIt   = "No action: shardsh tries again later."
	seeTheShard = "If it goes on: check that the members of the shard run and keep up, with rs.status()."
	duplicates  = "Find orphans, or documents with the same _id, on the recipient itself; remove them, or " +
		"move the range " +
		"elsewhere."
	splitIt = "Split the chunk; a chunk of one key needs a better shard key. forceJumbo moves it by hand, and blocks " +
		"writes meanwhile."
	rangeDeletion = "Wait for range deletion: 15 minutes after a migration (orphanCleanupDelaySecs), " +
		"longer while queries " +
		"or cursors are open on the range."
	wrongCommand = "A bug in shardsh, or an unknown release: please report it, with the message."
)

// raceFailures are lost races: something else changed the same.
var raceFailures = []FailureInfo{
	{mongoerr.BadValue, "", AgainNow, "The chunks were changed while the command was carried out.", readAnew},
	{mongoerr.IllegalOperation, "", AgainNow,
		"The range is no longer made of whole chunks, or there is only one shard.", readAnew},
	{mongoerr.NamespaceNotFound, "", AgainNow, "The collection was dropped or renamed.", readAnew},
	{mongoerr.CursorNotFound, "", AgainNow, "A cursor ended too early.", readAnew},
	{mongoerr.ShardNotFound, "", AgainNow, "The recipient is draining or was removed.", readAnew},
	{mongoerr.IncompatibleShardingMetadata, "", AgainNow,
		"The catalog has no such chunk, or its history is newer than the command.", readAnew},
	{mongoerr.NamespaceNotSharded, "", AgainNow, "The collection is not sharded any more.", readAnew},
	{mongoerr.StaleEpoch, "", AgainNow, "The collection was dropped and made again, or resharded.", readAnew},
	{mongoerr.QueryPlanKilled, "", AgainNow, "The collection was dropped or moved during a read.", readAnew},
	{mongoerr.InvalidUUID, "", AgainNow, "The collection was dropped and made again.", readAnew},
	{mongoerr.UpdateOperationFailed, "", AgainNow, "Chunks were changed during the commit.", readAnew},
	{mongoerr.SnapshotUnavailable, "", AgainNow, "The catalog was changed while it was read.", readAnew},
	{mongoerr.StaleDbVersion, "", AgainNow, "The database was moved or made again.", readAnew},
	{mongoerr.OrphanedRangeCleanUpFailed, "", AgainNow,
		"The range has moved; its orphans could not be deleted yet.",
		"No action: the donor deletes them later."},
	{mongoerr.MigrationConflict, "", AgainNow, "The chunk moved while the command was carried out.", readAnew},
	{mongoerr.StaleConfig, "", AgainNow, "The shard has newer metadata than the catalog that was read.", readAnew},
	{mongoerr.CommitNoChunk, "", AgainNow, "No chunk contains the range any more.", readAnew},
	{mongoerr.CommitThirdShard, "", AgainNow, "The range is on a third shard by now.", readAnew},
	{mongoerr.ClearJumboNoSuchChunk, "", AgainNow, "No chunk has these bounds any more.", readAnew},
	{mongoerr.ClearJumboChunkVanished, "", AgainNow, "The chunk is gone.", readAnew},
	{mongoerr.ClearJumboNoMatch, "", AgainNow, "The chunk was changed.", readAnew},
	{mongoerr.EstimateNotWritten, "", AgainNow, "The measured chunk is gone.", readAnew},
}

// laterFailures may pass.
var laterFailures = []FailureInfo{
	{mongoerr.LockTimeout, "", AgainLater, "The collection is locked, for example by an index build.", waitForIt},
	{mongoerr.LockBusy, "", AgainLater, "The collection or its database is locked.", waitForIt},
	{mongoerr.MaxTimeMSExpired, "", AgainLater, "A server exceeded its time limit.", waitForIt},
	{mongoerr.WriteConcernFailed, "", AgainLater,
		"Secondaries lag, or too few of them run.", seeTheShard},
	{mongoerr.OperationIncomplete, "", AgainLater, "The recipient takes part in another migration.", waitForIt},
	{mongoerr.CallbackCanceled, "", AgainLater, "A server is shutting down.", waitForIt},
	{mongoerr.OperationFailed, "overlapping range deletion", AgainLater, "The recipient has orphans of the range.",
		rangeDeletion},
	{mongoerr.OperationFailed, "ExceededTimeLimit", AgainLater, "The recipient has orphans of the range, or took " +
		"too long.", rangeDeletion},
	{mongoerr.OperationFailed, "", AgainLater, "The recipient failed before the commit; the message says why.",
		"If it goes on: read the message, and the log of the recipient."},
	{mongoerr.WriteConflict, "", AgainLater, "Concurrent writes conflicted.", waitForIt},
	{mongoerr.ConflictingOperationInProgress, "", AgainLater,
		"A shard takes part in another migration, or migrations of the collection are forbidden.",
		"If it goes on: sh.why(namespace) names what forbids it."},
	{mongoerr.CommandFailed, "", AgainLater, "The recipient was too slow for the commit.", seeTheShard},
	{mongoerr.FailedToSatisfyReadPreference, "", AgainLater, "A shard has no primary at the moment.", seeTheShard},
	{mongoerr.BalancerInterrupted, "", AgainLater, "The config server has another primary.", waitForIt},
	{mongoerr.ChunkRangeCleanupPending, "", AgainLater, "The recipient has orphans of the range.", rangeDeletion},
	{mongoerr.NetworkInterfaceExceededTimeLimit, "", AgainLater, "A server did not answer another one in time.",
		seeTheShard},
	{mongoerr.ShardingStateNotInitialized, "", AgainLater, "A shard has just started.", waitForIt},
	{mongoerr.DatabaseDropPending, "", AgainLater, "The database is being dropped.", waitForIt},
	{mongoerr.SessionTransferIncomplete, "", AgainLater, "The session history was not transferred in time.", waitForIt},
	{mongoerr.ExceededTimeLimit, "", AgainLater,
		"A shard has orphans of the range, or writes were faster than the copy.",
		rangeDeletion},
	{mongoerr.IndexBuildAlreadyInProgress, "", AgainLater, "An index is being built.", waitForIt},
	{mongoerr.ObjectIsBusy, "", AgainLater, "An internal operation uses the collection.", waitForIt},
	{mongoerr.MovePrimaryInProgress, "", AgainLater, "The database is moving to another primary shard.", waitForIt},
	{mongoerr.ReshardCollectionInProgress, "", AgainLater, "The collection is being resharded.",
		"Wait for it, or db.adminCommand({ abortReshardCollection: namespace })."},
	{mongoerr.ShardCannotRefreshDueToLocksHeld, "", AgainLater, "A shard could not read the catalog.", waitForIt},
	{mongoerr.TemporarilyUnavailable, "", AgainLater, "A server is overloaded.", waitForIt},
	{mongoerr.IngressRequestRateLimitExceeded, "", AgainLater, "A server is too busy to take requests.", waitForIt},
	{mongoerr.SearchOverloaded, "", AgainLater, "A server is too busy for searches.", waitForIt},
	{mongoerr.AddOrRemoveShardInProgress, "", AgainLater, "A shard is being added or removed.", waitForIt},
	{mongoerr.LegacyNotPrimary, "", AgainLater, "A shard has no primary at the moment.", seeTheShard},
	{mongoerr.Interrupted, "", AgainLater,
		"killOp ended the operation, or an index of the collection was created or dropped.",
		"No action, unless somebody wants this run to end."},
	{mongoerr.BackgroundOperationInProgressForDatabase, "", AgainLater, "An index is being built.", waitForIt},
	{mongoerr.BackgroundOperationInProgressForNamespace, "", AgainLater, "An index is being built.", waitForIt},
	{mongoerr.RetriableRemoteCommandFailure, "", AgainLater, "The config server has another primary.", waitForIt},
	{mongoerr.HostUnreachable, "", AgainLater, "A server can't be reached.", seeTheShard},
	{mongoerr.HostNotFound, "", AgainLater, "A server can't resolve the name of another one.", seeTheShard},
	{mongoerr.NetworkTimeout, "", AgainLater, "A server did not answer another one in time.", seeTheShard},
	{mongoerr.ShutdownInProgress, "", AgainLater, "A server is shutting down.", waitForIt},
	{mongoerr.ReadConcernMajorityNotAvailableYet, "", AgainLater, "A shard has just started.", waitForIt},
	{mongoerr.PrimarySteppedDown, "", AgainLater, "A shard has another primary.", waitForIt},
	{mongoerr.ConnectionPoolExpired, "", AgainLater, "Connections between servers broke.", waitForIt},
	{mongoerr.InternalTransactionNotSupported, "", AgainLater, "Members are being upgraded.", waitForIt},
	{mongoerr.ConnectionError, "", AgainLater, "Connections between servers broke.", seeTheShard},
	{mongoerr.ResourceExhausted, "", AgainLater, "A server is overloaded.", waitForIt},
	{mongoerr.PooledConnectionAcquisitionExceededTimeLimit, "", AgainLater, "A server is overloaded.", waitForIt},
	{mongoerr.UpdatesStillPending, "", AgainLater, "Updates are still pending.", waitForIt},
	{mongoerr.SocketException, "", AgainLater, "Connections between servers broke.", seeTheShard},
	{mongoerr.NotWritablePrimary, "", AgainLater, "A shard has another primary.", waitForIt},
	{mongoerr.InterruptedAtShutdown, "", AgainLater, "A server is shutting down.", waitForIt},
	{mongoerr.InterruptedDueToReplStateChange, "", AgainLater, "A shard has another primary.", waitForIt},
	{mongoerr.NotPrimaryNoSecondaryOk, "", AgainLater, "A shard has another primary.", waitForIt},
	{mongoerr.NotPrimaryOrSecondary, "", AgainLater, "A member is recovering.", waitForIt},
	{mongoerr.BackupCursorOpenConflictWithCheckpoint, "", AgainLater, "A backup is being taken.", waitForIt},
}

// rangeFailures would repeat for the range.
var rangeFailures = []FailureInfo{
	{mongoerr.UnknownError, "", SkipRange, noCode.Meaning, noCode.Remedy},
	{mongoerr.CannotSplit, "", SkipRange, "The chunk can't be split there: it has one key only, or is split already.",
		"No action; a chunk of one key needs a better shard key."},
	{mongoerr.OperationFailed, "duplicate key", SkipRange,
		"The recipient has documents with the same _id or unique key outside the range.", duplicates},
	{mongoerr.OperationFailed, "same _id", SkipRange,
		"The recipient has documents with the same _id outside the range.", duplicates},
	{mongoerr.DuplicateKey, "", SkipRange,
		"The recipient has documents with the same _id or unique key outside the range.", duplicates},
	{mongoerr.SameIDOutsideRange, "", SkipRange, "The recipient has documents with the same _id outside the range.",
		duplicates},
	{mongoerr.ExceededMemoryLimit, "", SkipRange,
		"Writes to the range are faster than the copy: more than 500 MiB of changes.",
		"Move it when there are fewer writes, or split it."},
	{mongoerr.ChunkTooBig, "", SkipRange, "The range is too large to move.", splitIt},
}

// askFailures need an operator.
var askFailures = []FailureInfo{
	{mongoerr.FailedToParse, "", Ask, "The server can't parse the command: perhaps _secondaryThrottle is set without a " +
		"write concern.", "Check config.settings, _id balancer."},
	{mongoerr.Unauthorized, "", Ask, "The user lacks privileges.", "Grant the role shardshEngine: see docs/live.md."},
	{mongoerr.AuthenticationFailed, "", Ask, "Wrong user or password.", "Check the login."},
	{mongoerr.IndexNotFound, "", Ask, "A shard lacks the index of the shard key, or that of _id.",
		"Create it through a mongos: db.collection.createIndex(shardKey)."},
	{mongoerr.CommandNotFound, "", Ask, "The server's release does not have the command.", wrongCommand},
	{mongoerr.ShardKeyNotFound, "", Ask, "The bounds do not match the shard key.", wrongCommand},
	{mongoerr.InvalidOptions, "", Ask, "The server rejects an option of the command.", wrongCommand},
	{mongoerr.OperationFailed, "find valid index", Ask, "A shard lacks the index of the shard key.",
		"Create it through a mongos: db.collection.createIndex(shardKey)."},
	{mongoerr.OperationFailed, "InvalidUUID", Ask,
		"The recipient has another collection of this name, with another UUID.",
		"Look into it on the recipient itself, save what matters, and drop it there."},
	{mongoerr.OperationFailed, "CannotCreateCollection", Ask,
		"The recipient has the collection with documents, but not all of its indexes.",
		"Create the missing indexes on the recipient, or remove the orphans there."},
	{mongoerr.UnsatisfiableWriteConcern, "", Ask,
		"The write concern of the secondary throttle needs more members than a shard has.",
		"Change _secondaryThrottle and its writeConcern in config.settings, _id balancer."},
	{mongoerr.CannotCreateCollection, "", Ask,
		"The recipient has the collection with documents, but not all of its indexes.",
		"Create the missing indexes on the recipient, or remove the orphans there."},
	{mongoerr.ResumableRangeDeleterDisabled, "", Ask,
		"Orphans of the range must be deleted first, and the range deleter is disabled.",
		"Restart the shard's members with disableResumableRangeDeleter: false."},
	{mongoerr.KeyPatternShorterThanBound, "", Ask, "The bounds of a zone have more fields than the shard key.",
		"Set the zone ranges again: sh.zones(), sh.updateZoneKeyRange()."},
	{mongoerr.UserWritesBlocked, "", Ask, "User writes are blocked in this cluster.",
		"Allow them again with setUserWriteBlockMode."},
	{mongoerr.OutOfDiskSpace, "", Ask, "The disk of a shard is full.",
		"Free space, or exclude the shard from the goal."},
	{mongoerr.BoundFieldMismatch, "", Ask, "The bounds of a zone do not fit the shard key.",
		"Set the zone ranges again: sh.zones(), sh.updateZoneKeyRange()."},
	{mongoerr.MajorVersionExhausted, "", Ask, "The collection's versions are used up.",
		"db.adminCommand({ refineCollectionShardKey: … }) or a resharding starts over."},
	{mongoerr.MinorVersionExhausted, "", Ask, "The collection's versions are used up.",
		"Move any chunk of the collection by hand: that begins a new major version."},
	{mongoerr.CommitWithoutVersion, "", Ask, "Servers of different releases do not understand each other.",
		"Bring all members to one release."},
	{mongoerr.ClearJumboFindWithoutKey, "", Ask, "The query does not use the shard key.", wrongCommand},
	{mongoerr.EstimateNegative, "", Ask, "A measured size is negative.", wrongCommand},
}
