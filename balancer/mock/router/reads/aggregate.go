package reads

import (
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mongoerr"
)

// Aggregation is a parsed and checked aggregate command.
type Aggregation struct {
	NS         string
	OnDatabase bool // {aggregate: 1}
	Env        pipeline.Env
	// Collation is nil for bytewise order.
	Collation bson.Raw
	// Joins are the collections that the stages read, JoinedNames their names.
	Joins       *joinedCollections
	JoinedNames []string
	// Source generates the documents; nil if Query reads them.
	Source func() ([]bson.Raw, error)
	// Query is the query that replaces the first stages (pushedStages).
	Query call.Query
	// pushedStages are the stages that Query replaces.
	pushedStages []bson.Raw
	// Stages are the stages after the source or query, without the output stage.
	Stages []bson.Raw
	Output Output
	// WritesToSharded: the collection that Output writes to is sharded. Only explain sets it.
	WritesToSharded bool
}

// Output writes an aggregation's results: $out or $merge.
type Output interface {
	write(c *call.Call, results []bson.Raw) error
}

// Aggregate runs a pipeline.
func Aggregate(c *call.Call) (bson.D, error) {
	size, err := cursorBatchSize(c)
	if err != nil {
		return nil, err
	}
	if spec, rest, is := c.ChangeStreamSpec(); is && c.Node.Member == nil {
		return watch(c, spec, rest, size)
	}
	a, err := ReadAggregate(c)
	if err != nil {
		return nil, err
	}
	results, err := openAggregation(c, a)
	if err != nil {
		return nil, err
	}
	if a.Output == nil {
		return call.CursorReply(c, &call.Cursor{NS: a.NS, Stream: results.Start(c)}, size)
	}
	docs, err := call.WithoutLock(c, func(ctx context.Context) ([]bson.Raw, error) {
		return collectLimited(results(ctx), c.Node.Cursors.MaxBytes)
	})
	if err != nil {
		return nil, err
	}
	c.IsWritingResults = true
	if err := a.Output.write(c, docs); err != nil {
		return nil, mongoerr.Wrap(err, "PlanExecutor error during aggregation")
	}
	return call.FirstBatchReply(c, a.NS, nil, size)
}

// collectLimited collects the results of a pipeline with an output stage. It fails if they have more than
// maxBytes.
func collectLimited(results iter.Seq2[bson.Raw, error], maxBytes int64) ([]bson.Raw, error) {
	var docs []bson.Raw
	held := int64(0)
	for doc, err := range results {
		if err != nil {
			return nil, err
		}
		if held += int64(len(doc)); held > maxBytes {
			return nil, mongoerr.New(mongoerr.ExceededMemoryLimit,
				"PlanExecutor error during aggregation :: caused by :: the mock keeps all results of a pipeline that writes "+
					"them, and these are more than %d bytes: narrow the pipeline down", maxBytes)
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// cursorBatchSize reads the required cursor option.
func cursorBatchSize(c *call.Call) (int, error) {
	v := c.Body.Lookup("cursor")
	if v.IsZero() {
		return 0, mongoerr.New(mongoerr.FailedToParse,
			"The 'cursor' option is required, except for aggregate with the explain argument")
	}
	spec, isDoc := v.DocumentOK()
	if !isDoc {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "cursor field must be missing or an object")
	}
	return c.CursorBatchSize(spec)
}

func pipelineError(v bson.RawValue) error {
	if v.Type != bson.TypeArray {
		return mongoerr.New(mongoerr.TypeMismatch, "'pipeline' option must be specified as an array")
	}
	return mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
}

// openAggregation captures the data that a pipeline reads, and returns its results. It does not run the
// output stage.
func openAggregation(c *call.Call, a Aggregation) (call.Source, error) {
	counted := rewriteChunkCount(c, &a)
	input, err := openInput(c, a, counted)
	if err != nil {
		return nil, err
	}
	if err := a.Joins.Capture(c, a.JoinedNames); err != nil {
		return nil, err
	}
	return func(ctx context.Context) iter.Seq2[bson.Raw, error] {
		return func(yield func(bson.Raw, error) bool) {
			pipeline, err := pipeline.Compile(a.Stages, a.Env)
			if err != nil {
				yield(nil, err)
				return
			}
			a.Joins.Ctx = ctx
			for doc, err := range pipeline.Transform(ctx, a.checkCollated(input(ctx))) {
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

// checkCollated rejects documents with strings that stages may compare by a collation.
func (a Aggregation) checkCollated(in iter.Seq2[bson.Raw, error]) iter.Seq2[bson.Raw, error] {
	if a.Collation == nil {
		return in
	}
	if compares, _ := call.StagesCompare(a.Stages); !compares {
		return in
	}
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range in {
			if err == nil {
				err = call.CheckComparable(a.Collation, doc)
			}
			if !yield(doc, err) || err != nil {
				return
			}
		}
	}
}

func checkResult(doc bson.Raw) error {
	if len(doc) <= document.MaxSize+16<<10 {
		return nil
	}
	return mongoerr.New(mongoerr.BSONObjectTooLarge,
		"PlanExecutor error during aggregation :: caused by :: BSONObj size: %d is invalid. Size must be between 0 and "+
			"%d(16MB)", len(doc), document.MaxSize+16<<10)
}

// openInput captures the input of a pipeline.
func openInput(c *call.Call, a Aggregation, counted bool) (call.Source, error) {
	switch {
	case counted:
		return chunkCountInput(c, a.Query.Filter)
	case a.Source != nil:
		docs, err := a.Source()
		return sourceOf(docs), err
	case a.OnDatabase:
		return sourceOf(nil), nil
	}
	return OpenQuery(c, a.Query)
}

// ReadAggregate parses and checks the whole command before anything runs. It releases the lock for the
// parts that may take long.
func ReadAggregate(c *call.Call) (Aggregation, error) {
	var a Aggregation
	var err error
	if a.NS, a.OnDatabase, err = c.AggregateNamespace(); err != nil {
		return a, err
	}
	stages, err := call.WithoutLock(c, func(context.Context) ([]bson.Raw, error) { return readStages(c) })
	if err != nil {
		return a, err
	}
	if a.Collation, err = c.Collation(c.Body.Raw); err != nil {
		return a, err
	}
	let, err := c.Let() // evaluated by readStages
	if err != nil {
		return a, err
	}
	a.Joins, a.Env = pipelineEnvironment(c, c.DB, let)
	if on, first, isView := c.Cluster.Collections().ResolveView(a.NS, c.DB); isView {
		if a.Collation != nil {
			return a, mongoerr.New(mongoerr.OptionNotSupportedOnView, "Cannot override a view's default collation%s", a.NS)
		}
		a.NS, stages = on, append(first, stages...)
	}
	if stages, err = takeSource(c, &a, stages); err != nil {
		return a, err
	}
	if a.Output, stages, err = takeOutput(c, stages); err != nil {
		return a, err
	}
	a.Stages = stages
	return a, c.WithoutLock(func(context.Context) error { return a.compile(c) })
}

// readStages parses the stages without access to the cluster.
func readStages(c *call.Call) ([]bson.Raw, error) {
	stages, err := args.Documents(c.Body.Lookup("pipeline"))
	if err != nil {
		return nil, pipelineError(c.Body.Lookup("pipeline"))
	}
	if _, err := c.Collation(c.Body.Raw); err != nil {
		return nil, err
	}
	if _, err := c.Let(); err != nil {
		return nil, err
	}
	return stages, checkInitialStages(c, stages)
}

// compile checks the stages. It determines which stages become the query and which collections the other
// stages read.
func (a *Aggregation) compile(c *call.Call) error {
	if _, err := pipeline.Compile(a.Stages, a.Env); err != nil {
		return err
	}
	if a.Collation != nil {
		compares, hasTexts := call.StagesCompare(a.Stages)
		if hasTexts {
			return call.ErrCollation(a.Collation)
		}
		if compares {
			if err := call.CheckNoStrings(a.Collation, c.Body.Lookup("let")); err != nil {
				return err
			}
		}
	}
	a.Stages = pipeline.Reorder(a.Stages)
	a.JoinedNames = joinedNames(a.Stages)
	if a.Source == nil && !a.OnDatabase {
		return pushDown(c, a)
	}
	return nil
}

// takeSource removes a first stage that generates documents from the pipeline.
func takeSource(c *call.Call, a *Aggregation, stages []bson.Raw) ([]bson.Raw, error) {
	var name string
	var spec bson.RawValue
	if len(stages) > 0 {
		var err error
		if name, spec, err = call.Stage(stages[0]); err != nil {
			return nil, err
		}
	}
	if src, known := c.Node.Stages[name]; known {
		if src.Since != (catalog.Release{}) && !c.Node.Release().FCVAtLeast(src.Since) {
			return nil, mongoerr.New(mongoerr.UnknownStage, "Unrecognized pipeline stage name: '%s'", name)
		}
		if src.AdminOnly && c.DB != "admin" || src.OnDatabase != a.OnDatabase && !src.ChecksDatabase {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "%s is not allowed on %s", name, a.NS)
		}
		if err := checkMemberStage(c, name); err != nil {
			return nil, err
		}
		a.Source = func() ([]bson.Raw, error) { return src.Run(c, a.NS, spec) }
		return stages[1:], nil
	}
	if name == "$changeStream" {
		return nil, mongoerr.New(mongoerr.NotImplemented,
			"the mock runs change streams only as the first stage of an aggregation, and does not explain them")
	}
	if a.OnDatabase && name != "$documents" { // the compiler rejects the stage
		if name == "" {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for an empty pipeline.")
		}
		return nil, mongoerr.New(mongoerr.InvalidNamespace,
			"{aggregate: 1} is not valid for '%s'; a collection is required.", name)
	}
	return stages, nil
}

// pushDown converts the first stages to a query: $match, $sort and $limit in this order, each at most
// once.
func pushDown(c *call.Call, a *Aggregation) error {
	q := call.Query{NS: a.NS, Collation: a.Collation}
	var err error
	if q.Hint, err = c.Hint(c.Body.Raw); err != nil {
		return err
	}
	order := []string{"$match", "$sort", "$limit"}
	for len(a.Stages) > 0 {
		name, spec, err := call.Stage(a.Stages[0])
		if err != nil {
			return err
		}
		at := slices.Index(order, name)
		if at < 0 {
			break
		}
		order = order[at+1:]
		taken, err := takeStage(&q, c, name, spec)
		if err != nil {
			return err
		}
		if !taken {
			break
		}
		a.pushedStages = append(a.pushedStages, a.Stages[0])
		a.Stages = a.Stages[1:]
	}
	a.Query = q
	return nil
}

// takeStage adds a stage to the query if possible. It reports whether it did.
func takeStage(q *call.Query, c *call.Call, name string, spec bson.RawValue) (bool, error) {
	var err error
	switch name {
	case "$match":
		filter, isDoc := spec.DocumentOK()
		if !isDoc {
			return false, nil
		}
		q.Filter, err = c.Filter(filter)
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
		q.SortPattern = pattern
		q.Sort, err = order.Compile(pattern)
		return err == nil, err
	case "$limit":
		n, isNumber := spec.AsInt64OK()
		if !isNumber {
			return false, nil
		}
		q.Limit = n
	}
	return err == nil, err
}

// checkInitialStages rejects stages that generate documents in any place but the first.
func checkInitialStages(c *call.Call, stages []bson.Raw) error {
	for _, s := range stages[min(1, len(stages)):] {
		name, _, err := call.Stage(s)
		if _, isSource := c.Node.Stages[name]; err == nil && isSource {
			return mongoerr.New(mongoerr.StageNotFirst, "%s is only valid as the first stage in a pipeline", name)
		}
	}
	return nil
}
