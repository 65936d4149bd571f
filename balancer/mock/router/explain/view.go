package explain

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
)

// A mongos converts queries on a view to aggregations and explains those.

func explainOnView(c *call.Call, q call.Query, level verbosity, pipeline bson.A) (bson.D, error) {
	_, name, _ := strings.Cut(q.NS, ".")
	body := bson.D{{Key: "aggregate", Value: name}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: bson.D{}}}
	for _, option := range []string{"hint", "let", "collation"} {
		if v := c.Body.Lookup(option); !v.IsZero() {
			body = append(body, bson.E{Key: option, Value: v})
		}
	}
	raw, err := bson.Marshal(body)
	if err != nil {
		return nil, err
	}
	aggregateCall := *c
	aggregateCall.Body, aggregateCall.InvokedAs, aggregateCall.LetVariables = call.NewBody(raw, nil), "aggregate", nil
	if aggregateCall.Args, err = c.Node.Table()["aggregate"].Parse(raw); err != nil {
		return nil, err
	}
	return explainAggregate(&aggregateCall, level)
}

// pipelineOf returns the pipeline of the aggregation that is equivalent to a find.
func pipelineOf(q call.Query, filter bson.Raw) bson.A {
	stages := bson.A{}
	add := func(name string, spec any) { stages = append(stages, bson.D{{Key: name, Value: spec}}) }
	if !document.IsEmpty(filter) {
		add("$match", filter)
	}
	if !document.IsEmpty(q.SortPattern) && q.SortPattern.Lookup("$natural").IsZero() {
		add("$sort", q.SortPattern)
	}
	if q.Skip > 0 {
		add("$skip", q.Skip)
	}
	if q.Limit > 0 {
		add("$limit", q.Limit)
	}
	if !document.IsEmpty(q.ProjectionSpec) {
		add("$project", q.ProjectionSpec)
	}
	return stages
}

func countPipeline(q call.Query, filter bson.Raw) bson.A {
	return append(pipelineOf(q, filter), bson.D{{Key: "$count", Value: "count"}})
}

// distinctPipeline returns the pipeline that is equivalent to a distinct. It unwinds every array on the
// path of the key.
func distinctPipeline(q call.Query, filter bson.Raw, key string) bson.A {
	stages := pipelineOf(q, filter)
	path := ""
	for part := range strings.SplitSeq(key, ".") {
		path = strings.TrimPrefix(path+"."+part, ".")
		stages = append(stages,
			bson.D{{Key: "$unwind", Value: bson.D{{Key: "path", Value: "$" + path},
				{Key: "preserveNullAndEmptyArrays", Value: true}}}})
	}
	return append(stages,
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil},
			{Key: "distinct", Value: bson.D{{Key: "$addToSet", Value: "$" + key}}}}}})
}
