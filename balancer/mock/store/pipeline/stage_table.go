package pipeline

import (
	"maps"
	"slices"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

func (c *compiler) stageCompilers() map[string]stageCompiler {
	return map[string]stageCompiler{
		"$match":           c.compileMatch,
		"$project":         c.compileProject,
		"$addFields":       c.compileAddFields,
		"$set":             c.compileAddFields,
		"$unset":           c.compileUnset,
		"$sort":            c.compileSort,
		"$limit":           c.compileLimit,
		"$skip":            c.compileSkip,
		"$count":           c.compileCount,
		"$replaceRoot":     c.compileReplaceRoot,
		"$replaceWith":     c.compileReplaceRoot,
		"$group":           c.compileGroup,
		"$sortByCount":     c.compileSortByCount,
		"$bucket":          c.compileBucket,
		"$bucketAuto":      c.compileBucketAuto,
		"$unwind":          c.compileUnwind,
		"$facet":           c.compileFacet,
		"$sample":          c.compileSample,
		"$redact":          c.compileRedact,
		"$documents":       c.compileDocuments,
		"$lookup":          c.compileLookup,
		"$unionWith":       c.compileUnionWith,
		"$graphLookup":     c.compileGraphLookup,
		"$setWindowFields": c.compileSetWindowFields,
		"$densify":         c.compileDensify,
		"$fill":            c.compileFill,
	}
}

// sourceStages are valid only as the first stage, from where the caller removes them.
var sourceStages = map[string]bool{
	"$collStats": true, "$currentOp": true, "$indexStats": true, "$listClusterCatalog": true,
	"$shardedDataDistribution": true, "$changeStream": true, "$geoNear": true, "$listSessions": true,
	"$listLocalSessions": true, "$planCacheStats": true, "$documents": true, "$queryStats": true,
	"$listSampledQueries": true, "$listCatalog": true, "$listSearchIndexes": true, "$search": true,
	"$searchMeta": true, "$vectorSearch": true,
}

func (c *compiler) compileStage(name string, arg value.Value, place, total int) (stage, error) {
	if c.table == nil {
		c.table = c.stageCompilers()
	}
	f, known := c.table[name]
	switch {
	case c.inFacet && (sourceStages[name] || name == "$facet" || name == "$out" || name == "$merge"):
		return nil, servererr.NewCode(40600, "%s is not allowed to be used within a $facet stage", name)
	case c.depth > 0 && (name == "$out" || name == "$merge"):
		return nil, servererr.NewCode(51047, "%s is not allowed within a $lookup's sub-pipeline", name)
	case sourceStages[name] && place == 0 && !known:
		return nil, errUnavailable(name)
	case sourceStages[name] && place > 0:
		return nil, servererr.New(mongoerr.StageNotFirst, "%s is only valid as the first stage in a pipeline.", name)
	case (name == "$out" || name == "$merge") && place < total-1:
		return nil, servererr.NewCode(40601, "%s can only be the final stage in the pipeline", name)
	case !known:
		return nil, servererr.New(mongoerr.UnknownStage, "Unrecognized pipeline stage name: '%s'", name)
	}
	return f(name, arg)
}

// errUnavailable returns the error of a source stage that the mock does not implement.
func errUnavailable(name string) error {
	switch name {
	case "$geoNear":
		return servererr.New(mongoerr.IndexNotFound, "unable to find index for $geoNear query")
	case "$search", "$searchMeta", "$vectorSearch", "$listSearchIndexes":
		return servererr.New(mongoerr.SearchNotEnabled,
			"Using $search and $vectorSearch aggregation stages requires additional configuration. "+
				"Please connect to Atlas or an AtlasCLI local deployment to enable.")
	}
	return servererr.New(mongoerr.NotImplemented, "the mock does not support the stage %s", name)
}

// StageNames returns the names of the stages that a server has.
func StageNames() []string {
	c := compiler{}
	return slices.Concat([]string{"$out", "$merge"}, slices.Collect(maps.Keys(c.stageCompilers())),
		slices.Collect(maps.Keys(sourceStages)))
}

// ImplementedStageNames returns the sorted names of the stages that this package implements.
func ImplementedStageNames() []string {
	return slices.Sorted(maps.Keys((&compiler{}).stageCompilers()))
}
