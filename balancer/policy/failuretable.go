package policy

import "shardsh/balancer/mongoerr"

// The table of failures: the codes of rules/02-migration-and-metadata §5.10, and of what is on the way
// to the shards. It is the one place where an error of a move, a split or a merge is explained:
// docs/failures.md and the tests are made from it.

const (
	readAnew    = "Nothing: the catalog is read anew, and what is still to be done is done."
	waitForIt   = "Nothing: it is tried again after a while."
	seeTheShard = "See whether the members of the shard run and keep up: rs.status() on it."
	duplicates  = "Find the documents on the recipient itself that a mongos does not show (orphans), or that have the " +
		"same _id; remove them, or move the range elsewhere."
	splitIt = "Split the chunk where its keys allow it; a chunk of one key needs a better shard key. forceJumbo moves " +
		"it by hand, and blocks its writes meanwhile."
	rangeDeletion = "Wait: 15 minutes after a migration (orphanCleanupDelaySecs), longer while queries or cursors are " +
		"open on the range."
	wrongCommand = "A mistake of this program, or a release it does not know: tell its authors, with the message."
)

// raceFailures lost against somebody else who changed the same.
var raceFailures = []FailureInfo{
	{mongoerr.BadValue, "", AgainNow, "The chunks were changed while the command was carried out.", readAnew},
	{mongoerr.IllegalOperation, "", AgainNow,
		"The range is no row of whole chunks any more, or there is only one shard.", readAnew},
	{mongoerr.NamespaceNotFound, "", AgainNow, "The collection was dropped or renamed.", readAnew},
	{mongoerr.CursorNotFound, "", AgainNow, "What was being read ended too early.", readAnew},
	{mongoerr.ShardNotFound, "", AgainNow, "The recipient is draining or was removed.", readAnew},
	{mongoerr.IncompatibleShardingMetadata, "", AgainNow,
		"The catalog has no such chunk, or its history is younger than the command.", readAnew},
	{mongoerr.NamespaceNotSharded, "", AgainNow, "The collection is not sharded any more.", readAnew},
	{mongoerr.StaleEpoch, "", AgainNow, "The collection was dropped and made again, or resharded.", readAnew},
	{mongoerr.QueryPlanKilled, "", AgainNow, "What was being read was dropped or moved meanwhile.", readAnew},
	{mongoerr.InvalidUUID, "", AgainNow, "The collection was dropped and made again.", readAnew},
	{mongoerr.UpdateOperationFailed, "", AgainNow, "Chunks were changed at the moment of the commit.", readAnew},
	{mongoerr.SnapshotUnavailable, "", AgainNow, "The catalog was changed while it was read.", readAnew},
	{mongoerr.StaleDbVersion, "", AgainNow, "The database was moved or made again.", readAnew},
	{mongoerr.OrphanedRangeCleanUpFailed, "", AgainNow,
		"The range has moved; what was left on the donor could not be deleted yet.",
		"Nothing: the donor deletes it later."},
	{mongoerr.MigrationConflict, "", AgainNow, "The chunk moved while the command was carried out.", readAnew},
	{mongoerr.StaleConfig, "", AgainNow, "The shard knows other chunks than the catalog told.", readAnew},
	{mongoerr.CommitNoChunk, "", AgainNow, "No chunk has the range in it any more.", readAnew},
	{mongoerr.CommitThirdShard, "", AgainNow, "The range is on a third shard by now.", readAnew},
	{mongoerr.ClearJumboNoSuchChunk, "", AgainNow, "The bounds are those of no chunk any more.", readAnew},
	{mongoerr.ClearJumboChunkVanished, "", AgainNow, "The chunk is gone.", readAnew},
	{mongoerr.ClearJumboNoMatch, "", AgainNow, "The chunk was changed meanwhile.", readAnew},
	{mongoerr.EstimateNotWritten, "", AgainNow, "The chunk that was measured is gone.", readAnew},
}

// laterFailures may be gone after a while.
var laterFailures = []FailureInfo{
	{mongoerr.LockTimeout, "", AgainLater, "Something has the collection locked, such as an index build.", waitForIt},
	{mongoerr.LockBusy, "", AgainLater, "An operation on the collection or its database has it locked.", waitForIt},
	{mongoerr.MaxTimeMSExpired, "", AgainLater, "A server took longer than it was given.", waitForIt},
	{mongoerr.WriteConcernFailed, "", AgainLater,
		"The secondaries did not follow in time: they lag, or too few of them run.", seeTheShard},
	{mongoerr.OperationIncomplete, "", AgainLater, "The recipient takes part in another migration.", waitForIt},
	{mongoerr.CallbackCanceled, "", AgainLater, "A server is on its way down.", waitForIt},
	{mongoerr.OperationFailed, "overlapping range deletion", AgainLater, "The recipient still has to delete data of the " +
		"range that it gave away.", rangeDeletion},
	{mongoerr.OperationFailed, "ExceededTimeLimit", AgainLater, "The recipient still has to delete data of the range " +
		"that it gave away, or took too long.", rangeDeletion},
	{mongoerr.OperationFailed, "", AgainLater, "The recipient failed before the commit; the message says why.",
		"Read the message, and the log of the recipient if it goes on."},
	{mongoerr.WriteConflict, "", AgainLater, "Writes got in each other's way.", waitForIt},
	{mongoerr.ConflictingOperationInProgress, "", AgainLater,
		"A shard takes part in another migration, or migrations of the collection are forbidden for now.",
		"Nothing, unless it goes on: sh.why(namespace) says what forbids it."},
	{mongoerr.CommandFailed, "", AgainLater, "The recipient was late for the commit.", seeTheShard},
	{mongoerr.FailedToSatisfyReadPreference, "", AgainLater, "A shard has no primary at the moment.", seeTheShard},
	{mongoerr.BalancerInterrupted, "", AgainLater, "The config server has another primary.", waitForIt},
	{mongoerr.ChunkRangeCleanupPending, "", AgainLater, "The recipient still has to delete data of the range that it " +
		"gave away.", rangeDeletion},
	{mongoerr.NetworkInterfaceExceededTimeLimit, "", AgainLater, "A server did not answer another in time.", seeTheShard},
	{mongoerr.ShardingStateNotInitialized, "", AgainLater, "A shard has just begun to run.", waitForIt},
	{mongoerr.DatabaseDropPending, "", AgainLater, "The database is being dropped.", waitForIt},
	{mongoerr.SessionTransferIncomplete, "", AgainLater, "The histories of writes did not come over in time.", waitForIt},
	{mongoerr.ExceededTimeLimit, "", AgainLater,
		"A shard still has to delete data of the range, or the range was written to faster than it was copied.",
		rangeDeletion},
	{mongoerr.IndexBuildAlreadyInProgress, "", AgainLater, "An index is being built.", waitForIt},
	{mongoerr.ObjectIsBusy, "", AgainLater, "The collection is in use by an operation of the server's own.", waitForIt},
	{mongoerr.MovePrimaryInProgress, "", AgainLater, "The database is moving to another primary shard.", waitForIt},
	{mongoerr.ReshardCollectionInProgress, "", AgainLater, "The collection is being resharded.",
		"Wait for it, or db.adminCommand({ abortReshardCollection: namespace })."},
	{mongoerr.ShardCannotRefreshDueToLocksHeld, "", AgainLater, "A shard could not read the catalog.", waitForIt},
	{mongoerr.TemporarilyUnavailable, "", AgainLater, "A server has too much to do.", waitForIt},
	{mongoerr.AddOrRemoveShardInProgress, "", AgainLater, "A shard is being added or removed.", waitForIt},
	{mongoerr.LegacyNotPrimary, "", AgainLater, "A shard has no primary at the moment.", seeTheShard},
	{mongoerr.Interrupted, "", AgainLater,
		"Somebody ended the operation (killOp), or an index of the collection was made or dropped meanwhile.",
		"Nothing, unless somebody wants it to end: stop this run then."},
	{mongoerr.BackgroundOperationInProgressForDatabase, "", AgainLater, "An index is being built.", waitForIt},
	{mongoerr.BackgroundOperationInProgressForNamespace, "", AgainLater, "An index is being built.", waitForIt},
	{mongoerr.RetriableRemoteCommandFailure, "", AgainLater, "The config server has another primary.", waitForIt},
	{mongoerr.HostUnreachable, "", AgainLater, "A server can't be reached.", seeTheShard},
	{mongoerr.HostNotFound, "", AgainLater, "A server's name is not known to another.", seeTheShard},
	{mongoerr.NetworkTimeout, "", AgainLater, "A server did not answer another in time.", seeTheShard},
	{mongoerr.ShutdownInProgress, "", AgainLater, "A server is on its way down.", waitForIt},
	{mongoerr.ReadConcernMajorityNotAvailableYet, "", AgainLater, "A shard has just begun to run.", waitForIt},
	{mongoerr.PrimarySteppedDown, "", AgainLater, "A shard has another primary.", waitForIt},
	{mongoerr.ConnectionPoolExpired, "", AgainLater, "Connections between servers were cut.", waitForIt},
	{mongoerr.InternalTransactionNotSupported, "", AgainLater, "Members are being upgraded.", waitForIt},
	{mongoerr.ConnectionError, "", AgainLater, "Connections between servers were cut.", seeTheShard},
	{mongoerr.ResourceExhausted, "", AgainLater, "A server has too much to do.", waitForIt},
	{mongoerr.PooledConnectionAcquisitionExceededTimeLimit, "", AgainLater, "A server has too much to do.", waitForIt},
	{mongoerr.UpdatesStillPending, "", AgainLater, "Updates are still on their way.", waitForIt},
	{mongoerr.SocketException, "", AgainLater, "Connections between servers were cut.", seeTheShard},
	{mongoerr.NotWritablePrimary, "", AgainLater, "A shard has another primary.", waitForIt},
	{mongoerr.InterruptedAtShutdown, "", AgainLater, "A server is on its way down.", waitForIt},
	{mongoerr.InterruptedDueToReplStateChange, "", AgainLater, "A shard has another primary.", waitForIt},
	{mongoerr.NotPrimaryNoSecondaryOk, "", AgainLater, "A shard has another primary.", waitForIt},
	{mongoerr.NotPrimaryOrSecondary, "", AgainLater, "A member is being recovered.", waitForIt},
	{mongoerr.BackupCursorOpenConflictWithCheckpoint, "", AgainLater, "A backup is being taken.", waitForIt},
}

// rangeFailures are of the range, and would be the same again.
var rangeFailures = []FailureInfo{
	{mongoerr.UnknownError, "", SkipRange, noCode.Meaning, noCode.Remedy},
	{mongoerr.CannotSplit, "", SkipRange, "The chunk can't be split there: all its keys are one, or it is cut already.",
		"Nothing; a chunk of one key needs a better shard key."},
	{mongoerr.OperationFailed, "duplicate key", SkipRange,
		"The recipient has documents with the same _id, or a unique key, outside of the range.", duplicates},
	{mongoerr.OperationFailed, "same _id", SkipRange,
		"The recipient has documents with the same _id outside of the range.", duplicates},
	{mongoerr.DuplicateKey, "", SkipRange,
		"The recipient has documents with the same _id, or a unique key, outside of the range.", duplicates},
	{mongoerr.SameIDOutsideRange, "", SkipRange, "The recipient has documents with the same _id outside of the range.",
		duplicates},
	{mongoerr.ExceededMemoryLimit, "", SkipRange,
		"The range is written to faster than it can be copied: more than 500 MiB of changes.",
		"Move it when there are fewer writes, or split it."},
	{mongoerr.ChunkTooBig, "", SkipRange, "There is too much in the range to be moved at once.", splitIt},
}

// askFailures need somebody.
var askFailures = []FailureInfo{
	{mongoerr.FailedToParse, "", Ask, "The server does not understand the command: _secondaryThrottle of the balancer's " +
		"settings may be set without a write concern.", "Look at config.settings, _id balancer."},
	{mongoerr.Unauthorized, "", Ask, "The user may not do this.", "Give it the role of the engine: see docs/live.md."},
	{mongoerr.AuthenticationFailed, "", Ask, "The user or the password is wrong.", "Log in as somebody else."},
	{mongoerr.IndexNotFound, "", Ask, "A shard lacks the index of the shard key, or that of _id.",
		"Make the index: db.collection.createIndex(shardKey), with a mongos."},
	{mongoerr.CommandNotFound, "", Ask, "The server's release does not have the command.", wrongCommand},
	{mongoerr.ShardKeyNotFound, "", Ask, "The bounds are no keys of the collection.", wrongCommand},
	{mongoerr.InvalidOptions, "", Ask, "The server takes an option of the command for wrong.", wrongCommand},
	{mongoerr.OperationFailed, "find valid index", Ask, "A shard lacks the index of the shard key.",
		"Make the index: db.collection.createIndex(shardKey), with a mongos."},
	{mongoerr.OperationFailed, "InvalidUUID", Ask,
		"The recipient has another collection of this name, with a UUID of its own.",
		"Look into it on the recipient itself, save what matters, drop it there."},
	{mongoerr.OperationFailed, "CannotCreateCollection", Ask,
		"The recipient has the collection without all of its indexes, and documents in it.",
		"Make the missing indexes on the recipient, or remove the orphans there."},
	{mongoerr.UnsatisfiableWriteConcern, "", Ask,
		"The write concern of the secondary throttle asks for more members than a shard has.",
		"Change _secondaryThrottle and its writeConcern in config.settings, _id balancer."},
	{mongoerr.CannotCreateCollection, "", Ask,
		"The recipient has the collection without all of its indexes, and documents in it.",
		"Make the missing indexes on the recipient, or remove the orphans there."},
	{mongoerr.ResumableRangeDeleterDisabled, "", Ask,
		"Data of the range has to be deleted first, and the range deleter of the shard is switched off.",
		"Start the shard's members with disableResumableRangeDeleter: false."},
	{mongoerr.KeyPatternShorterThanBound, "", Ask, "The bounds of a zone have more fields than the shard key.",
		"Set the ranges of the zone anew: sh.zones(), sh.updateZoneKeyRange()."},
	{mongoerr.UserWritesBlocked, "", Ask, "Writes of users are blocked in this cluster.",
		"Let whoever blocked them (setUserWriteBlockMode) allow them again."},
	{mongoerr.OutOfDiskSpace, "", Ask, "A shard has no room on its disk.",
		"Make room, or take the shard out of the goal."},
	{mongoerr.BoundFieldMismatch, "", Ask, "The bounds of a zone do not fit the shard key.",
		"Set the ranges of the zone anew: sh.zones(), sh.updateZoneKeyRange()."},
	{mongoerr.MajorVersionExhausted, "", Ask, "The collection's versions are used up.",
		"db.adminCommand({ refineCollectionShardKey: … }) or a resharding begins anew."},
	{mongoerr.MinorVersionExhausted, "", Ask, "The collection's versions are used up.",
		"Move any chunk of the collection by hand: that begins a new major version."},
	{mongoerr.CommitWithoutVersion, "", Ask, "Servers of different releases do not understand each other.",
		"Bring all members to one release."},
	{mongoerr.ClearJumboFindWithoutKey, "", Ask, "The search is not by the shard key.", wrongCommand},
	{mongoerr.EstimateNegative, "", Ask, "A size that was measured is below zero.", wrongCommand},
}
