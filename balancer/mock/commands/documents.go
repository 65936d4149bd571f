package commands

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// keyUpdatesField is a field that routers add to an update that may move a document to another shard.
const keyUpdatesField = "$_allowShardKeyUpdatesWithoutFullShardKeyInQuery"

// documentCommands returns the commands that read and write documents.
func documentCommands() []Command {
	return []Command{
		{
			Name: "find", Stable: true, ReadConcern: true, Effect: Reads,
			Privilege: access.OnCollection("find"), ErrorPrefix: errorPrefix("FindCommandRequest"), Strict: true,
			Fields: fields(required(args.OldCollection, "find"),
				optional(args.FindObject, "filter", "projection", "sort", "collation", "min", "max"),
				optional(args.Object, "let"), optional(args.Any, "maxTimeMS"),
				optional(args.Hint, "hint"), optional(args.Count, "skip", "limit", "batchSize"),
				optional(args.OptionalBool, "singleBatch", "returnKey", "showRecordId", "tailable", "awaitData"),
				optional(args.OptionalBool, "oplogReplay", "noCursorTimeout", "allowPartialResults"),
				optional(args.OptionalBool, "allowDiskUse"), optional(args.Bool, "readOnce", "includeQueryStatsMetrics"),
				optional(args.SafeInt, "term"), optional(args.UUID, "collectionUUID"),
				optional(args.Object, "encryptionInformation", "runtimeConstants", "querySettings"),
				internalReadFields(), rawDataFields(), routerFields()),
		},
		{
			Name: "getMore", Stable: true, Effect: Reads, Privilege: access.LoggedIn, Strict: true,
			Fields: fields(required(args.Long, "getMore"), required(args.String, "collection"),
				withTypeNames("decimal, double, long, int", optional(args.Count, "batchSize")),
				withTypeNames("decimal, double, long, int", optional(args.SafeInt, "maxTimeMS")),
				optional(args.Any, "term", "lastKnownCommittedOpTime"), optional(args.Bool, "includeQueryStatsMetrics")),
		},
		{
			Name: "killCursors", Stable: true, Effect: Interrupts, Privilege: access.LoggedIn, Strict: true,
			Fields: fields(required(args.Collection, "killCursors"), required(args.Array, "cursors")),
		},
		{
			Name: "aggregate", Stable: true, ReadConcern: true, WriteConcern: true, Effect: Reads,
			Privilege: access.MayAggregate, ParsedAt: Late, Strict: true,
			Fields: fields(required(args.CollectionOrOne, "aggregate"), required(args.Any, "pipeline"),
				withTypeNames("double, bool, decimal, int, long", optional(args.SafeBool, "explain", "bypassDocumentValidation")),
				optional(args.OptionalBool, "allowDiskUse"), optional(args.Bool, "includeQueryStatsMetrics"),
				withTypeNames("int, double, long, decimal", optional(args.SafeInt, "maxTimeMS")),
				optional(args.Any, "cursor", "exchange", "runtimeConstants", "fromMongos", "fromRouter"),
				optional(args.Any, "needsMerge", "unwrappedReadPref"), optional(args.Hint, "hint"),
				optional(args.Object, "let", "collation", "encryptionInformation", "querySettings"),
				optional(args.UUID, "collectionUUID", "sampleId"), optional(args.OptionalBool, "isMapReduceCommand"),
				rawDataFields(), routerFields()),
		},
		{
			Name: "count", Stable: true, ReadConcern: true, Effect: Reads,
			Privilege: access.OnCollection("find"), ParsedAt: Late, Strict: true,
			Fields: fields(
				required(args.OldCollection, "count"),
				optional(args.Object, "query", "collation", "encryptionInformation"),
				optional(args.Limit, "limit"),
				withTypeNames("decimal, int, long, double", optional(args.Count, "skip")),
				optional(args.Hint, "hint"),
				optional(args.Any, "fields", "queryOptions"),
				internalReadFields(),
				rawDataFields(),
				routerFields(),
			),
		},
		{
			Name: "distinct", ReadConcern: true, Effect: Reads, Privilege: access.OnCollection("find"),
			ErrorPrefix: errorPrefix("distinctCommandRequest"), ParsedAt: NameFirst, Strict: true,
			Fields: fields(required(args.OldCollection, "distinct"), required(args.String, "key"),
				optional(args.Object, "query", "collation", "querySettings"), optional(args.Hint, "hint"),
				optional(args.Any, "queryOptions", "unwrappedReadPref"), internalReadFields(), rawDataFields(), routerFields()),
		},

		{
			Name: "insert", Stable: true, WriteConcern: true, AwaitsRequestedNodes: true, Retryable: true, Effect: Writes,
			Privilege: access.MayInsert, Strict: true,
			Fields: fields(
				required(args.Collection, "insert"), required(args.Array, "documents"), writeFields(),
			),
		},
		{
			Name: "update", Stable: true, WriteConcern: true, AwaitsRequestedNodes: true, Retryable: true, Effect: Writes,
			Privilege: access.MayUpdate, Strict: true,
			Fields: fields(required(args.Collection, "update"), required(args.Array, "updates"),
				optional(args.Object, "let", "runtimeConstants"), writeFields()),
		},
		{
			Name: "delete", Stable: true, WriteConcern: true, AwaitsRequestedNodes: true, Retryable: true, Effect: Writes,
			Privilege: access.OnCollection("remove"), Strict: true,
			Fields: fields(required(args.Collection, "delete"), required(args.Array, "deletes"),
				optional(args.Object, "let", "runtimeConstants"), writeFields()),
		},
		{
			Name: "findAndModify", Aliases: []string{"findandmodify"}, Stable: true, WriteConcern: true,
			AwaitsRequestedNodes: true,
			Retryable:            true, Effect: Writes, Privilege: access.MayFindAndModify, ParsedAt: Late, Strict: true,
			Fields: fields(required(args.OldCollection, "findAndModify"),
				optional(args.Object, "query", "fields", "sort", "let", "encryptionInformation"),
				optional(args.OldObject, "collation"), optional(args.Hint, "hint"), optional(args.Array, "arrayFilters"),
				optional(args.SafeBool, "remove", "upsert", "bypassDocumentValidation", "new"),
				optional(args.OptionalBool, "bypassEmptyTsReplacement", keyUpdatesField),
				optional(args.Any, "update", "stmtId", "batchSize"), optional(args.Bool, "singleBatch"),
				optional(args.Object, "runtimeConstants", "$_originalQuery", "$_originalCollation"),
				optional(args.UUID, "sampleId"), rawDataFields(), routerFields()),
		},

		{
			Name: "bulkWrite", Since: catalog.Release80, AdminOnly: true, Stable: true, WriteConcern: true,
			AwaitsRequestedNodes: true,
			Retryable:            true, Effect: Writes, Privilege: access.MayBulkWrite, ErrorPrefix: errorPrefix("clusterBulkWriteParse"),
			Strict: true,
			Fields: fields(required(args.Any, "bulkWrite"), required(args.Array, "ops", "nsInfo"),
				withTypeNames("decimal, int, long, bool, double", optional(args.SafeBool, "bypassDocumentValidation")),
				optional(args.OptionalBool, "bypassEmptyTsReplacement"),
				optional(args.Bool, "ordered", "errorsOnly"), optional(args.Any, "stmtId", "stmtIds"),
				optional(args.Object, "let"), cursorFields(), rawDataFields()),
		},

		{
			Name: "explain", Stable: true, Effect: Reads, Privilege: access.MayExplain, Strict: true,
			Fields: fields(required(args.Object, "explain"), optional(args.String, "verbosity")),
		},
	}
}
