package pipeline

import (
	"maps"
	"slices"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

func (c *compiler) compilers() map[string]stageCompiler {
	return map[string]stageCompiler{
		"$match": c.match, "$project": c.project, "$addFields": c.addFields, "$set": c.addFields,
		"$unset": c.unset, "$sort": c.sort, "$limit": c.limit, "$skip": c.skip, "$count": c.count,
		"$replaceRoot": c.replaceRoot, "$replaceWith": c.replaceRoot,
		"$group": c.group, "$sortByCount": c.sortByCount, "$bucket": c.bucket, "$bucketAuto": c.bucketAuto,
		"$unwind": c.unwind, "$facet": c.facetStage, "$sample": c.sample, "$redact": c.redact, "$documents": c.documents,
		"$lookup": c.lookup, "$unionWith": c.unionWith, "$graphLookup": c.graphLookup,
		"$setWindowFields": c.setWindowFields, "$densify": c.densify, "$fill": c.fill,
	}
}

// producers may only come first; the caller takes them off when they do.
var producers = map[string]bool{
	"$collStats": true, "$currentOp": true, "$indexStats": true, "$listClusterCatalog": true,
	"$shardedDataDistribution": true, "$changeStream": true, "$geoNear": true, "$listSessions": true,
	"$listLocalSessions": true, "$planCacheStats": true, "$documents": true, "$queryStats": true,
	"$listSampledQueries": true, "$listCatalog": true, "$listSearchIndexes": true, "$search": true,
	"$searchMeta": true, "$vectorSearch": true,
}

func (c *compiler) stage(name string, arg value.Value, place, of int) (stage, error) {
	if c.table == nil {
		c.table = c.compilers()
	}
	f, known := c.table[name]
	switch {
	case c.facet && (producers[name] || name == "$facet" || name == "$out" || name == "$merge"):
		return nil, servererr.Of(40600, "%s is not allowed to be used within a $facet stage", name)
	case c.depth > 0 && (name == "$out" || name == "$merge"):
		return nil, servererr.Of(51047, "%s is not allowed within a $lookup's sub-pipeline", name)
	case producers[name] && place == 0 && !known:
		return nil, unavailable(name)
	case producers[name] && place > 0:
		return nil, servererr.New(mongoerr.StageNotFirst, "%s is only valid as the first stage in a pipeline.", name)
	case (name == "$out" || name == "$merge") && place < of-1:
		return nil, servererr.Of(40601, "%s can only be the final stage in the pipeline", name)
	case !known:
		return nil, servererr.New(mongoerr.UnknownStage, "Unrecognized pipeline stage name: '%s'", name)
	}
	return f(name, arg)
}

// unavailable returns why a stage that makes documents has none to make.
func unavailable(name string) error {
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

// Stages returns the names of the stages that a server has.
func Stages() []string {
	c := compiler{}
	return slices.Concat([]string{"$out", "$merge"}, slices.Collect(maps.Keys(c.compilers())),
		slices.Collect(maps.Keys(producers)))
}

// Computed lists the stages that are computed here, in order.
func Computed() []string { return slices.Sorted(maps.Keys((&compiler{}).compilers())) }
