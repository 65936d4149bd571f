package args

// variables have names of their own, and any values.
var variables = shape{fields: map[string]shape{"": {look: opaque}}}

// commandFields are the fields of commands, and of the documents in them, that
// are more or less than options.
var commandFields = map[string]shape{
	"documents": {look: opaque}, "document": {look: opaque}, "filter": {look: opaque}, "query": {look: opaque},
	"q": {look: opaque}, "sort": {look: opaque}, "projection": {look: opaque}, "fields": {look: opaque},
	"arrayFilters": {look: opaque}, "hint": {look: opaque}, "comment": {look: opaque}, "customData": {look: opaque},
	"validator": {look: opaque}, "min": {look: opaque}, "max": {look: opaque}, "find": {look: opaque},
	"bounds": {look: opaque}, "middle": {look: opaque}, "key": {look: opaque}, "keyPattern": {look: opaque},
	"partialFilterExpression": {look: opaque}, "wildcardProjection": {look: opaque}, "weights": {look: opaque},
	"storageEngine": {look: opaque}, "runtimeConstants": {look: opaque}, "legacyRuntimeConstants": {look: opaque},
	"let": variables, "c": variables, "constants": variables, "pipeline": {look: pipeline},
	"index": {look: patterns, fields: map[string]shape{"keyPattern": {look: opaque}}},
	"u":     {look: updating}, "update": {look: updating}, "updateMods": {look: updating},
}

var (
	// computed are the outputs of $setWindowFields and $fill.
	computed = shape{fields: map[string]shape{"": {fields: map[string]shape{"": {look: opaque}, "window": {}}}}}
	buckets  = shape{fields: map[string]shape{
		"groupBy": {look: opaque}, "boundaries": {look: opaque}, "default": {look: opaque}, "output": variables,
	}}
	partitions = shape{fields: map[string]shape{
		"partitionBy": {look: opaque}, "sortBy": {look: opaque}, "output": computed,
	}}
)

// stageShapes are the stages that take options. Those without an entry have
// fields of the documents, and say themselves which may not come twice.
var stageShapes = map[string]shape{
	"$lookup": {fields: map[string]shape{"let": variables, "pipeline": {look: pipeline}}},
	"$graphLookup": {fields: map[string]shape{
		"startWith": {look: opaque}, "restrictSearchWithMatch": {look: opaque},
	}},
	"$unionWith":       {fields: map[string]shape{"pipeline": {look: pipeline}}},
	"$facet":           {fields: map[string]shape{"": {look: pipeline}}},
	"$merge":           {fields: map[string]shape{"let": variables, "whenMatched": {look: updating}}},
	"$replaceRoot":     {fields: map[string]shape{"newRoot": {look: opaque}}},
	"$geoNear":         {fields: map[string]shape{"query": {look: opaque}, "near": {look: opaque}}},
	"$bucket":          buckets,
	"$bucketAuto":      buckets,
	"$setWindowFields": partitions,
	"$fill":            partitions,

	"$out": {}, "$densify": {}, "$unwind": {}, "$sample": {}, "$changeStream": {}, "$collStats": {}, "$currentOp": {},
	"$indexStats": {}, "$listCatalog": {}, "$listClusterCatalog": {}, "$listLocalSessions": {}, "$listSampledQueries": {},
	"$listSearchIndexes": {}, "$listSessions": {}, "$planCacheStats": {}, "$queryStats": {},
	"$shardedDataDistribution": {},
}

// readByHand are the stages that a server reads without its parser of options.
var readByHand = map[string]bool{
	"$lookup": true, "$graphLookup": true, "$facet": true, "$bucket": true, "$bucketAuto": true, "$unwind": true,
	"$sample": true, "$geoNear": true, "$currentOp": true, "$indexStats": true, "$planCacheStats": true,
}
