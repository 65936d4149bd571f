package router

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A mongos makes aggregations of the queries on a view, and explains these.

func explainOnView(c *call, q query, level verbosity, pipeline bson.A) (bson.D, error) {
	_, name, _ := strings.Cut(q.ns, ".")
	body := bson.D{{Key: "aggregate", Value: name}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: bson.D{}}}
	for _, option := range []string{"hint", "let", "collation"} {
		if v := c.body.Lookup(option); !v.IsZero() {
			body = append(body, bson.E{Key: option, Value: v})
		}
	}
	raw, err := bson.Marshal(body)
	if err != nil {
		return nil, err
	}
	of := *c
	of.body, of.invoked, of.settled = bodyOf(raw, nil), "aggregate", nil
	if of.args, err = c.node.commands["aggregate"].Parse(raw); err != nil {
		return nil, err
	}
	return explainAggregate(&of, level)
}

// pipeline returns a find as an aggregation.
func (q query) pipeline(filter bson.Raw) bson.A {
	stages := bson.A{}
	add := func(name string, spec any) { stages = append(stages, bson.D{{Key: name, Value: spec}}) }
	if len(filter) > 5 {
		add("$match", filter)
	}
	if len(q.order) > 5 && q.order.Lookup("$natural").IsZero() {
		add("$sort", q.order)
	}
	if q.skip > 0 {
		add("$skip", q.skip)
	}
	if q.limit > 0 {
		add("$limit", q.limit)
	}
	if len(q.projected) > 5 {
		add("$project", q.projected)
	}
	return stages
}

func (q query) countPipeline(filter bson.Raw) bson.A {
	return append(q.pipeline(filter), bson.D{{Key: "$count", Value: "count"}})
}

// distinctPipeline takes every array on the way to the key apart.
func (q query) distinctPipeline(filter bson.Raw, key string) bson.A {
	stages := q.pipeline(filter)
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
