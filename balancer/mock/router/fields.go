package router

import "slices"

// What the commands on documents and indexes take, besides the generic fields.
// They read most of it by hand; unknown fields are refused.

func anyOf(names ...string) []field {
	fields := make([]field, len(names))
	for i, name := range names {
		fields[i] = field{name, anyValue, false}
	}
	return fields
}

// internalFields are sent by routers only, never by clients; they change
// nothing here.
func internalFields() []field {
	return anyOf("shardVersion", "databaseVersion", "isTimeseriesNamespace")
}

func findFields() []field {
	return append([]field{
		{"find", anyValue, true}, {"filter", objectValue, false}, {"projection", objectValue, false}, {"sort", objectValue, false},
		{"hint", hintValue, false}, {"collation", objectValue, false}, {"skip", countValue, false}, {"limit", countValue, false},
		{"batchSize", countValue, false}, {"singleBatch", optionalBool, false}, {"min", objectValue, false}, {"max", objectValue, false},
		{"returnKey", optionalBool, false}, {"showRecordId", optionalBool, false}, {"let", objectValue, false},
		{"tailable", optionalBool, false}, {"awaitData", optionalBool, false}, {"oplogReplay", optionalBool, false},
		{"noCursorTimeout", optionalBool, false}, {"allowPartialResults", optionalBool, false}, {"allowDiskUse", boolValue, false},
		{"readOnce", boolValue, false}, {"includeQueryStatsMetrics", boolValue, false},
	}, internalFields()...)
}

func getMoreFields() []field {
	return []field{
		{"getMore", longValue, true}, {"collection", stringValue, true}, {"batchSize", countValue, false},
		{"term", anyValue, false}, {"lastKnownCommittedOpTime", anyValue, false}, {"includeQueryStatsMetrics", boolValue, false},
	}
}

func killCursorsFields() []field {
	return []field{{"killCursors", anyValue, true}, {"cursors", arrayValue, true}}
}

func aggregateFields() []field {
	return append([]field{
		{"aggregate", anyValue, true}, {"pipeline", anyValue, true}, {"explain", safeBool, false}, {"allowDiskUse", boolValue, false},
		{"cursor", anyValue, false}, {"hint", hintValue, false}, {"let", objectValue, false},
		{"bypassDocumentValidation", safeBool, false}, {"collation", objectValue, false}, {"collectionUUID", uuidValue, false},
		{"exchange", anyValue, false}, {"runtimeConstants", anyValue, false}, {"fromMongos", anyValue, false}, {"fromRouter", anyValue, false},
		{"needsMerge", anyValue, false}, {"unwrappedReadPref", anyValue, false}, {"includeQueryStatsMetrics", boolValue, false},
	}, internalFields()...)
}

func countFields() []field {
	return append([]field{
		{"count", anyValue, true}, {"query", objectValue, false}, {"limit", safeInt, false}, {"skip", countValue, false},
		{"hint", hintValue, false}, {"collation", objectValue, false}, {"fields", anyValue, false}, {"queryOptions", anyValue, false},
	}, internalFields()...)
}

func distinctFields() []field {
	return append([]field{
		{"distinct", anyValue, true}, {"key", stringValue, true}, {"query", objectValue, false}, {"collation", objectValue, false},
		{"hint", hintValue, false}, {"queryOptions", anyValue, false}, {"unwrappedReadPref", anyValue, false},
	}, internalFields()...)
}

// batchFields are what the three commands with batches of writes share.
func batchFields(command, statements string) []field {
	return append([]field{
		{command, anyValue, true}, {statements, arrayValue, true}, {"ordered", boolValue, false},
		{"bypassDocumentValidation", safeBool, false}, {"stmtId", anyValue, false}, {"stmtIds", arrayValue, false},
		{"collectionUUID", uuidValue, false}, {"encryptionInformation", objectValue, false},
	}, internalFields()...)
}

func insertFields() []field { return batchFields("insert", "documents") }

func updateFields() []field {
	return append(batchFields("update", "updates"), field{"let", objectValue, false}, field{"legacyRuntimeConstants", anyValue, false})
}

func deleteFields() []field {
	return append(batchFields("delete", "deletes"), field{"let", objectValue, false}, field{"legacyRuntimeConstants", anyValue, false})
}

func updateStatementFields() []field {
	return slices.Concat([]field{
		{"q", objectValue, true}, {"u", anyValue, true}, {"c", objectValue, false},
	}, updateOptionFields())
}

// updateOptionFields are the same in an update and in a bulkWrite.
func updateOptionFields() []field {
	return []field{
		{"multi", boolValue, false}, {"upsert", boolValue, false}, {"upsertSupplied", optionalBool, false},
		{"arrayFilters", arrayValue, false}, {"hint", hintValue, false}, {"collation", objectValue, false},
		{"sort", objectValue, false}, {"sampleId", uuidValue, false},
	}
}

func deleteStatementFields() []field {
	return []field{
		{"q", objectValue, true}, {"limit", anyValue, true}, {"hint", hintValue, false}, {"collation", objectValue, false}, {"sampleId", uuidValue, false},
	}
}

func findAndModifyFields() []field {
	return append([]field{
		{"findAndModify", anyValue, true}, {"query", objectValue, false}, {"fields", objectValue, false}, {"sort", objectValue, false},
		{"hint", hintValue, false}, {"collation", objectValue, false}, {"arrayFilters", arrayValue, false}, {"remove", safeBool, false},
		{"update", anyValue, false}, {"upsert", safeBool, false}, {"bypassDocumentValidation", safeBool, false}, {"new", safeBool, false},
		{"let", objectValue, false}, {"stmtId", anyValue, false}, {"encryptionInformation", objectValue, false},
		{"legacyRuntimeConstants", anyValue, false}, {"sampleId", uuidValue, false},
	}, internalFields()...)
}

func explainFields() []field {
	return []field{{"explain", objectValue, true}, {"verbosity", stringValue, false}}
}

func createIndexesFields() []field {
	return append([]field{
		{"createIndexes", anyValue, true}, {"indexes", arrayValue, true}, {"ignoreUnknownIndexOptions", safeBool, false},
		{"commitQuorum", anyValue, false}, {"returnOnStart", boolValue, false}, {"collectionUUID", uuidValue, false},
	}, internalFields()...)
}

func listIndexesFields() []field {
	return append([]field{
		{"listIndexes", anyValue, true}, {"cursor", objectValue, false}, {"includeBuildUUIDs", boolValue, false}, {"includeIndexBuildInfo", boolValue, false},
		{"queryOptions", anyValue, false}, {"rawData", boolValue, false},
	}, internalFields()...)
}

func dropIndexesFields() []field {
	return append([]field{{"dropIndexes", anyValue, true}, {"index", anyValue, true}, {"collectionUUID", uuidValue, false}}, internalFields()...)
}

func createFields() []field {
	return append([]field{
		{"create", anyValue, true}, {"capped", safeBool, false}, {"autoIndexId", safeBool, false}, {"idIndex", objectValue, false},
		{"size", safeInt, false}, {"max", safeInt, false}, {"storageEngine", objectValue, false}, {"validator", objectValue, false},
		{"validationLevel", stringValue, false}, {"validationAction", stringValue, false}, {"indexOptionDefaults", objectValue, false},
		{"viewOn", stringValue, false}, {"pipeline", arrayValue, false}, {"collation", objectValue, false},
		{"changeStreamPreAndPostImages", objectValue, false}, {"timeseries", objectValue, false}, {"clusteredIndex", anyValue, false},
		{"expireAfterSeconds", safeInt, false}, {"encryptedFields", objectValue, false}, {"temp", safeBool, false}, {"flags", anyValue, false},
	}, internalFields()...)
}

func dropFields() []field {
	return append([]field{{"drop", anyValue, true}, {"collectionUUID", uuidValue, false}}, internalFields()...)
}
