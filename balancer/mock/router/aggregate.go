package router

import (
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mongoerr"
)

// initialStage is a first stage that makes documents instead of changing them.
type initialStage struct {
	// database: run with {aggregate: 1}.
	database bool
	// adminOnly stages answer on admin only.
	adminOnly bool
	// anywhere: it refuses the wrong place itself, with a code of its own.
	anywhere bool
	// since is the first release that has it; zero is all of them.
	since catalog.Release
	run   func(c *call, ns string, spec bson.RawValue) ([]bson.Raw, error)
}

// initialStages returns those of servers, which every node answers or refuses.
func initialStages() map[string]initialStage {
	return map[string]initialStage{
		"$collStats":               {run: collStatsStage},
		"$indexStats":              {run: indexStatsStage},
		"$currentOp":               {database: true, adminOnly: true, run: currentOpStage},
		"$listSessions":            {run: sessionsStage},
		"$listLocalSessions":       {database: true, run: sessionsStage},
		"$shardedDataDistribution": {database: true, anywhere: true, since: catalog.Release60, run: dataDistribution},
		"$listClusterCatalog":      {database: true, anywhere: true, run: clusterCatalogStage},
		"$planCacheStats":          {run: planCacheStage},
		"$listSampledQueries":      {database: true, adminOnly: true, run: sampledQueriesStage},
	}
}

// aggregation is an aggregate command, read and checked.
type aggregation struct {
	ns       string
	database bool // {aggregate: 1}
	env      pipeline.Env
	// joins are the collections that the stages read, and reads their names.
	joins *foreign
	reads []string
	// source makes the documents; nil where a query reads them.
	source func() ([]bson.Raw, error)
	// query is what the first stages amount to.
	query query
	// pushed are those stages.
	pushed []bson.Raw
	// stages are those after the source or query, without the output.
	stages []bson.Raw
	output output
	// outputSharded: what output writes to is sharded; only explain asks for it.
	outputSharded bool
}

// output writes an aggregation's results: $out or $merge.
type output interface {
	write(c *call, results []bson.Raw) error
}

// aggregate runs a pipeline.
func aggregate(c *call) (bson.D, error) {
	size, err := c.cursorSize()
	if err != nil {
		return nil, err
	}
	if spec, rest, is := c.watches(); is && c.node.member == nil {
		return watch(c, spec, rest, size)
	}
	a, err := readAggregate(c)
	if err != nil {
		return nil, err
	}
	results, err := aggregated(c, a)
	if err != nil {
		return nil, err
	}
	if a.output == nil {
		return answerWith(c, &cursor{ns: a.ns, rest: results.start(c)}, size)
	}
	docs, err := outside(c, func(ctx context.Context) ([]bson.Raw, error) {
		return kept(results(ctx), c.node.cursors.limit())
	})
	if err != nil {
		return nil, err
	}
	c.mergesNow = true
	if err := a.output.write(c, docs); err != nil {
		return nil, mongoerr.Wrap(err, "PlanExecutor error during aggregation")
	}
	return firstBatch(c, a.ns, nil, size)
}

// kept keeps all results of a pipeline that writes them, if they are not too many.
func kept(results iter.Seq2[bson.Raw, error], most int64) ([]bson.Raw, error) {
	var docs []bson.Raw
	held := int64(0)
	for doc, err := range results {
		if err != nil {
			return nil, err
		}
		if held += int64(len(doc)); held > most {
			return nil, mongoerr.New(mongoerr.ExceededMemoryLimit,
				"PlanExecutor error during aggregation :: caused by :: the mock keeps all results of a pipeline that writes "+
					"them, and these are more than %d bytes: narrow the pipeline down", most)
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// cursorSize reads the cursor option, which must be there.
func (c *call) cursorSize() (int, error) {
	v := c.body.Lookup("cursor")
	if v.IsZero() {
		return 0, mongoerr.New(mongoerr.FailedToParse,
			"The 'cursor' option is required, except for aggregate with the explain argument")
	}
	spec, isDoc := v.DocumentOK()
	if !isDoc {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "cursor field must be missing or an object")
	}
	return c.sizeIn(spec)
}

// sizeIn reads the option cursor, in which there is nothing but batchSize.
func (c *call) sizeIn(cursor bson.Raw) (int, error) {
	if cursor == nil {
		return c.batchSize(bson.RawValue{})
	}
	if err := args.Check("cursor", []args.Field{args.Optional("batchSize", args.Count)}, cursor); err != nil {
		return 0, err
	}
	return c.batchSize(cursor.Lookup("batchSize"))
}

func pipelineError(v bson.RawValue) error {
	if v.Type != bson.TypeArray {
		return mongoerr.New(mongoerr.TypeMismatch, "'pipeline' option must be specified as an array")
	}
	return mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
}

// aggregated captures what a pipeline reads, and returns its results without the
// output's.
func aggregated(c *call, a aggregation) (source, error) {
	counted := countedChunks(c, &a)
	input, err := input(c, a, counted)
	if err != nil {
		return nil, err
	}
	if err := a.joins.capture(c, a.reads); err != nil {
		return nil, err
	}
	return func(ctx context.Context) iter.Seq2[bson.Raw, error] {
		return func(yield func(bson.Raw, error) bool) {
			pipeline, err := pipeline.Compile(a.stages, a.env)
			if err != nil {
				yield(nil, err)
				return
			}
			a.joins.ctx = ctx
			for doc, err := range pipeline.Transform(ctx, input(ctx)) {
				if err == nil {
					err = checkResult(doc)
				}
				if !yield(doc, err) || err != nil {
					return
				}
			}
		}
	}, nil
}

func checkResult(doc bson.Raw) error {
	if len(doc) <= document.MaxSize+16<<10 {
		return nil
	}
	return mongoerr.New(mongoerr.BSONObjectTooLarge,
		"PlanExecutor error during aggregation :: caused by :: BSONObj size: %d is invalid. Size must be between 0 and "+
			"%d(16MB)", len(doc), document.MaxSize+16<<10)
}

// input captures what a pipeline begins with.
func input(c *call, a aggregation, counted bool) (source, error) {
	switch {
	case counted:
		return countedInput(c, a.query.filter)
	case a.source != nil:
		docs, err := a.source()
		return documents(docs), err
	case a.database:
		return documents(nil), nil
	}
	return queried(c, a.query)
}

// readAggregate checks the whole command before anything runs. What may take long
// is done with the lock given back.
func readAggregate(c *call) (aggregation, error) {
	var a aggregation
	var err error
	if a.ns, a.database, err = c.aggregateNamespace(); err != nil {
		return a, err
	}
	stages, err := outside(c, func(context.Context) ([]bson.Raw, error) { return readStages(c) })
	if err != nil {
		return a, err
	}
	let, err := c.let() // which readStages has evaluated
	if err != nil {
		return a, err
	}
	a.joins, a.env = environment(c, c.db, let)
	if on, first, isView := c.cluster.Collections().ViewOf(a.ns, c.db); isView {
		a.ns, stages = on, append(first, stages...)
	}
	if stages, err = takeSource(c, &a, stages); err != nil {
		return a, err
	}
	if a.output, stages, err = takeOutput(c, stages); err != nil {
		return a, err
	}
	a.stages = stages
	return a, c.outside(func(context.Context) error { return a.compile(c) })
}

// readStages reads the pipeline as far as nothing of the cluster is asked.
func readStages(c *call) ([]bson.Raw, error) {
	stages, err := args.Documents(c.body.Lookup("pipeline"))
	if err != nil {
		return nil, pipelineError(c.body.Lookup("pipeline"))
	}
	if err := c.simpleCollation(c.body.Raw); err != nil {
		return nil, err
	}
	if _, err := c.let(); err != nil {
		return nil, err
	}
	return stages, checkInitialStages(c, stages)
}

// compile checks the stages, and finds what a query does of them and what else
// they read.
func (a *aggregation) compile(c *call) error {
	if _, err := pipeline.Compile(a.stages, a.env); err != nil {
		return err
	}
	a.stages = pipeline.Ordered(a.stages)
	a.reads = joined(a.stages)
	if a.source == nil && !a.database {
		return pushDown(c, a)
	}
	return nil
}

// aggregateNamespace: a collection's, or <db>.$cmd.aggregate for {aggregate: 1}.
func (c *call) aggregateNamespace() (ns string, database bool, err error) {
	v := c.body.Lookup("aggregate")
	if n, isNumber := v.AsInt64OK(); isNumber {
		if n != 1 {
			return "", false, mongoerr.New(mongoerr.FailedToParse,
				"Invalid command format: the 'aggregate' field must specify a collection name or 1")
		}
		return c.db + ".$cmd.aggregate", true, nil
	}
	ns, err = c.namespace()
	return ns, false, err
}

// takeSource takes a first stage off that makes documents.
func takeSource(c *call, a *aggregation, stages []bson.Raw) ([]bson.Raw, error) {
	var name string
	var spec bson.RawValue
	if len(stages) > 0 {
		var err error
		if name, spec, err = stage(stages[0]); err != nil {
			return nil, err
		}
	}
	if src, known := c.node.stages[name]; known {
		if src.since != (catalog.Release{}) && !c.cluster.Release().AtLeast(src.since) {
			return nil, mongoerr.New(mongoerr.UnknownStage, "Unrecognized pipeline stage name: '%s'", name)
		}
		if src.adminOnly && c.db != "admin" || src.database != a.database && !src.anywhere {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "%s is not allowed on %s", name, a.ns)
		}
		if err := checkMemberStage(c, name); err != nil {
			return nil, err
		}
		a.source = func() ([]bson.Raw, error) { return src.run(c, a.ns, spec) }
		return stages[1:], nil
	}
	if name == "$changeStream" {
		return nil, mongoerr.New(mongoerr.NotImplemented,
			"the mock runs change streams only as the first stage of an aggregation, and does not explain them")
	}
	if a.database && name != "$documents" {
		if name == "" {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for an empty pipeline.")
		}
		return nil, mongoerr.New(mongoerr.InvalidNamespace,
			"{aggregate: 1} is not valid for '%s'; a collection is required.", name)
	}
	return stages, nil
}

// pushDown makes a query of the first stages: $match, $sort and $limit in this
// order, each at most once.
func pushDown(c *call, a *aggregation) error {
	q := query{ns: a.ns}
	var err error
	if q.hint, err = c.hint(c.body.Raw); err != nil {
		return err
	}
	order := []string{"$match", "$sort", "$limit"}
	for len(a.stages) > 0 {
		name, spec, err := stage(a.stages[0])
		if err != nil {
			return err
		}
		at := slices.Index(order, name)
		if at < 0 {
			break
		}
		order = order[at+1:]
		taken, err := q.take(c, name, spec)
		if err != nil {
			return err
		}
		if !taken {
			break
		}
		a.pushed = append(a.pushed, a.stages[0])
		a.stages = a.stages[1:]
	}
	a.query = q
	return nil
}

// take makes one stage a part of the query, if it can be.
func (q *query) take(c *call, name string, spec bson.RawValue) (bool, error) {
	var err error
	switch name {
	case "$match":
		filter, isDoc := spec.DocumentOK()
		if !isDoc {
			return false, nil
		}
		q.filter, err = c.filter(filter)
	case "$sort":
		pattern, isDoc := spec.DocumentOK()
		if !isDoc {
			return false, nil
		}
		elems, err := pattern.Elements()
		if err != nil {
			return false, err
		}
		for _, e := range elems {
			if _, isMeta := e.Value().DocumentOK(); isMeta || e.Key() == "$natural" {
				return false, nil
			}
		}
		q.order = pattern
		q.sort, err = order.Compile(pattern)
		return err == nil, err
	case "$limit":
		n, isNumber := spec.AsInt64OK()
		if !isNumber {
			return false, nil
		}
		q.limit = n
	}
	return err == nil, err
}

// checkInitialStages: a stage that makes documents must be the first.
func checkInitialStages(c *call, stages []bson.Raw) error {
	for _, s := range stages[min(1, len(stages)):] {
		name, _, err := stage(s)
		if _, isSource := c.node.stages[name]; err == nil && isSource {
			return mongoerr.New(mongoerr.StageNotFirst, "%s is only valid as the first stage in a pipeline", name)
		}
	}
	return nil
}

func stage(doc bson.Raw) (name string, spec bson.RawValue, err error) {
	elems, err := doc.Elements()
	if err != nil || len(elems) != 1 {
		return "", spec, mongoerr.New(mongoerr.UnknownStage-1,
			"A pipeline stage specification object must contain exactly one field.")
	}
	return elems[0].Key(), elems[0].Value(), nil
}

// stageNames returns those of a pipeline as far as it is one. What is wrong
// with it shows when it is compiled.
func stageNames(pipeline bson.RawValue) iter.Seq[string] {
	return func(yield func(string) bool) {
		array, _ := pipeline.ArrayOK()
		values, _ := array.Values()
		for _, v := range values {
			doc, _ := v.DocumentOK()
			if name, _, err := stage(doc); err == nil && !yield(name) {
				return
			}
		}
	}
}
