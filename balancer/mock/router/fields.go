package router

import (
	"shardsh/balancer/mock/args"
	"slices"
)

// What the commands on documents and indexes take, besides the generic fields.
// They read most of it by hand; unknown fields are refused.

// internalFields are sent by routers only, never by clients; they change
// nothing here.
func internalFields() []args.Field {
	return args.AnyOf("shardVersion", "databaseVersion", "isTimeseriesNamespace")
}

func findFields() []args.Field {
	return append([]args.Field{
		args.Required("find", args.Any), args.Optional("filter", args.Object), args.Optional("projection", args.Object), args.Optional("sort", args.Object),
		args.Optional("hint", args.Hint), args.Optional("collation", args.Object), args.Optional("skip", args.Count), args.Optional("limit", args.Count),
		args.Optional("batchSize", args.Count), args.Optional("singleBatch", args.OptionalBool), args.Optional("min", args.Object), args.Optional("max", args.Object),
		args.Optional("returnKey", args.OptionalBool), args.Optional("showRecordId", args.OptionalBool), args.Optional("let", args.Object),
		args.Optional("tailable", args.OptionalBool), args.Optional("awaitData", args.OptionalBool), args.Optional("oplogReplay", args.OptionalBool),
		args.Optional("noCursorTimeout", args.OptionalBool), args.Optional("allowPartialResults", args.OptionalBool), args.Optional("allowDiskUse", args.Bool),
		args.Optional("readOnce", args.Bool), args.Optional("includeQueryStatsMetrics", args.Bool),
	}, internalFields()...)
}

func getMoreFields() []args.Field {
	return []args.Field{
		args.Required("getMore", args.Long), args.Required("collection", args.String), args.Optional("batchSize", args.Count),
		args.Optional("term", args.Any), args.Optional("lastKnownCommittedOpTime", args.Any), args.Optional("includeQueryStatsMetrics", args.Bool),
	}
}

func killCursorsFields() []args.Field {
	return []args.Field{args.Required("killCursors", args.Any), args.Required("cursors", args.Array)}
}

func aggregateFields() []args.Field {
	return append([]args.Field{
		args.Required("aggregate", args.Any), args.Required("pipeline", args.Any), args.Optional("explain", args.SafeBool), args.Optional("allowDiskUse", args.Bool),
		args.Optional("cursor", args.Any), args.Optional("hint", args.Hint), args.Optional("let", args.Object),
		args.Optional("bypassDocumentValidation", args.SafeBool), args.Optional("collation", args.Object), args.Optional("collectionUUID", args.UUID),
		args.Optional("exchange", args.Any), args.Optional("runtimeConstants", args.Any), args.Optional("fromMongos", args.Any), args.Optional("fromRouter", args.Any),
		args.Optional("needsMerge", args.Any), args.Optional("unwrappedReadPref", args.Any), args.Optional("includeQueryStatsMetrics", args.Bool),
	}, internalFields()...)
}

func countFields() []args.Field {
	return append([]args.Field{
		args.Required("count", args.Any), args.Optional("query", args.Object), args.Optional("limit", args.SafeInt), args.Optional("skip", args.Count),
		args.Optional("hint", args.Hint), args.Optional("collation", args.Object), args.Optional("fields", args.Any), args.Optional("queryOptions", args.Any),
	}, internalFields()...)
}

func distinctFields() []args.Field {
	return append([]args.Field{
		args.Required("distinct", args.Any), args.Required("key", args.String), args.Optional("query", args.Object), args.Optional("collation", args.Object),
		args.Optional("hint", args.Hint), args.Optional("queryOptions", args.Any), args.Optional("unwrappedReadPref", args.Any),
	}, internalFields()...)
}

// batchFields are what the three commands with batches of writes share.
func batchFields(command, statements string) []args.Field {
	return append([]args.Field{
		args.Required(command, args.Any), args.Required(statements, args.Array), args.Optional("ordered", args.Bool),
		args.Optional("bypassDocumentValidation", args.SafeBool), args.Optional("stmtId", args.Any), args.Optional("stmtIds", args.Array),
		args.Optional("collectionUUID", args.UUID), args.Optional("encryptionInformation", args.Object),
	}, internalFields()...)
}

func insertFields() []args.Field { return batchFields("insert", "documents") }

func updateFields() []args.Field {
	return append(batchFields("update", "updates"), args.Optional("let", args.Object), args.Optional("legacyRuntimeConstants", args.Any))
}

func deleteFields() []args.Field {
	return append(batchFields("delete", "deletes"), args.Optional("let", args.Object), args.Optional("legacyRuntimeConstants", args.Any))
}

func updateStatementFields() []args.Field {
	return slices.Concat([]args.Field{
		args.Required("q", args.Object), args.Required("u", args.Any), args.Optional("c", args.Object),
	}, updateOptionFields())
}

// updateOptionFields are the same in an update and in a bulkWrite.
func updateOptionFields() []args.Field {
	return []args.Field{
		args.Optional("multi", args.Bool), args.Optional("upsert", args.Bool), args.Optional("upsertSupplied", args.OptionalBool),
		args.Optional("arrayFilters", args.Array), args.Optional("hint", args.Hint), args.Optional("collation", args.Object),
		args.Optional("sort", args.Object), args.Optional("sampleId", args.UUID),
	}
}

func deleteStatementFields() []args.Field {
	return []args.Field{
		args.Required("q", args.Object), args.Required("limit", args.Any), args.Optional("hint", args.Hint), args.Optional("collation", args.Object), args.Optional("sampleId", args.UUID),
	}
}

func findAndModifyFields() []args.Field {
	return append([]args.Field{
		args.Required("findAndModify", args.Any), args.Optional("query", args.Object), args.Optional("fields", args.Object), args.Optional("sort", args.Object),
		args.Optional("hint", args.Hint), args.Optional("collation", args.Object), args.Optional("arrayFilters", args.Array), args.Optional("remove", args.SafeBool),
		args.Optional("update", args.Any), args.Optional("upsert", args.SafeBool), args.Optional("bypassDocumentValidation", args.SafeBool), args.Optional("new", args.SafeBool),
		args.Optional("let", args.Object), args.Optional("stmtId", args.Any), args.Optional("encryptionInformation", args.Object),
		args.Optional("legacyRuntimeConstants", args.Any), args.Optional("sampleId", args.UUID),
	}, internalFields()...)
}

func explainFields() []args.Field {
	return []args.Field{args.Required("explain", args.Object), args.Optional("verbosity", args.String)}
}

func createIndexesFields() []args.Field {
	return append([]args.Field{
		args.Required("createIndexes", args.Any), args.Required("indexes", args.Array), args.Optional("ignoreUnknownIndexOptions", args.SafeBool),
		args.Optional("commitQuorum", args.Any), args.Optional("returnOnStart", args.Bool), args.Optional("collectionUUID", args.UUID),
	}, internalFields()...)
}

func listIndexesFields() []args.Field {
	return append([]args.Field{
		args.Required("listIndexes", args.Any), args.Optional("cursor", args.Object), args.Optional("includeBuildUUIDs", args.Bool), args.Optional("includeIndexBuildInfo", args.Bool),
		args.Optional("queryOptions", args.Any), args.Optional("rawData", args.Bool),
	}, internalFields()...)
}

func dropIndexesFields() []args.Field {
	return append([]args.Field{args.Required("dropIndexes", args.Any), args.Required("index", args.Any), args.Optional("collectionUUID", args.UUID)}, internalFields()...)
}

func createFields() []args.Field {
	return append([]args.Field{
		args.Required("create", args.Any), args.Optional("capped", args.SafeBool), args.Optional("autoIndexId", args.SafeBool), args.Optional("idIndex", args.Object),
		args.Optional("size", args.SafeInt), args.Optional("max", args.SafeInt), args.Optional("storageEngine", args.Object), args.Optional("validator", args.Object),
		args.Optional("validationLevel", args.String), args.Optional("validationAction", args.String), args.Optional("indexOptionDefaults", args.Object),
		args.Optional("viewOn", args.String), args.Optional("pipeline", args.Array), args.Optional("collation", args.Object),
		args.Optional("changeStreamPreAndPostImages", args.Object), args.Optional("timeseries", args.Object), args.Optional("clusteredIndex", args.Any),
		args.Optional("expireAfterSeconds", args.SafeInt), args.Optional("encryptedFields", args.Object), args.Optional("temp", args.SafeBool), args.Optional("flags", args.Any),
	}, internalFields()...)
}

func dropFields() []args.Field {
	return append([]args.Field{args.Required("drop", args.Any), args.Optional("collectionUUID", args.UUID)}, internalFields()...)
}
