package args

// variables is a document of user-defined variable names with any values.
var variables = shape{fields: map[string]shape{"": {mode: opaque}}}

// commandFields are the fields of commands, and of documents in commands, that are not plain options.
var commandFields = map[string]shape{
	"documents": {mode: opaque}, "document": {mode: opaque}, "filter": {mode: opaque}, "query": {mode: opaque},
	"q": {mode: opaque}, "sort": {mode: opaque}, "projection": {mode: opaque}, "fields": {mode: opaque},
	"arrayFilters": {mode: opaque}, "hint": {mode: opaque}, "comment": {mode: opaque}, "customData": {mode: opaque},
	"validator": {mode: opaque}, "min": {mode: opaque}, "max": {mode: opaque}, "find": {mode: opaque},
	"bounds": {mode: opaque}, "middle": {mode: opaque}, "key": {mode: opaque}, "keyPattern": {mode: opaque},
	"partialFilterExpression": {mode: opaque}, "wildcardProjection": {mode: opaque}, "weights": {mode: opaque},
	"storageEngine": {mode: opaque}, "runtimeConstants": {mode: opaque}, "legacyRuntimeConstants": {mode: opaque},
	"let": variables, "c": variables, "constants": variables, "pipeline": {mode: pipeline},
	"index": {mode: optionsOrKeyPattern, fields: map[string]shape{"keyPattern": {mode: opaque}}},
	"u":     {mode: pipelineOrUpdate}, "update": {mode: pipelineOrUpdate}, "updateMods": {mode: pipelineOrUpdate},
}

var (
	// windowOutputShape is the output specification of $setWindowFields and $fill.
	windowOutputShape = shape{fields: map[string]shape{"": {fields: map[string]shape{"": {mode: opaque}, "window": {}}}}}
	bucketShape       = shape{fields: map[string]shape{
		"groupBy": {mode: opaque}, "boundaries": {mode: opaque}, "default": {mode: opaque}, "output": variables,
	}}
	windowFieldsShape = shape{fields: map[string]shape{
		"partitionBy": {mode: opaque}, "sortBy": {mode: opaque}, "output": windowOutputShape,
	}}
)

// stageShapes are the stages that take options. The keys of other stages are fields of documents; those
// stages check for duplicates themselves.
var stageShapes = map[string]shape{
	"$lookup": {fields: map[string]shape{"let": variables, "pipeline": {mode: pipeline}}},
	"$graphLookup": {fields: map[string]shape{
		"startWith": {mode: opaque}, "restrictSearchWithMatch": {mode: opaque},
	}},
	"$unionWith":       {fields: map[string]shape{"pipeline": {mode: pipeline}}},
	"$facet":           {fields: map[string]shape{"": {mode: pipeline}}},
	"$merge":           {fields: map[string]shape{"let": variables, "whenMatched": {mode: pipelineOrUpdate}}},
	"$replaceRoot":     {fields: map[string]shape{"newRoot": {mode: opaque}}},
	"$geoNear":         {fields: map[string]shape{"query": {mode: opaque}, "near": {mode: opaque}}},
	"$bucket":          bucketShape,
	"$bucketAuto":      bucketShape,
	"$setWindowFields": windowFieldsShape,
	"$fill":            windowFieldsShape,

	"$out": {}, "$densify": {}, "$unwind": {}, "$sample": {}, "$changeStream": {}, "$collStats": {}, "$currentOp": {},
	"$indexStats": {}, "$listCatalog": {}, "$listClusterCatalog": {}, "$listLocalSessions": {}, "$listSampledQueries": {},
	"$listSearchIndexes": {}, "$listSessions": {}, "$planCacheStats": {}, "$queryStats": {},
	"$shardedDataDistribution": {},
}

// handParsedStages are the stages that a server parses by hand, without its generated option parsers (IDL).
// Their error for a duplicate differs.
var handParsedStages = map[string]bool{
	"$lookup": true, "$graphLookup": true, "$facet": true, "$bucket": true, "$bucketAuto": true, "$unwind": true,
	"$sample": true, "$geoNear": true, "$currentOp": true, "$indexStats": true, "$planCacheStats": true,
}
