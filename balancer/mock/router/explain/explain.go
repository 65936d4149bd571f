package explain

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/querystats"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mock/router/servers"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mongoerr"
)

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return map[string]call.Handler{
		"aggregate": aggregateOrExplain,
		"explain":   explain,
	}
}

// aggregateOrExplain runs an aggregation, or explains it if the command has the explain option.
func aggregateOrExplain(c *call.Call) (bson.D, error) {
	if args.IsTrueOrNonzero(c.Body.Lookup("explain")) {
		return explainAggregate(c, planOnly)
	}
	return reads.Aggregate(c)
}

// explainers returns the commands that can be explained.
func explainers() map[string]func(*call.Call, verbosity) (bson.D, error) {
	return map[string]func(*call.Call, verbosity) (bson.D, error){
		"find": explainFind, "count": explainCount, "distinct": explainDistinct,
		"aggregate": explainAggregate, "update": explainUpdate, "delete": explainDelete,
		"findAndModify": explainFindAndModify, "findandmodify": explainFindAndModify,
	}
}

// verbosity is the level of detail of an explanation. Each level includes the previous ones.
type verbosity int

const (
	planOnly verbosity = iota
	withExecution
	withAllPlans
)

func readVerbosity(v bson.RawValue) (verbosity, error) {
	if v.IsZero() {
		return withAllPlans, nil
	}
	name, isText := v.StringValueOK()
	if !isText {
		return 0, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'explain.verbosity' is the wrong type '%s', expected type 'string'", args.TypeName(v.Type))
	}
	switch name {
	case "queryPlanner":
		return planOnly, nil
	case "executionStats":
		return withExecution, nil
	case "allPlansExecution":
		return withAllPlans, nil
	}
	return 0, mongoerr.New(mongoerr.BadValue,
		"Enumeration value '%s' for field 'explain.verbosity' is not a valid value.", name)
}

// explain explains how a command would run: on which shards and, beyond queryPlanner, at what cost. It
// changes nothing.
func explain(c *call.Call) (bson.D, error) {
	inner, isDoc := c.Body.Lookup("explain").DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'explain.explain' is the wrong type '%s', expected type 'object'",
			args.TypeName(c.Body.Lookup("explain").Type))
	}
	level, err := readVerbosity(c.Body.Lookup("verbosity"))
	if err != nil {
		return nil, err
	}
	if db, ok := inner.Lookup("$db").StringValueOK(); ok && db != c.DB {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Mismatched $db in explain command. Expected %s but got %s",
			c.DB, db)
	}
	elems, err := inner.Elements()
	if err != nil || len(elems) == 0 {
		return nil, mongoerr.New(mongoerr.CommandNotFound, "Explain failed due to unknown command: ")
	}
	return explainCommand(c, elems[0].Key(), inner, level)
}

func explainCommand(c *call.Call, name string, inner bson.Raw, level verbosity) (bson.D, error) {
	cmd := c.Node.Table()[name]
	if cmd == nil {
		return nil, mongoerr.New(mongoerr.CommandNotFound, "Explain failed due to unknown command: %s", name)
	}
	run := explainers()[name]
	if run == nil {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "Cannot explain cmd: %s", name)
	}
	parsed, err := cmd.Parse(inner)
	if err != nil {
		return nil, err
	}
	innerCall := *c
	innerCall.Body, innerCall.Args, innerCall.InvokedAs, innerCall.LetVariables = call.NewBody(inner, nil), parsed, name,
		nil
	return run(&innerCall, level)
}

// explainTail returns the last fields of every explanation except those of aggregations.
func explainTail(c *call.Call) bson.D {
	command := bson.D{}
	if elems, err := c.Body.Elements(); err == nil {
		for _, e := range elems {
			if e.Key() != "$db" {
				command = append(command, bson.E{Key: e.Key(), Value: e.Value()})
			}
		}
	}
	return bson.D{
		{Key: "serverInfo", Value: serverInfo(c.Cluster, "localhost", 27017)},
		{Key: "serverParameters", Value: explainParameters()},
		{Key: "command", Value: append(command, bson.E{Key: "$db", Value: c.DB})},
	}
}

func serverInfo(cluster *mock.Cluster, host string, port int32) bson.D {
	return bson.D{
		{Key: "host", Value: host}, {Key: "port", Value: port}, {Key: "version", Value: cluster.Version()},
		{Key: "gitVersion", Value: servers.GitVersion},
	}
}

// shardInfo returns the address of a shard's first server, in the order of the connection string.
func shardInfo(cluster *mock.Cluster, connection string) bson.D {
	_, members, _ := strings.Cut(connection, "/")
	member, _, _ := strings.Cut(members, ",")
	host, port, _ := strings.Cut(member, ":")
	n, _ := strconv.ParseInt(port, 10, 32)
	return serverInfo(cluster, host, int32(n))
}

// explainParameters returns the server parameters of the query engine. The mock's plans are those of the
// classic engine.
func explainParameters() bson.D {
	const memory = int32(100 << 20)
	return bson.D{
		{Key: "internalQueryFacetBufferSizeBytes", Value: memory},
		{Key: "internalQueryFacetMaxOutputDocSizeBytes", Value: memory},
		{Key: "internalLookupStageIntermediateDocumentMaxSizeBytes", Value: memory},
		{Key: "internalDocumentSourceGroupMaxMemoryBytes", Value: memory},
		{Key: "internalQueryMaxBlockingSortMemoryUsageBytes", Value: memory},
		{Key: "internalQueryProhibitBlockingMergeOnMongoS", Value: int32(0)},
		{Key: "internalQueryMaxAddToSetBytes", Value: memory},
		{Key: "internalDocumentSourceSetWindowFieldsMaxMemoryBytes", Value: memory},
		{Key: "internalQueryFrameworkControl", Value: "forceClassicEngine"},
		{Key: "internalQueryPlannerIgnoreIndexWithCollationForRegex", Value: int32(1)},
	}
}

// shardPlan is the plan of one shard.
type shardPlan struct {
	shard    catalog.ShardID
	host     string
	stage    *store.Stage
	totals   store.Totals
	rejected bson.A // rejected plans
}

// explanation is the combined explanation of the shards.
type explanation struct {
	ns         string
	query      call.Query
	mergeStage string // the stage that merges the shards' results
	parts      []shardPlan
}

func mergeStage(shards int, sorted bool) string {
	switch {
	case shards == 1:
		return "SINGLE_SHARD"
	case sorted:
		return "SHARD_MERGE_SORT"
	}
	return "SHARD_MERGE"
}

// shardPlans converts the executions on the shards to plan stages. wrap adds the command's own stage on
// top.
func shardPlans(
	h fallbackShard,
	q call.Query,
	parts []reads.ShardQuery,
	wrap func(p reads.ShardQuery, shape store.ResultShape) (*store.Stage,
		store.Totals),
) []shardPlan {
	var plans []shardPlan
	for _, p := range parts {
		shape := shardShape(p, q, len(parts))
		stage, totals := wrap(p, shape)
		plans = append(plans, shardPlan{p.Read.Shard, p.Read.Host, stage, totals, p.Read.Plan.RejectedPlans(shape)})
	}
	if len(plans) == 0 { // the collection does not exist
		plans = []shardPlan{{shard: h.shard, host: h.host, stage: &store.Stage{Name: "EOF", Works: 1}, rejected: bson.A{}}}
	}
	return plans
}

// shardShape returns the limits of a shard's query. If there are several shards, each returns as many
// documents as the whole result may need and the router skips documents.
func shardShape(p reads.ShardQuery, q call.Query, shards int) store.ResultShape {
	shape := store.ResultShape{ShardKey: p.Read.ShardKey, Projection: q.ProjectionSpec, Skip: q.Skip, Limit: q.Limit}
	if shards > 1 && q.Skip > 0 {
		shape.Skip = 0
		if q.Limit > 0 {
			shape.Limit = q.Limit + q.Skip
		}
	}
	return shape
}

func planStages(p reads.ShardQuery, shape store.ResultShape) (*store.Stage, store.Totals) {
	return p.Read.Plan.Stages(shape, p.RunStats)
}

// reply returns the explanation as a reply.
func (e explanation) reply(cluster *mock.Cluster, level verbosity) bson.D {
	shards := bson.A{}
	for _, p := range e.parts {
		shards = append(shards, append(bson.D{
			{Key: "explainVersion", Value: "1"},
			{Key: "shardName", Value: string(p.shard)},
			{Key: "connectionString", Value: p.host},
			{Key: "serverInfo", Value: shardInfo(cluster, p.host)},
		}, e.plannerDoc(p)...))
	}
	doc := bson.D{
		{
			Key: "queryPlanner",
			Value: bson.D{
				{Key: "winningPlan", Value: bson.D{{Key: "stage", Value: e.mergeStage}, {Key: "shards", Value: shards}}},
			},
		},
	}
	if level == planOnly {
		return doc
	}
	return append(doc, bson.E{Key: "executionStats", Value: e.executionDoc(level)})
}

// plannerDoc returns the plan of one shard.
func (e explanation) plannerDoc(p shardPlan) bson.D {
	shape, key := e.hashes(p)
	return bson.D{
		{Key: "namespace", Value: e.ns},
		{Key: "parsedQuery", Value: e.query.Filter.ParsedQuery()},
		{Key: "indexFilterSet", Value: false},
		{Key: "queryHash", Value: shape},
		{Key: "planCacheShapeHash", Value: shape},
		{Key: "planCacheKey", Value: key},
		{Key: "optimizationTimeMillis", Value: int32(0)},
		{Key: "maxIndexedOrSolutionsReached", Value: false},
		{Key: "maxIndexedAndSolutionsReached", Value: false},
		{Key: "maxScansToExplodeReached", Value: false},
		{Key: "prunedSimilarIndexes", Value: false},
		{Key: "winningPlan", Value: append(bson.D{{Key: "isCached", Value: false}}, p.stage.PlannerDoc()...)},
		{Key: "rejectedPlans", Value: p.rejected},
	}
}

// hashes returns the hash of a query's shape, and the hash of the shape with its plan. Queries that
// differ only in values have equal hashes. The hashes differ from the server's.
func (e explanation) hashes(p shardPlan) (shape, key string) {
	h := fnv.New32a()
	fmt.Fprint(h, e.query.Filter.Shape(), e.query.SortPattern, e.query.ProjectionSpec)
	shape = fmt.Sprintf("%08X", h.Sum32())
	fmt.Fprint(h, p.stage.Name, len(p.rejected))
	return shape, fmt.Sprintf("%08X", h.Sum32())
}

// shapeHash returns queryShapeHash, which is that of $queryStats.
func shapeHash(c *call.Call) bson.E {
	return bson.E{Key: "queryShapeHash", Value: querystats.ShapeHash(c.DB, c.InvokedAs, c.Body.Raw)}
}

// executionDoc returns executionStats: the sums, then the statistics of each shard.
func (e explanation) executionDoc(level verbosity) bson.D {
	var total store.Totals
	var returned int64
	shards, all := bson.A{}, bson.A{}
	for _, p := range e.parts {
		returned += p.stage.Returned
		total.Keys += p.totals.Keys
		total.Docs += p.totals.Docs
		shards = append(shards,
			append(append(bson.D{{Key: "shardName", Value: string(p.shard)}, {Key: "executionSuccess", Value: true}},
				totalsDoc(p.stage.Returned, p.totals)...), bson.E{Key: "executionStages", Value: p.executionStages()}))
		all = append(all, bson.D{{Key: "shardName", Value: string(p.shard)}, {Key: "allPlans", Value: bson.A{}}})
	}
	stages := append(bson.D{{Key: "stage", Value: e.mergeStage}}, totalsDoc(returned, total)...)
	stages = append(stages, bson.E{Key: "totalChildMillis", Value: int64(0)}, bson.E{Key: "shards", Value: shards})
	doc := append(totalsDoc(returned, total), bson.E{Key: "executionStages", Value: stages})
	if level == withAllPlans {
		doc = append(doc, bson.E{Key: "allPlansExecution", Value: all})
	}
	return doc
}

func (p shardPlan) executionStages() bson.D {
	return append(bson.D{{Key: "isCached", Value: false}}, p.stage.ExecutionDoc()...)
}

func totalsDoc(returned int64, totals store.Totals) bson.D {
	return bson.D{
		{Key: "nReturned", Value: document.SmallestInt(returned)}, {Key: "executionTimeMillis", Value: int32(0)},
		{Key: "totalKeysExamined", Value: document.SmallestInt(totals.Keys)},
		{Key: "totalDocsExamined", Value: document.SmallestInt(totals.Docs)},
	}
}

// explainQuery captures the data that a query reads and explains the query with the lock released. explainReads
// receives the shards' parts, which are executed unless only the plan is requested, and the shard that
// would have the collection.
func explainQuery(c *call.Call, q call.Query, level verbosity,
	explainReads func(ctx context.Context, parts []reads.ShardQuery, h fallbackShard) (bson.D, error)) (bson.D, error) {
	captured, err := reads.ReachableReads(c, q)
	if err != nil {
		return nil, err
	}
	var h fallbackShard
	h.shard, h.host = c.Cluster.Statistics().HomeShard(q.NS)
	return call.WithoutLock(c, func(ctx context.Context) (bson.D, error) {
		planned, err := mock.PlanReads(captured, q.StoreQuery())
		if err != nil {
			return nil, err
		}
		parts := make([]reads.ShardQuery, len(planned))
		for i, r := range planned {
			parts[i].Read = r
			if level == planOnly {
				continue
			}
			if err := parts[i].Collect(ctx, q, pipeline.NewSortMemory(ctx, q.NoDisk)); err != nil {
				return nil, err
			}
		}
		return explainReads(ctx, parts, h)
	})
}

// fallbackShard is the shard that explains a query on a collection that does not exist.
type fallbackShard struct {
	shard catalog.ShardID
	host  string
}

func explainFind(c *call.Call, level verbosity) (bson.D, error) {
	q, err := call.WithoutLock(c, func(context.Context) (call.Query, error) { return call.FindQuery(c) })
	if err != nil {
		return nil, err
	}
	if call.IsView(c, q.NS) {
		return explainOnView(c, q, level, pipelineOf(q, c.Args.Object("filter")))
	}
	return explainQuery(c, q, level, func(_ context.Context, parts []reads.ShardQuery, h fallbackShard) (bson.D, error) {
		e := explanation{ns: q.NS, query: q, parts: shardPlans(h, q, parts, planStages)}
		e.mergeStage = mergeStage(len(e.parts), !q.Sort.IsEmpty())
		reply := e.reply(c.Cluster, level)
		if !isExpress(e.parts[0].stage) { // express plans have no plan cache key and no shape statistics
			reply = append(reply, shapeHash(c))
		}
		return append(reply, explainTail(c)...), nil
	})
}

func explainCount(c *call.Call, level verbosity) (bson.D, error) {
	q, err := call.WithoutLock(c, func(context.Context) (call.Query, error) { return c.ReadQuery("query") })
	if err != nil {
		return nil, err
	}
	if call.IsView(c, q.NS) {
		return explainOnView(c, q, level, countPipeline(q, c.Args.Object("query")))
	}
	q.CountOnly = true
	return explainQuery(c, q, level, func(_ context.Context, parts []reads.ShardQuery, h fallbackShard) (bson.D, error) {
		plans := shardPlans(h, q, parts, func(p reads.ShardQuery, shape store.ResultShape) (*store.Stage, store.Totals) {
			return countStages(q, p, shape)
		})
		e := explanation{ns: q.NS, query: q, parts: plans, mergeStage: mergeStage(len(plans), false)}
		return append(e.reply(c.Cluster, level), explainTail(c)...), nil
	})
}

// isExpress reports whether a stage is an express plan, which reads a document by its _id.
func isExpress(s *store.Stage) bool { return s.Name == "EXPRESS_IXSCAN" }

// countStages returns the plan of a count. Without a query the shard's counter gives the result. A query
// with one index interval reads no documents.
func countStages(q call.Query, p reads.ShardQuery, shape store.ResultShape) (*store.Stage, store.Totals) {
	n := p.RunStats.Returned
	count := &store.Stage{Name: "COUNT", Works: n + 1, Counters: bson.D{{Key: "nCounted", Value: document.SmallestInt(n)},
		{Key: "nSkipped", Value: document.SmallestInt(min(q.Skip, n))}}}
	if document.IsEmpty(q.Filter.ParsedQuery()) && q.Hint.IsZero() {
		count.Name = "RECORD_STORE_FAST_COUNT"
		return count, store.Totals{}
	}
	if shape.ShardKey == nil {
		if scan, ok := p.Read.Plan.CountScan(p.RunStats); ok {
			return count.AddInput(scan), store.Totals{Keys: p.RunStats.Keys}
		}
	}
	shape.IsCount, shape.Skip, shape.Limit, shape.Projection = true, 0, 0, nil
	stage, totals := p.Read.Plan.Stages(shape, p.RunStats)
	return count.AddInput(stage), totals
}

func explainDistinct(c *call.Call, level verbosity) (bson.D, error) {
	q, key, err := reads.DistinctQuery(c)
	if err != nil {
		return nil, err
	}
	if call.IsView(c, q.NS) {
		return explainOnView(c, q, level, distinctPipeline(q, c.Args.Object("query"), key))
	}
	return explainQuery(c, q, level, func(ctx context.Context, parts []reads.ShardQuery, h fallbackShard) (bson.D, error) {
		plans := shardPlans(h, q, parts, func(p reads.ShardQuery, shape store.ResultShape) (*store.Stage, store.Totals) {
			return distinctStages(ctx, key, p, shape)
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e := explanation{ns: q.NS, query: q, parts: plans, mergeStage: mergeStage(len(plans), false)}
		return append(append(e.reply(c.Cluster, level), shapeHash(c)), explainTail(c)...), nil
	})
}

// distinctStages returns the plan of a distinct. If an index begins with the field, the plan reads only
// index keys and does not filter orphans.
func distinctStages(
	ctx context.Context,
	key string,
	p reads.ShardQuery,
	shape store.ResultShape,
) (*store.Stage, store.Totals) {
	values, err := store.Distinct(ctx, key, slices.Values(p.Docs))
	if err != nil {
		values = nil // the command itself fails in this case
	}
	n := int64(len(values))
	if s, ok := p.Read.Plan.DistinctScan(key, n); ok {
		return s, store.Totals{Keys: n}
	}
	return planStages(p, shape)
}
