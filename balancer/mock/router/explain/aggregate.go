package explain

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mongoerr"
)

// shardStages are the stages that each shard can run on its own documents. The first other stage ends
// the shards' part of a pipeline.
var shardStages = map[string]bool{
	"$match": true, "$project": true, "$addFields": true, "$set": true, "$unset": true, "$unwind": true,
	"$redact": true, "$replaceRoot": true, "$replaceWith": true,
}

// splitStages are the stages with a part on the shards and a merging part.
var splitStages = map[string]bool{"$group": true, "$sort": true, "$limit": true}

// splitPipeline splits a pipeline for several shards into the shards' part and the merger's part.
func splitPipeline(stages []bson.Raw) (shards, merger []bson.Raw) {
	for i, s := range stages {
		name, spec, err := call.Stage(s)
		if err == nil && shardStages[name] {
			continue
		}
		if !splitStages[name] {
			return stages[:i], stages[i:]
		}
		rest := slices.Clone(stages[i:])
		switch name {
		case "$group":
			rest[0] = mergingGroup(spec)
		case "$sort":
			rest = rest[1:] // the merger merges sorted streams
		}
		return stages[:i+1], rest
	}
	return stages, nil
}

// mergingGroup returns the $group stage that merges the groups of the shards.
func mergingGroup(spec bson.RawValue) bson.Raw {
	group := bson.D{}
	elems, _ := spec.Document().Elements()
	for _, e := range elems {
		if e.Key() == "_id" {
			group = append(group, bson.E{Key: "_id", Value: "$$ROOT._id"})
			continue
		}
		op := "$sum"
		if doc, isDoc := e.Value().DocumentOK(); isDoc {
			if inner, err := doc.Elements(); err == nil && len(inner) > 0 && inner[0].Key() != "$count" {
				op = inner[0].Key()
			}
		}
		group = append(group, bson.E{Key: e.Key(), Value: bson.D{{Key: op, Value: "$$ROOT." + e.Key()}}})
	}
	raw, err := bson.Marshal(bson.D{{Key: "$group", Value: append(group, bson.E{Key: "$doingMerge", Value: true})}})
	if err != nil {
		return nil
	}
	return raw
}

// explainAggregate shows the plan of each shard's query, the stages after it, and where the pipeline is
// split.
func explainAggregate(c *call.Call, level verbosity) (bson.D, error) {
	if !c.Body.Lookup("writeConcern").IsZero() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Aggregation explain does not support the'writeConcern' option")
	}
	a, err := reads.ReadAggregate(c)
	if err != nil {
		return nil, err
	}
	all := a.Stages
	if a.Output != nil {
		pipeline, err := args.Documents(c.Body.Lookup("pipeline"))
		if err != nil {
			return nil, err
		}
		all = append(slices.Clone(all), pipeline[len(pipeline)-1])
	}
	a.WritesToSharded = writesToSharded(c, a.Output)
	if a.Source != nil || a.OnDatabase {
		return explainGenerated(c, a, all), nil
	}
	if err := a.Joins.Capture(c, a.JoinedNames); err != nil {
		return nil, err
	}
	return explainQuery(c, a.Query, level, func(
		ctx context.Context, parts []reads.ShardQuery, h fallbackShard,
	) (bson.D, error) {
		a.Joins.Ctx = ctx
		return explainOnShards(ctx, c, a, all, parts, h, level)
	})
}

// explainOnShards returns the reply for a pipeline that runs on shards: the plan of each shard and, for several
// shards, where the pipeline is split.
func explainOnShards(
	ctx context.Context,
	c *call.Call,
	a reads.Aggregation,
	all []bson.Raw,
	parts []reads.ShardQuery,
	h fallbackShard,
	level verbosity,
) (
	bson.D, error) {
	head := bson.D{{Key: "serverInfo", Value: serverInfo(c.Cluster, "localhost", 27017)},
		{Key: "serverParameters", Value: explainParameters()}}
	mine := all
	if len(parts) > 1 {
		shards, merger := splitPipeline(desugar(all))
		if a.Query.Limit > 0 { // the remaining stages run on the merged and limited documents
			shards, merger = nil, desugar(all)
		}
		mine = shards
		merging, where := bson.A{mergeCursors(a.Query)}, mergingShard(a, merger, h)
		if a.Query.Limit > 0 { // each shard returns as many documents as the whole result may need
			merging = append(merging, bson.D{{Key: "$limit", Value: a.Query.Limit}})
		}
		head = append(head, bson.E{Key: "mergeType", Value: "mongos"})
		if where != "" {
			head[len(head)-1].Value = "specificShard"
			head = append(head, bson.E{Key: "mergeShardId", Value: string(where)})
		}
		head = append(head, bson.E{Key: "splitPipeline", Value: bson.D{
			{
				Key:   "shardsPart",
				Value: append(append(queryStages(a.Query), document.ListOf(mine)...), neededProjection(mine, merger)...),
			},
			{Key: "mergerPart", Value: append(merging, document.ListOf(merger)...)},
		}})
	} else {
		head = append(head, bson.E{Key: "splitPipeline", Value: nil})
	}
	e := explanation{ns: a.NS, query: a.Query, parts: shardPlans(h, a.Query, parts, planStages)}
	shards := bson.D{}
	for i, p := range e.parts {
		var docs []bson.Raw
		if i < len(parts) {
			docs = parts[i].Docs
		}
		one, err := explainShard(ctx, a, e, p, mine, docs, level)
		if err != nil {
			return nil, err
		}
		shards = append(shards, bson.E{Key: string(p.shard), Value: one})
	}
	return append(head, bson.E{Key: "shards", Value: shards}, shapeHash(c),
		bson.E{Key: "command", Value: aggregateCommand(c)}), nil
}

// explainShard returns the explanation of one shard: its query alone, or an array of stages that begins
// with the query.
func explainShard(ctx context.Context, a reads.Aggregation, e explanation, p shardPlan, mine, docs []bson.Raw,
	level verbosity) (bson.D, error) {
	_, members, _ := strings.Cut(p.host, "/")
	host, _, _ := strings.Cut(members, ",")
	doc := bson.D{{Key: "host", Value: host}, {Key: "explainVersion", Value: "1"}}
	counts := make([]int64, len(mine))
	if level != planOnly && len(mine) > 0 {
		if err := countStageResults(ctx, a, mine, docs, counts); err != nil {
			return nil, err
		}
	}
	taken := 0
	for taken < len(mine) && (taken == 0 && stageName(mine[0]) == "$project" || stageName(mine[taken]) == "$group") {
		p.stage = planStage(mine[taken], counts[taken], p.stage)
		taken++
	}
	mine, counts = mine[taken:], counts[taken:]
	query := bson.D{{Key: "queryPlanner", Value: append(e.plannerDoc(p)[:7:7],
		append(bson.D{{Key: "optimizedPipeline", Value: true}}, e.plannerDoc(p)[7:]...)...)}}
	if level != planOnly {
		stats := append(bson.D{{Key: "executionSuccess", Value: true}}, totalsDoc(p.stage.Returned, p.totals)...)
		stats = append(stats, bson.E{Key: "executionStages", Value: p.executionStages()})
		if level == withAllPlans {
			stats = append(stats, bson.E{Key: "allPlansExecution", Value: bson.A{}})
		}
		query = append(query, bson.E{Key: "executionStats", Value: stats})
	}
	if len(mine) == 0 {
		return append(doc, query...), nil
	}
	list := bson.A{bson.D{{Key: "$cursor", Value: query}}}
	if level != planOnly {
		list[0] = bson.D{{Key: "$cursor", Value: query}, {Key: "nReturned", Value: p.stage.Returned},
			{Key: "executionTimeMillisEstimate", Value: int64(0)}}
	}
	for i, s := range mine {
		list = append(list, explainedStage(s, counts[i], level))
	}
	return append(doc, bson.E{Key: "stages", Value: list}), nil
}

// planStage returns the plan stage of a pipeline stage that the server's query engine executes: a
// projection or a group.
func planStage(s bson.Raw, returned int64, input *store.Stage) *store.Stage {
	name, spec, err := call.Stage(s)
	if err != nil {
		return input
	}
	done := &store.Stage{Name: "GROUP", Returned: returned, Works: input.Works}
	if name == "$project" {
		done.Name, done.Fields = "PROJECTION_DEFAULT", bson.D{{Key: "transformBy", Value: spec}}
		if store.IsInclusion(spec.Document()) {
			done.Name = "PROJECTION_SIMPLE"
		}
	}
	return done.AddInput(input)
}

func stageName(s bson.Raw) string {
	name, _, _ := call.Stage(s)
	return name
}

func explainedStage(s bson.Raw, returned int64, level verbosity) bson.D {
	name, spec, err := call.Stage(s)
	if err != nil {
		return nil
	}
	var shown any = spec
	if name == "$sort" {
		shown = bson.D{{Key: "sortKey", Value: spec}}
	}
	doc := bson.D{{Key: name, Value: shown}}
	if level != planOnly {
		doc = append(doc, bson.E{Key: "nReturned", Value: returned},
			bson.E{Key: "executionTimeMillisEstimate", Value: int64(0)})
	}
	return doc
}

// countStageResults runs a shard's stages over the documents of its query and counts the results. It
// does not run a stage that writes.
func countStageResults(ctx context.Context, a reads.Aggregation, mine, docs []bson.Raw, counts []int64) error {
	if a.Output != nil {
		if name, _, err := call.Stage(mine[len(mine)-1]); err == nil && (name == "$out" || name == "$merge") {
			mine = mine[:len(mine)-1]
		}
	}
	pipeline, err := pipeline.Compile(mine, a.Env)
	if err != nil {
		return err
	}
	for _, err := range pipeline.RunCounted(ctx, slices.Values(docs), counts) {
		if err != nil {
			return err
		}
	}
	return nil
}

// explainGenerated explains a pipeline whose first stage generates its documents.
func explainGenerated(c *call.Call, a reads.Aggregation, rest []bson.Raw) bson.D {
	shown := document.ListOf(rest)
	if first, err := args.Documents(c.Body.Lookup("pipeline")); err == nil && a.Source != nil {
		shown = append(bson.A{first[0]}, shown...)
	}
	return bson.D{
		{Key: "serverInfo", Value: serverInfo(c.Cluster, "localhost", 27017)}, {Key: "serverParameters",
			Value: explainParameters()},
		{Key: "mongos", Value: bson.D{{Key: "host", Value: "localhost:27017"}, {Key: "stages", Value: shown}}},
		{Key: "command", Value: aggregateCommand(c)},
	}
}

// queryStages returns the pushed-down query as pipeline stages.
func queryStages(q call.Query) bson.A {
	list := bson.A{}
	if q.Filter != nil {
		list = append(list, bson.D{{Key: "$match", Value: q.Filter.ParsedQuery()}})
	}
	if !document.IsEmpty(q.SortPattern) {
		sort := bson.D{{Key: "sortKey", Value: q.SortPattern}}
		if q.Limit > 0 {
			sort = append(sort, bson.E{Key: "limit", Value: q.Limit})
		}
		return append(list, bson.D{{Key: "$sort", Value: sort}})
	}
	if q.Limit > 0 {
		list = append(list, bson.D{{Key: "$limit", Value: q.Limit}})
	}
	return list
}

func mergeCursors(q call.Query) bson.D {
	options := bson.D{}
	if !document.IsEmpty(q.SortPattern) {
		options = append(options, bson.E{Key: "sort", Value: q.SortPattern})
	}
	return bson.D{{Key: "$mergeCursors", Value: append(options, bson.E{Key: "compareWholeSortKey", Value: false})}}
}

// aggregateCommand returns the command in the format of the explanation.
func aggregateCommand(c *call.Call) bson.D {
	shown := bson.D{}
	for _, name := range []string{c.InvokedAs, "pipeline", "cursor", "let", "hint"} {
		if v := c.Body.Lookup(name); !v.IsZero() {
			shown = append(shown, bson.E{Key: name, Value: v})
		}
	}
	if c.Body.Lookup("cursor").IsZero() {
		shown = append(shown, bson.E{Key: "cursor", Value: bson.D{}})
	}
	return shown
}
