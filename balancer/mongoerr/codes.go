package mongoerr

// The codes of spec 03 §5.1 and a few of the table in spec 02 §5.10.
const (
	InternalError                                               Code = 1
	BadValue                                                    Code = 2
	NoSuchKey                                                   Code = 4
	GraphContainsCycle                                          Code = 5
	HostUnreachable                                             Code = 6
	HostNotFound                                                Code = 7
	UnknownError                                                Code = 8
	FailedToParse                                               Code = 9
	UserNotFound                                                Code = 11
	Unauthorized                                                Code = 13
	TypeMismatch                                                Code = 14
	Overflow                                                    Code = 15
	InvalidLength                                               Code = 16
	ProtocolError                                               Code = 17
	AuthenticationFailed                                        Code = 18
	IllegalOperation                                            Code = 20
	InvalidBSON                                                 Code = 22
	AlreadyInitialized                                          Code = 23
	LockTimeout                                                 Code = 24
	NamespaceNotFound                                           Code = 26
	IndexNotFound                                               Code = 27
	PathNotViable                                               Code = 28
	RoleNotFound                                                Code = 31
	CannotBackfillArray                                         Code = 34
	FileRenameFailed                                            Code = 39
	ConflictingUpdateOperators                                  Code = 40
	CursorNotFound                                              Code = 43
	LockBusy                                                    Code = 46
	NoMatchingDocument                                          Code = 47
	NamespaceExists                                             Code = 48
	InvalidRoleModification                                     Code = 49
	MaxTimeMSExpired                                            Code = 50
	DollarPrefixedFieldName                                     Code = 52
	InvalidIdField                                              Code = 53
	NotSingleValueField                                         Code = 54
	InvalidDBRef                                                Code = 55
	EmptyFieldName                                              Code = 56
	DottedFieldName                                             Code = 57
	CommandNotFound                                             Code = 59
	ShardKeyNotFound                                            Code = 61
	WriteConcernFailed                                          Code = 64
	MultipleErrorsOccurred                                      Code = 65
	ImmutableField                                              Code = 66
	CannotCreateIndex                                           Code = 67
	ShardNotFound                                               Code = 70
	InvalidOptions                                              Code = 72
	InvalidNamespace                                            Code = 73
	NoReplicationEnabled                                        Code = 76
	OperationIncomplete                                         Code = 77
	UnknownReplWriteConcern                                     Code = 79
	IndexOptionsConflict                                        Code = 85
	IndexKeySpecsConflict                                       Code = 86
	CannotSplit                                                 Code = 87
	NetworkTimeout                                              Code = 89
	CallbackCanceled                                            Code = 90
	ShutdownInProgress                                          Code = 91
	OperationFailed                                             Code = 96
	UnsatisfiableWriteConcern                                   Code = 100
	IncompatibleShardingMetadata                                Code = 105
	WriteConflict                                               Code = 112
	CommandNotSupported                                         Code = 115
	ConflictingOperationInProgress                              Code = 117
	NamespaceNotSharded                                         Code = 118
	DocumentValidationFailure                                   Code = 121
	NotAReplicaSet                                              Code = 123
	CommandFailed                                               Code = 125
	RPCProtocolNegotiationFailed                                Code = 126
	FailedToSatisfyReadPreference                               Code = 133
	ReadConcernMajorityNotAvailableYet                          Code = 134
	CappedPositionLost                                          Code = 136
	CursorInUse                                                 Code = 143
	ExceededMemoryLimit                                         Code = 146
	StaleEpoch                                                  Code = 150
	ChunkTooBig                                                 Code = 153
	CollectionIsEmpty                                           Code = 162
	ZoneStillInUse                                              Code = 163
	CommandNotSupportedOnView                                   Code = 166
	InvalidPipelineOperator                                     Code = 168
	CannotIndexParallelArrays                                   Code = 171
	QueryPlanKilled                                             Code = 175
	ZoneNotFound                                                Code = 177
	RangeOverlapConflict                                        Code = 178
	ClientMetadataAppNameTooLarge                               Code = 184
	ClientMetadataDocumentTooLarge                              Code = 185
	ClientMetadataCannotBeMutated                               Code = 186
	LinearizableReadConcernError                                Code = 187
	IncompatibleServerVersion                                   Code = 188
	PrimarySteppedDown                                          Code = 189
	BalancerInterrupted                                         Code = 194
	InvalidIndexSpecificationOption                             Code = 197
	ChunkRangeCleanupPending                                    Code = 200
	NetworkInterfaceExceededTimeLimit                           Code = 202
	ShardingStateNotInitialized                                 Code = 203
	InvalidUUID                                                 Code = 207
	DatabaseDropPending                                         Code = 215
	UpdateOperationFailed                                       Code = 218
	TransactionTooOld                                           Code = 225
	CannotImplicitlyCreateCollection                            Code = 227
	SessionTransferIncomplete                                   Code = 228
	RetryChangeStream                                           Code = 234
	CursorKilled                                                Code = 237
	NotImplemented                                              Code = 238
	SnapshotTooOld                                              Code = 239
	ConversionFailure                                           Code = 241
	CannotCreateCollection                                      Code = 242
	SnapshotUnavailable                                         Code = 246
	StaleDbVersion                                              Code = 249
	StaleChunkHistory                                           Code = 250
	NoSuchTransaction                                           Code = 251
	TooManyLogicalSessions                                      Code = 261
	TransactionCommitted                                        Code = 256
	ExceededTimeLimit                                           Code = 262
	OperationNotSupportedInTransaction                          Code = 263
	OrphanedRangeCleanUpFailed                                  Code = 265
	PreparedTransactionInProgress                               Code = 267
	MigrationConflict                                           Code = 272
	IndexBuildAborted                                           Code = 276
	ClientDisconnect                                            Code = 279
	ChangeStreamFatalError                                      Code = 280
	TransactionCoordinatorReachedAbortDecision                  Code = 282
	WouldChangeOwningShard                                      Code = 283
	IndexBuildAlreadyInProgress                                 Code = 285
	InvalidResumeToken                                          Code = 260
	ChangeStreamHistoryLost                                     Code = 286
	TransactionExceededLifetimeLimitSeconds                     Code = 290
	NoQueryExecutionPlans                                       Code = 291
	QueryExceededMemoryLimitNoDiskUseAllowed                    Code = 292
	RangeDeletionAbandonedBecauseCollectionWithUUIDDoesNotExist Code = 300
	RangeDeletionAbandonedBecauseTaskDocumentDoesNotExist       Code = 307
	ResumableRangeDeleterDisabled                               Code = 313
	ObjectIsBusy                                                Code = 314
	ConnectionPoolExpired                                       Code = 317
	MovePrimaryInProgress                                       Code = 319
	APIVersionError                                             Code = 322
	APIStrictError                                              Code = 323
	APIDeprecationError                                         Code = 324
	MechanismUnavailable                                        Code = 334
	ReshardCollectionInProgress                                 Code = 338
	NoSuchReshardCollection                                     Code = 339
	ReshardCollectionCommitted                                  Code = 340
	ReshardCollectionAborted                                    Code = 341
	ReshardingCriticalSectionTimeout                            Code = 342
	ShardCannotRefreshDueToLocksHeld                            Code = 343
	KeyPatternShorterThanBound                                  Code = 349
	ReshardCollectionTruncatedError                             Code = 350
	UnsupportedOpQueryCommand                                   Code = 352
	InterruptedDueToStorageChange                               Code = 355
	InternalTransactionNotSupported                             Code = 358
	CollectionUUIDMismatch                                      Code = 361
	TemporarilyUnavailable                                      Code = 365
	CannotDropShardKeyIndex                                     Code = 370
	UserWritesBlocked                                           Code = 371
	ConnectionError                                             Code = 384
	InvalidSignature                                            Code = 390
	ReauthenticationRequired                                    Code = 391
	ResourceExhausted                                           Code = 402
	UnsupportedShardingEventNotification                        Code = 403
	CannotCreateChunkDistribution                               Code = 405
	MigrationBlockingOperationCoordinatorCleaningUp             Code = 406
	PooledConnectionAcquisitionExceededTimeLimit                Code = 407
	UpdatesStillPending                                         Code = 412
	AddOrRemoveShardInProgress                                  Code = 414
	SocketException                                             Code = 9001
	LegacyNotPrimary                                            Code = 10058
	NotWritablePrimary                                          Code = 10107
	BSONObjectTooLarge                                          Code = 10334
	DuplicateKey                                                Code = 11000
	InterruptedAtShutdown                                       Code = 11600
	Interrupted                                                 Code = 11601
	InterruptedDueToReplStateChange                             Code = 11602
	BackgroundOperationInProgressForDatabase                    Code = 12586
	BackgroundOperationInProgressForNamespace                   Code = 12587
	DatabaseDifferCase                                          Code = 13297
	StaleConfig                                                 Code = 13388
	NotPrimaryNoSecondaryOk                                     Code = 13435
	NotPrimaryOrSecondary                                       Code = 13436
	OutOfDiskSpace                                              Code = 14031
	NamespaceCannotBeSharded                                    Code = 28769
	IDLDuplicateField                                           Code = 40413
	IDLFailedToParse                                            Code = 40414
	IDLUnknownField                                             Code = 40415
	ClientMarkedKilled                                          Code = 46841
	NotARetryableWriteCommand                                   Code = 50768
	BackupCursorOpenConflictWithCheckpoint                      Code = 50915
	ConfigServerUnreachable                                     Code = 56846
	RetryableInternalTransactionNotSupported                    Code = 57986
	RetriableRemoteCommandFailure                               Code = 91331
	SearchNotEnabled                                            Code = 31082
	CannotConvertIndexToUnique                                  Code = 359
)

// Codes without a name of their own (spec 03 §5.2); the server shows them as
// Location<code>. The names here are ours.
const (
	WrongFieldType           Code = 13111
	SameMachineIDs           Code = 13258
	BoundFieldMismatch       Code = 16634
	CollStatsSpec            Code = 40166
	UnknownStage             Code = 40324
	StageNotFirst            Code = 40602
	GetMoreForeignSession    Code = 50799
	GetMoreWithoutSession    Code = 50800
	GetMoreOtherSession      Code = 50801
	ClearJumboFindWithoutKey Code = 51260
	ClearJumboNoSuchChunk    Code = 51261
	ClearJumboChunkVanished  Code = 51262
	RoleExists               Code = 51002
	UserExists               Code = 51003
	HelloNegativeCounter     Code = 51758
	HelloNegativeWait        Code = 51759
	HelloAwaitIncomplete     Code = 51760
	MoveChunkFindWithoutKey  Code = 656450
	NoAPIVersion             Code = 4886600
	AlreadyAuthenticated     Code = 5626703
	MoveChunkBadBound        Code = 656451
	MoveChunkNoSuchChunk     Code = 656452
	CollStatsScale           Code = 4390200
	CollStatsScaleType       Code = 4390201
	ShardBucketsCollection   Code = 5731501
	ShardEncryptionState     Code = 6464401
	NoIndexAndNotImplicit    Code = 6373200
	DataDistributionSpec     Code = 6789100
	DataDistributionNotAdmin Code = 6789102

	ClusterCatalogOnCollection Code = 9621301
	ClusterCatalogSpec         Code = 9621302
)

var names = map[Code]string{
	ConversionFailure:                          "ConversionFailure",
	CannotIndexParallelArrays:                  "CannotIndexParallelArrays",
	InternalError:                              "InternalError",
	BadValue:                                   "BadValue",
	NoSuchKey:                                  "NoSuchKey",
	GraphContainsCycle:                         "GraphContainsCycle",
	HostUnreachable:                            "HostUnreachable",
	HostNotFound:                               "HostNotFound",
	UnknownError:                               "UnknownError",
	FailedToParse:                              "FailedToParse",
	UserNotFound:                               "UserNotFound",
	Unauthorized:                               "Unauthorized",
	TypeMismatch:                               "TypeMismatch",
	Overflow:                                   "Overflow",
	InvalidLength:                              "InvalidLength",
	ProtocolError:                              "ProtocolError",
	AuthenticationFailed:                       "AuthenticationFailed",
	IllegalOperation:                           "IllegalOperation",
	InvalidBSON:                                "InvalidBSON",
	AlreadyInitialized:                         "AlreadyInitialized",
	LockTimeout:                                "LockTimeout",
	NamespaceNotFound:                          "NamespaceNotFound",
	IndexNotFound:                              "IndexNotFound",
	PathNotViable:                              "PathNotViable",
	RoleNotFound:                               "RoleNotFound",
	CannotBackfillArray:                        "CannotBackfillArray",
	FileRenameFailed:                           "FileRenameFailed",
	ConflictingUpdateOperators:                 "ConflictingUpdateOperators",
	CursorNotFound:                             "CursorNotFound",
	LockBusy:                                   "LockBusy",
	NoMatchingDocument:                         "NoMatchingDocument",
	NamespaceExists:                            "NamespaceExists",
	InvalidRoleModification:                    "InvalidRoleModification",
	MaxTimeMSExpired:                           "MaxTimeMSExpired",
	DollarPrefixedFieldName:                    "DollarPrefixedFieldName",
	InvalidIdField:                             "InvalidIdField",
	NotSingleValueField:                        "NotSingleValueField",
	InvalidDBRef:                               "InvalidDBRef",
	EmptyFieldName:                             "EmptyFieldName",
	DottedFieldName:                            "DottedFieldName",
	CommandNotFound:                            "CommandNotFound",
	ShardKeyNotFound:                           "ShardKeyNotFound",
	WriteConcernFailed:                         "WriteConcernFailed",
	MultipleErrorsOccurred:                     "MultipleErrorsOccurred",
	ImmutableField:                             "ImmutableField",
	CannotCreateIndex:                          "CannotCreateIndex",
	ShardNotFound:                              "ShardNotFound",
	InvalidOptions:                             "InvalidOptions",
	InvalidNamespace:                           "InvalidNamespace",
	NoReplicationEnabled:                       "NoReplicationEnabled",
	OperationIncomplete:                        "OperationIncomplete",
	UnknownReplWriteConcern:                    "UnknownReplWriteConcern",
	IndexOptionsConflict:                       "IndexOptionsConflict",
	IndexKeySpecsConflict:                      "IndexKeySpecsConflict",
	CannotSplit:                                "CannotSplit",
	NetworkTimeout:                             "NetworkTimeout",
	CallbackCanceled:                           "CallbackCanceled",
	ShutdownInProgress:                         "ShutdownInProgress",
	OperationFailed:                            "OperationFailed",
	UnsatisfiableWriteConcern:                  "UnsatisfiableWriteConcern",
	IncompatibleShardingMetadata:               "IncompatibleShardingMetadata",
	WriteConflict:                              "WriteConflict",
	CommandNotSupported:                        "CommandNotSupported",
	ConflictingOperationInProgress:             "ConflictingOperationInProgress",
	NamespaceNotSharded:                        "NamespaceNotSharded",
	DocumentValidationFailure:                  "DocumentValidationFailure",
	NotAReplicaSet:                             "NotAReplicaSet",
	CommandFailed:                              "CommandFailed",
	RPCProtocolNegotiationFailed:               "RPCProtocolNegotiationFailed",
	FailedToSatisfyReadPreference:              "FailedToSatisfyReadPreference",
	ReadConcernMajorityNotAvailableYet:         "ReadConcernMajorityNotAvailableYet",
	CappedPositionLost:                         "CappedPositionLost",
	CursorInUse:                                "CursorInUse",
	ExceededMemoryLimit:                        "ExceededMemoryLimit",
	StaleEpoch:                                 "StaleEpoch",
	ChunkTooBig:                                "ChunkTooBig",
	CollectionIsEmpty:                          "CollectionIsEmpty",
	ZoneStillInUse:                             "ZoneStillInUse",
	CommandNotSupportedOnView:                  "CommandNotSupportedOnView",
	InvalidPipelineOperator:                    "InvalidPipelineOperator",
	QueryPlanKilled:                            "QueryPlanKilled",
	ZoneNotFound:                               "ZoneNotFound",
	RangeOverlapConflict:                       "RangeOverlapConflict",
	ClientMetadataAppNameTooLarge:              "ClientMetadataAppNameTooLarge",
	ClientMetadataDocumentTooLarge:             "ClientMetadataDocumentTooLarge",
	ClientMetadataCannotBeMutated:              "ClientMetadataCannotBeMutated",
	LinearizableReadConcernError:               "LinearizableReadConcernError",
	IncompatibleServerVersion:                  "IncompatibleServerVersion",
	PrimarySteppedDown:                         "PrimarySteppedDown",
	BalancerInterrupted:                        "BalancerInterrupted",
	InvalidIndexSpecificationOption:            "InvalidIndexSpecificationOption",
	ChunkRangeCleanupPending:                   "ChunkRangeCleanupPending",
	NetworkInterfaceExceededTimeLimit:          "NetworkInterfaceExceededTimeLimit",
	ShardingStateNotInitialized:                "ShardingStateNotInitialized",
	InvalidUUID:                                "InvalidUUID",
	DatabaseDropPending:                        "DatabaseDropPending",
	UpdateOperationFailed:                      "UpdateOperationFailed",
	TransactionTooOld:                          "TransactionTooOld",
	CannotImplicitlyCreateCollection:           "CannotImplicitlyCreateCollection",
	SessionTransferIncomplete:                  "SessionTransferIncomplete",
	RetryChangeStream:                          "RetryChangeStream",
	CursorKilled:                               "CursorKilled",
	NotImplemented:                             "NotImplemented",
	SnapshotTooOld:                             "SnapshotTooOld",
	CannotCreateCollection:                     "CannotCreateCollection",
	SnapshotUnavailable:                        "SnapshotUnavailable",
	StaleDbVersion:                             "StaleDbVersion",
	StaleChunkHistory:                          "StaleChunkHistory",
	NoSuchTransaction:                          "NoSuchTransaction",
	TooManyLogicalSessions:                     "TooManyLogicalSessions",
	TransactionCommitted:                       "TransactionCommitted",
	ExceededTimeLimit:                          "ExceededTimeLimit",
	OperationNotSupportedInTransaction:         "OperationNotSupportedInTransaction",
	OrphanedRangeCleanUpFailed:                 "OrphanedRangeCleanUpFailed",
	PreparedTransactionInProgress:              "PreparedTransactionInProgress",
	MigrationConflict:                          "MigrationConflict",
	IndexBuildAborted:                          "IndexBuildAborted",
	ClientDisconnect:                           "ClientDisconnect",
	ChangeStreamFatalError:                     "ChangeStreamFatalError",
	TransactionCoordinatorReachedAbortDecision: "TransactionCoordinatorReachedAbortDecision",
	WouldChangeOwningShard:                     "WouldChangeOwningShard",
	IndexBuildAlreadyInProgress:                "IndexBuildAlreadyInProgress",
	InvalidResumeToken:                         "InvalidResumeToken",
	ChangeStreamHistoryLost:                    "ChangeStreamHistoryLost",
	TransactionExceededLifetimeLimitSeconds:    "TransactionExceededLifetimeLimitSeconds",
	NoQueryExecutionPlans:                      "NoQueryExecutionPlans",
	QueryExceededMemoryLimitNoDiskUseAllowed:   "QueryExceededMemoryLimitNoDiskUseAllowed",
	RangeDeletionAbandonedBecauseCollectionWithUUIDDoesNotExist: "RangeDeletionAbandonedBecauseCollection" +
		"WithUUIDDoesNotExist",
	RangeDeletionAbandonedBecauseTaskDocumentDoesNotExist: "RangeDeletionAbandonedBecauseTaskDocumentDoesNotExist",
	ResumableRangeDeleterDisabled:                         "ResumableRangeDeleterDisabled",
	ObjectIsBusy:                                          "ObjectIsBusy",
	ConnectionPoolExpired:                                 "ConnectionPoolExpired",
	MovePrimaryInProgress:                                 "MovePrimaryInProgress",
	APIVersionError:                                       "APIVersionError",
	APIStrictError:                                        "APIStrictError",
	APIDeprecationError:                                   "APIDeprecationError",
	MechanismUnavailable:                                  "MechanismUnavailable",
	ReshardCollectionInProgress:                           "ReshardCollectionInProgress",
	NoSuchReshardCollection:                               "NoSuchReshardCollection",
	ReshardCollectionCommitted:                            "ReshardCollectionCommitted",
	ReshardCollectionAborted:                              "ReshardCollectionAborted",
	ReshardingCriticalSectionTimeout:                      "ReshardingCriticalSectionTimeout",
	ShardCannotRefreshDueToLocksHeld:                      "ShardCannotRefreshDueToLocksHeld",
	KeyPatternShorterThanBound:                            "KeyPatternShorterThanBound",
	ReshardCollectionTruncatedError:                       "ReshardCollectionTruncatedError",
	UnsupportedOpQueryCommand:                             "UnsupportedOpQueryCommand",
	InterruptedDueToStorageChange:                         "InterruptedDueToStorageChange",
	InternalTransactionNotSupported:                       "InternalTransactionNotSupported",
	CollectionUUIDMismatch:                                "CollectionUUIDMismatch",
	TemporarilyUnavailable:                                "TemporarilyUnavailable",
	CannotDropShardKeyIndex:                               "CannotDropShardKeyIndex",
	UserWritesBlocked:                                     "UserWritesBlocked",
	ConnectionError:                                       "ConnectionError",
	InvalidSignature:                                      "InvalidSignature",
	ReauthenticationRequired:                              "ReauthenticationRequired",
	ResourceExhausted:                                     "ResourceExhausted",
	UnsupportedShardingEventNotification:                  "UnsupportedShardingEventNotification",
	CannotCreateChunkDistribution:                         "CannotCreateChunkDistribution",
	MigrationBlockingOperationCoordinatorCleaningUp:       "MigrationBlockingOperationCoordinatorCleaningUp",
	PooledConnectionAcquisitionExceededTimeLimit:          "PooledConnectionAcquisitionExceededTimeLimit",
	UpdatesStillPending:                                   "UpdatesStillPending",
	AddOrRemoveShardInProgress:                            "AddOrRemoveShardInProgress",
	SocketException:                                       "SocketException",
	LegacyNotPrimary:                                      "LegacyNotPrimary",
	NotWritablePrimary:                                    "NotWritablePrimary",
	BSONObjectTooLarge:                                    "BSONObjectTooLarge",
	DuplicateKey:                                          "DuplicateKey",
	InterruptedAtShutdown:                                 "InterruptedAtShutdown",
	Interrupted:                                           "Interrupted",
	InterruptedDueToReplStateChange:                       "InterruptedDueToReplStateChange",
	BackgroundOperationInProgressForDatabase:              "BackgroundOperationInProgressForDatabase",
	BackgroundOperationInProgressForNamespace:             "BackgroundOperationInProgressForNamespace",
	DatabaseDifferCase:                                    "DatabaseDifferCase",
	StaleConfig:                                           "StaleConfig",
	NotPrimaryNoSecondaryOk:                               "NotPrimaryNoSecondaryOk",
	NotPrimaryOrSecondary:                                 "NotPrimaryOrSecondary",
	OutOfDiskSpace:                                        "OutOfDiskSpace",
	NamespaceCannotBeSharded:                              "NamespaceCannotBeSharded",
	SearchNotEnabled:                                      "SearchNotEnabled",
	CannotConvertIndexToUnique:                            "CannotConvertIndexToUnique",
	IDLDuplicateField:                                     "IDLDuplicateField",
	IDLFailedToParse:                                      "IDLFailedToParse",
	IDLUnknownField:                                       "IDLUnknownField",
	ClientMarkedKilled:                                    "ClientMarkedKilled",
	NotARetryableWriteCommand:                             "NotARetryableWriteCommand",
	BackupCursorOpenConflictWithCheckpoint:                "BackupCursorOpenConflictWithCheckpoint",
	ConfigServerUnreachable:                               "ConfigServerUnreachable",
	RetryableInternalTransactionNotSupported:              "RetryableInternalTransactionNotSupported",
	RetriableRemoteCommandFailure:                         "RetriableRemoteCommandFailure",
}
