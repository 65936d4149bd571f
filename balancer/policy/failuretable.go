package policy

import (
	"strings"

	"shardsh/balancer/mongoerr"
)

// The variables in this file are the table of failures: the codes of rules/02-migration-and-metadata
// §5.10, and codes of errors between the router and the shards. It is the only place where an error of
// a move, a split or a merge is explained: docs/failures.md and the tests are generated from it.

const (
	remedyReread     = "No action: shardsh reads the catalog again and continues."
	remedyWait       = "No action: shardsh tries again later."
	remedyCheckShard = "If it goes on: check that the members of the shard run and keep up, with rs.status()."
	remedyDuplicates = "Find orphans, or documents with the same _id, on the recipient itself; remove them, or " +
		"move the range elsewhere."
	remedySplit = "Split the chunk; a chunk of one key needs a better shard key. forceJumbo moves it by hand, and " +
		"blocks writes meanwhile."
	remedyWaitForDeletion = "Wait for range deletion: 15 minutes after a migration (orphanCleanupDelaySecs), " +
		"longer while queries or cursors are open on the range."
	remedyReportBug = "A bug in shardsh, or an unknown release: please report it, with the message."
)

// raceFailures are lost races: another operation has changed the same data.
var raceFailures = []FailureInfo{
	{mongoerr.BadValue, "", RetryNow, "The chunks were changed while the command was carried out.", remedyReread},
	{mongoerr.IllegalOperation, "", RetryNow,
		"The range is no longer made of whole chunks, or there is only one shard.", remedyReread},
	{mongoerr.NamespaceNotFound, "", RetryNow, "The collection was dropped or renamed.", remedyReread},
	{mongoerr.CursorNotFound, "", RetryNow, "A cursor ended too early.", remedyReread},
	{mongoerr.ShardNotFound, "", RetryNow, "The recipient is draining or was removed.", remedyReread},
	{mongoerr.IncompatibleShardingMetadata, "", RetryNow,
		"The catalog has no such chunk, or its history is newer than the command.", remedyReread},
	{mongoerr.NamespaceNotSharded, "", RetryNow, "The collection is not sharded any more.", remedyReread},
	{mongoerr.StaleEpoch, "", RetryNow, "The collection was dropped and made again, or resharded.", remedyReread},
	{mongoerr.QueryPlanKilled, "", RetryNow, "The collection was dropped or moved during a read.", remedyReread},
	{mongoerr.InvalidUUID, "", RetryNow, "The collection was dropped and made again.", remedyReread},
	{mongoerr.UpdateOperationFailed, "", RetryNow, "Chunks were changed during the commit.", remedyReread},
	{mongoerr.SnapshotUnavailable, "", RetryNow, "The catalog was changed while it was read.", remedyReread},
	{mongoerr.StaleDbVersion, "", RetryNow, "The database was moved or made again.", remedyReread},
	{mongoerr.OrphanedRangeCleanUpFailed, "", RetryNow,
		"The range has moved; its orphans could not be deleted yet.",
		"No action: the donor deletes them later."},
	{mongoerr.MigrationConflict, "", RetryNow, "The chunk moved while the command was carried out.", remedyReread},
	{mongoerr.StaleConfig, "", RetryNow, "The shard has newer metadata than the catalog that was read.", remedyReread},
	{mongoerr.CommitNoChunk, "", RetryNow, "No chunk contains the range any more.", remedyReread},
	{mongoerr.CommitOnThirdShard, "", RetryNow, "The range is on a third shard by now.", remedyReread},
	{mongoerr.ClearJumboNoSuchChunk, "", RetryNow, "No chunk has these bounds any more.", remedyReread},
	{mongoerr.ClearJumboChunkVanished, "", RetryNow, "The chunk is gone.", remedyReread},
	{mongoerr.ClearJumboNoMatch, "", RetryNow, "The chunk was changed.", remedyReread},
	{mongoerr.EstimateNotWritten, "", RetryNow, "The measured chunk is gone.", remedyReread},
}

// orphansNotClearedPart is a part of the message OrphansNotCleared of 8.0.10. The messages of other
// releases name an overlapping range deletion.
const orphansNotClearedPart = "orphans cleanup routine"

// OrphansNotCleared is the error message of a recipient that has not deleted its orphaned documents of
// the range yet.
const OrphansNotCleared = "Migration failed because the " + orphansNotClearedPart +
	" didn't clear yet a portion of the " +
	"range being migrated that was previously owned by the recipient shard."

// IsOrphansError reports whether a migration failed because the recipient has orphaned documents of the
// range that it has not deleted yet. The code alone does not tell, since it is used for many errors.
func IsOrphansError(err error) bool {
	return strings.Contains(err.Error(), orphansNotClearedPart) ||
		strings.Contains(err.Error(), "overlapping range deletion") || mongoerr.Is(err, mongoerr.ChunkRangeCleanupPending)
}

// temporaryFailures pass: a retry after a while may succeed.
var temporaryFailures = []FailureInfo{
	{mongoerr.LockTimeout, "", RetryLater, "The collection is locked, for example by an index build.", remedyWait},
	{mongoerr.LockBusy, "", RetryLater, "The collection or its database is locked.", remedyWait},
	{mongoerr.MaxTimeMSExpired, "", RetryLater, "A server exceeded its time limit.", remedyWait},
	{mongoerr.WriteConcernFailed, "", RetryLater,
		"Secondaries lag, or too few of them run.", remedyCheckShard},
	{mongoerr.OperationIncomplete, "", RetryLater, "The recipient takes part in another migration.", remedyWait},
	{mongoerr.CallbackCanceled, "", RetryLater, "A server is shutting down.", remedyWait},
	{mongoerr.OperationFailed, orphansNotClearedPart, RetryLater, "The recipient has orphans of the range.",
		remedyWaitForDeletion},
	{mongoerr.OperationFailed, "overlapping range deletion", RetryLater, "The recipient has orphans of the range.",
		remedyWaitForDeletion},
	{mongoerr.OperationFailed, "ExceededTimeLimit", RetryLater, "The recipient has orphans of the range, or took " +
		"too long.", remedyWaitForDeletion},
	{mongoerr.OperationFailed, "", RetryLater, "The recipient failed before the commit; the message says why.",
		"If it goes on: read the message, and the log of the recipient."},
	{mongoerr.WriteConflict, "", RetryLater, "Concurrent writes conflicted.", remedyWait},
	{mongoerr.ConflictingOperationInProgress, "", RetryLater,
		"A shard takes part in another migration, or migrations of the collection are forbidden.",
		"If it goes on: sh.why(namespace) names what forbids it."},
	{mongoerr.CommandFailed, "", RetryLater, "The recipient was too slow for the commit.", remedyCheckShard},
	{mongoerr.FailedToSatisfyReadPreference, "", RetryLater, "A shard has no primary at the moment.", remedyCheckShard},
	{mongoerr.BalancerInterrupted, "", RetryLater, "The config server has another primary.", remedyWait},
	{mongoerr.ChunkRangeCleanupPending, "", RetryLater, "The recipient has orphans of the range.", remedyWaitForDeletion},
	{mongoerr.NetworkInterfaceExceededTimeLimit, "", RetryLater, "A server did not answer another one in time.",
		remedyCheckShard},
	{mongoerr.ShardingStateNotInitialized, "", RetryLater, "A shard has just started.", remedyWait},
	{mongoerr.DatabaseDropPending, "", RetryLater, "The database is being dropped.", remedyWait},
	{mongoerr.SessionTransferIncomplete, "", RetryLater, "The session history was not transferred in time.", remedyWait},
	{mongoerr.ExceededTimeLimit, "", RetryLater,
		"A shard has orphans of the range, or writes were faster than the copy.",
		remedyWaitForDeletion},
	{mongoerr.IndexBuildAlreadyInProgress, "", RetryLater, "An index is being built.", remedyWait},
	{mongoerr.ObjectIsBusy, "", RetryLater, "An internal operation uses the collection.", remedyWait},
	{mongoerr.MovePrimaryInProgress, "", RetryLater, "The database is moving to another primary shard.", remedyWait},
	{mongoerr.ReshardCollectionInProgress, "", RetryLater, "The collection is being resharded.",
		"Wait for it, or db.adminCommand({ abortReshardCollection: namespace })."},
	{mongoerr.ShardCannotRefreshDueToLocksHeld, "", RetryLater, "A shard could not read the catalog.", remedyWait},
	{mongoerr.TemporarilyUnavailable, "", RetryLater, "A server is overloaded.", remedyWait},
	{mongoerr.IngressRequestRateLimitExceeded, "", RetryLater, "A server is too busy to take requests.", remedyWait},
	{mongoerr.SearchOverloaded, "", RetryLater, "A server is too busy for searches.", remedyWait},
	{mongoerr.AddOrRemoveShardInProgress, "", RetryLater, "A shard is being added or removed.", remedyWait},
	{mongoerr.LegacyNotPrimary, "", RetryLater, "A shard has no primary at the moment.", remedyCheckShard},
	{mongoerr.Interrupted, "", RetryLater,
		"killOp ended the operation, or an index of the collection was created or dropped.",
		"No action, unless somebody wants this run to end."},
	{mongoerr.BackgroundOperationInProgressForDatabase, "", RetryLater, "An index is being built.", remedyWait},
	{mongoerr.BackgroundOperationInProgressForNamespace, "", RetryLater, "An index is being built.", remedyWait},
	{mongoerr.RetriableRemoteCommandFailure, "", RetryLater, "The config server has another primary.", remedyWait},
	{mongoerr.HostUnreachable, "", RetryLater, "A server can't be reached.", remedyCheckShard},
	{mongoerr.HostNotFound, "", RetryLater, "A server can't resolve the name of another one.", remedyCheckShard},
	{mongoerr.NetworkTimeout, "", RetryLater, "A server did not answer another one in time.", remedyCheckShard},
	{mongoerr.ShutdownInProgress, "", RetryLater, "A server is shutting down.", remedyWait},
	{mongoerr.ReadConcernMajorityNotAvailableYet, "", RetryLater, "A shard has just started.", remedyWait},
	{mongoerr.PrimarySteppedDown, "", RetryLater, "A shard has another primary.", remedyWait},
	{mongoerr.ConnectionPoolExpired, "", RetryLater, "Connections between servers broke.", remedyWait},
	{mongoerr.InternalTransactionNotSupported, "", RetryLater, "Members are being upgraded.", remedyWait},
	{mongoerr.ConnectionError, "", RetryLater, "Connections between servers broke.", remedyCheckShard},
	{mongoerr.ResourceExhausted, "", RetryLater, "A server is overloaded.", remedyWait},
	{mongoerr.PooledConnectionAcquisitionExceededTimeLimit, "", RetryLater, "A server is overloaded.", remedyWait},
	{mongoerr.UpdatesStillPending, "", RetryLater, "Updates are still pending.", remedyWait},
	{mongoerr.SocketException, "", RetryLater, "Connections between servers broke.", remedyCheckShard},
	{mongoerr.NotWritablePrimary, "", RetryLater, "A shard has another primary.", remedyWait},
	{mongoerr.InterruptedAtShutdown, "", RetryLater, "A server is shutting down.", remedyWait},
	{mongoerr.InterruptedDueToReplStateChange, "", RetryLater, "A shard has another primary.", remedyWait},
	{mongoerr.NotPrimaryNoSecondaryOk, "", RetryLater, "A shard has another primary.", remedyWait},
	{mongoerr.NotPrimaryOrSecondary, "", RetryLater, "A member is recovering.", remedyWait},
	{mongoerr.BackupCursorOpenConflictWithCheckpoint, "", RetryLater, "A backup is being taken.", remedyWait},
}

// rangeFailures would be repeated for the range.
var rangeFailures = []FailureInfo{
	{mongoerr.UnknownError, "", SkipRange, failureWithoutCode.Meaning, failureWithoutCode.Remedy},
	{mongoerr.CannotSplit, "", SkipRange, "The chunk can't be split there: it has one key only, or is split already.",
		"No action; a chunk of one key needs a better shard key."},
	{mongoerr.OperationFailed, "duplicate key", SkipRange,
		"The recipient has documents with the same _id or unique key outside the range.", remedyDuplicates},
	{mongoerr.OperationFailed, "same _id", SkipRange,
		"The recipient has documents with the same _id outside the range.", remedyDuplicates},
	{mongoerr.DuplicateKey, "", SkipRange,
		"The recipient has documents with the same _id or unique key outside the range.", remedyDuplicates},
	{mongoerr.SameIDOutsideRange, "", SkipRange, "The recipient has documents with the same _id outside the range.",
		remedyDuplicates},
	{mongoerr.ExceededMemoryLimit, "", SkipRange,
		"Writes to the range are faster than the copy: more than 500 MiB of changes.",
		"Move it when there are fewer writes, or split it."},
	{mongoerr.ChunkTooBig, "", SkipRange, "The range is too large to move.", remedySplit},
}

// operatorFailures can be resolved only by an operator.
var operatorFailures = []FailureInfo{
	{
		mongoerr.FailedToParse,
		"",
		AskOperator,
		"The server can't parse the command: perhaps _secondaryThrottle is set without a write concern.",
		"Check config.settings, _id balancer.",
	},
	{
		mongoerr.Unauthorized,
		"",
		AskOperator,
		"The user lacks privileges.",
		"Grant the role shardshEngine: see docs/live.md.",
	},
	{mongoerr.AuthenticationFailed, "", AskOperator, "Wrong user or password.", "Check the login."},
	{mongoerr.IndexNotFound, "", AskOperator, "A shard lacks the index of the shard key, or that of _id.",
		"Create it through a mongos: db.collection.createIndex(shardKey)."},
	{mongoerr.CommandNotFound, "", AskOperator, "The server's release does not have the command.", remedyReportBug},
	{mongoerr.ShardKeyNotFound, "", AskOperator, "The bounds do not match the shard key.", remedyReportBug},
	{mongoerr.InvalidOptions, "", AskOperator, "The server rejects an option of the command.", remedyReportBug},
	{mongoerr.OperationFailed, "find valid index", AskOperator, "A shard lacks the index of the shard key.",
		"Create it through a mongos: db.collection.createIndex(shardKey)."},
	{mongoerr.OperationFailed, "InvalidUUID", AskOperator,
		"The recipient has another collection of this name, with another UUID.",
		"Look into it on the recipient itself, save what matters, and drop it there."},
	{mongoerr.OperationFailed, "CannotCreateCollection", AskOperator,
		"The recipient has the collection with documents, but not all of its indexes.",
		"Create the missing indexes on the recipient, or remove the orphans there."},
	{mongoerr.UnsatisfiableWriteConcern, "", AskOperator,
		"The write concern of the secondary throttle needs more members than a shard has.",
		"Change _secondaryThrottle and its writeConcern in config.settings, _id balancer."},
	{mongoerr.CannotCreateCollection, "", AskOperator,
		"The recipient has the collection with documents, but not all of its indexes.",
		"Create the missing indexes on the recipient, or remove the orphans there."},
	{mongoerr.ResumableRangeDeleterDisabled, "", AskOperator,
		"Orphans of the range must be deleted first, and the range deleter is disabled.",
		"Restart the shard's members with disableResumableRangeDeleter: false."},
	{mongoerr.KeyPatternShorterThanBound, "", AskOperator, "The bounds of a zone have more fields than the shard key.",
		"Set the zone ranges again: sh.zones(), sh.updateZoneKeyRange()."},
	{mongoerr.UserWritesBlocked, "", AskOperator, "User writes are blocked in this cluster.",
		"Allow them again with setUserWriteBlockMode."},
	{mongoerr.OutOfDiskSpace, "", AskOperator, "The disk of a shard is full.",
		"Free space, or exclude the shard from the goal."},
	{mongoerr.BoundFieldMismatch, "", AskOperator, "The bounds of a zone do not fit the shard key.",
		"Set the zone ranges again: sh.zones(), sh.updateZoneKeyRange()."},
	{mongoerr.MajorVersionExhausted, "", AskOperator, "The collection's versions are used up.",
		"db.adminCommand({ refineCollectionShardKey: … }) or a resharding starts over."},
	{mongoerr.MinorVersionExhausted, "", AskOperator, "The collection's versions are used up.",
		"Move any chunk of the collection by hand: that begins a new major version."},
	{mongoerr.CommitWithoutVersion, "", AskOperator, "Servers of different releases do not understand each other.",
		"Bring all members to one release."},
	{mongoerr.ClearJumboFindWithoutKey, "", AskOperator, "The query does not use the shard key.", remedyReportBug},
	{mongoerr.EstimateNegative, "", AskOperator, "A measured size is negative.", remedyReportBug},
}
