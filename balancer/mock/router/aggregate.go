package router

import (
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// source is a first stage that makes documents instead of changing them.
type source struct {
	// database: run with {aggregate: 1}.
	database bool
	// adminOnly sources answer on admin only.
	adminOnly bool
	run       func(r *Router, c *call, ns string, spec bson.RawValue) ([]bson.Raw, error)
}

func sources() map[string]source {
	return map[string]source{
		"$collStats":               {run: (*Router).collStatsStage},
		"$indexStats":              {run: (*Router).indexStatsStage},
		"$currentOp":               {database: true, adminOnly: true, run: (*Router).currentOpStage},
		"$listSessions":            {run: (*Router).sessionsStage},
		"$listLocalSessions":       {database: true, run: (*Router).sessionsStage},
		"$shardedDataDistribution": {database: true, run: (*Router).dataDistribution},
	}
}

func (r *Router) aggregate(c *call) (bson.D, error) {
	ns, database, err := c.aggregateNamespace()
	if err != nil {
		return nil, err
	}
	stages, err := documents(c.body.Lookup("pipeline"))
	if err != nil {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "'pipeline' option must be specified as an array of objects")
	}
	cursorSpec, err := c.document("cursor")
	if err != nil {
		return nil, err
	}
	if cursorSpec == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "The 'cursor' option is required, except for aggregate with the explain argument")
	}
	size, err := c.batchSize(cursorSpec.Lookup("batchSize"))
	if err != nil {
		return nil, err
	}
	input, rest, err := r.input(c, ns, database, stages)
	if err != nil {
		return nil, err
	}
	let, err := c.document("let")
	if err != nil {
		return nil, err
	}
	pipeline, err := store.CompilePipeline(rest, store.Env{
		Now:       r.cluster.Now,
		Variables: let,
		Collection: func(name string) (iter.Seq[bson.Raw], error) {
			return r.cluster.Documents(c.db+"."+name, nil), nil
		},
	})
	if err != nil {
		return nil, err
	}
	var results []bson.Raw
	for doc, err := range pipeline.Run(c.ctx, input) {
		if err != nil {
			return nil, err
		}
		results = append(results, doc)
	}
	return r.firstBatch(c, ns, results, size)
}

// aggregateNamespace: a collection's, or <db>.$cmd.aggregate for {aggregate: 1}.
func (c *call) aggregateNamespace() (ns string, database bool, err error) {
	v := c.body.Lookup("aggregate")
	if n, isNumber := v.AsInt64OK(); isNumber {
		if n != 1 {
			return "", false, mongoerr.New(mongoerr.FailedToParse, "Invalid command format: the 'aggregate' field must specify a collection name or 1")
		}
		return c.db + ".$cmd.aggregate", true, nil
	}
	ns, err = c.namespace()
	return ns, false, err
}

// input is what flows into the pipeline: a source stage's documents, or the
// collection's, with a leading $match done while reading.
func (r *Router) input(c *call, ns string, database bool, stages []bson.Raw) (iter.Seq[bson.Raw], []bson.Raw, error) {
	if err := sourcesFirst(stages); err != nil {
		return nil, nil, err
	}
	if len(stages) > 0 {
		name, spec, err := stage(stages[0])
		if err != nil {
			return nil, nil, err
		}
		if src, known := sources()[name]; known {
			if src.adminOnly && c.db != "admin" || src.database != database && name != "$shardedDataDistribution" {
				return nil, nil, mongoerr.New(mongoerr.InvalidNamespace, "%s is not allowed on %s", name, ns)
			}
			docs, err := src.run(r, c, ns, spec)
			return slices.Values(docs), stages[1:], err
		}
		if name == "$changeStream" {
			return nil, nil, mongoerr.New(mongoerr.NotImplemented, "the mock does not support change streams")
		}
		if filter, isDoc := spec.DocumentOK(); name == "$match" && isDoc {
			compiled, err := c.filter(filter)
			if err != nil {
				return nil, nil, err
			}
			if err := r.cluster.CheckFilter(ns, compiled); err != nil {
				return nil, nil, err
			}
			return r.cluster.Documents(ns, compiled), stages[1:], nil
		}
	}
	if database {
		if len(stages) > 0 {
			if name, _, _ := stage(stages[0]); name == "$documents" {
				return slices.Values([]bson.Raw(nil)), stages, nil
			}
		}
		return nil, nil, mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for this pipeline: its first stage needs a collection")
	}
	return r.cluster.Documents(ns, nil), stages, nil
}

// sourcesFirst: a stage that makes documents must be the first.
func sourcesFirst(stages []bson.Raw) error {
	for _, s := range stages[min(1, len(stages)):] {
		name, _, err := stage(s)
		if _, isSource := sources()[name]; err == nil && isSource {
			return mongoerr.New(mongoerr.StageNotFirst, "%s is only valid as the first stage in a pipeline", name)
		}
	}
	return nil
}

func stage(doc bson.Raw) (name string, spec bson.RawValue, err error) {
	elems, err := doc.Elements()
	if err != nil || len(elems) != 1 {
		return "", spec, mongoerr.New(mongoerr.UnknownStage-1, "A pipeline stage specification object must contain exactly one field.")
	}
	return elems[0].Key(), elems[0].Value(), nil
}
