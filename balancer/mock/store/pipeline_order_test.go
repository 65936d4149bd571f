package store

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/storetest"
)

// The moves of the manual's page "Aggregation Pipeline Optimization", its examples
// among them, and what must not move.
func TestOrdered(t *testing.T) {
	for _, tt := range []struct{ name, stages, want string }{
		{"projection and filter", `[{"$addFields": {"max": {"$max": "$t"}, "min": {"$min": "$t"}}}, {"$match": {"name": "Joe", "max": {"$lt": 20}}}]`,
			`[{"$match": {"name": "Joe"}}, {"$addFields": {"max": {"$max": "$t"}, "min": {"$min": "$t"}}}, {"$match": {"max": {"$lt": 20}}}]`},
		{"sort", `[{"$sort": {"age": -1}}, {"$match": {"status": "A"}}]`,
			`[{"$match": {"status": "A"}}, {"$sort": {"age": -1}}]`},
		{"skip", `[{"$sort": {"age": -1}}, {"$project": {"name": 1}}, {"$skip": 5}]`,
			`[{"$sort": {"age": -1}}, {"$skip": 5}, {"$project": {"name": 1}}]`},
		{"filters", `[{"$match": {"year": 2014}}, {"$match": {"status": "A"}}]`,
			`[{"$match": {"$and": [{"year": 2014}, {"status": "A"}]}}]`},
		{"redact", `[{"$redact": "$$PRUNE"}, {"$match": {"year": 2014, "category": {"$ne": "Z"}}}]`,
			`[{"$match": {"year": 2014}}, {"$redact": "$$PRUNE"}, {"$match": {"year": 2014, "category": {"$ne": "Z"}}}]`},
		{"what a field was", `[{"$set": {"x": "$a"}}, {"$match": {"x.y": 1}}]`,
			`[{"$match": {"a.y": 1}}, {"$set": {"x": "$a"}}]`},
		{"fields that are kept", `[{"$project": {"a": 1}}, {"$match": {"a.b": 1, "_id": 2, "c": null}}]`,
			`[{"$match": {"$and": [{"a.b": 1}, {"_id": 2}]}}, {"$project": {"a": 1}}, {"$match": {"c": null}}]`},
		{"fields that go", `[{"$unset": "a"}, {"$match": {"a": null}}]`, ""},
		{"part of a field", `[{"$set": {"a.b": 1}}, {"$match": {"a": {"$gt": 1}}}]`, ""},
		{"expressions", `[{"$set": {"a": 1}}, {"$match": {"$expr": {"$gt": ["$b", {"$literal": "$a"}]}}}]`,
			`[{"$match": {"$expr": {"$gt": ["$b", {"$literal": "$a"}]}}}, {"$set": {"a": 1}}]`},
		{"whole documents", `[{"$set": {"a": 1}}, {"$match": {"$expr": {"$eq": ["$$ROOT", {}]}}}]`, ""},
		{"unwind", `[{"$unwind": "$a"}, {"$match": {"$or": [{"a": 1}, {"b": 1}], "$nor": [{"c": 1}]}}]`,
			`[{"$match": {"$nor": [{"c": 1}]}}, {"$unwind": "$a"}, {"$match": {"$or": [{"a": 1}, {"b": 1}]}}]`},
		{"limits", `[{"$limit": 5}, {"$match": {"a": 1}}]`, ""},
		{"no field at all", `[{"$limit": 5}, {"$match": {"$expr": true}}]`, ""},
		{"a union", `[{"$set": {"a": 1}}, {"$unionWith": "c"}, {"$match": {"b": 1}}]`,
			`[{"$match": {"b": 1}}, {"$set": {"a": 1}}, {"$unionWith": {"coll": "c", "pipeline": [{"$match": {"b": 1}}]}}]`},
		{"inside", `[{"$facet": {"f": [{"$set": {"a": 1}}, {"$match": {"b": 1}}]}}]`,
			`[{"$facet": {"f": [{"$match": {"b": 1}}, {"$set": {"a": 1}}]}}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.stages
			}
			got, want := asArray(t, pipeline.Reorder(storetest.List(t, tt.stages))), asArray(t, storetest.List(t, tt.want))
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func asArray(t *testing.T, stages []bson.Raw) string {
	t.Helper()
	text, err := bson.MarshalExtJSON(bson.D{{Key: "p", Value: stages}}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Where nothing fails, the order makes no difference.
func TestOrderedGivesTheSame(t *testing.T) {
	docs := storetest.List(t, `[{"_id": 1, "a": 1, "b": {"c": 2}, "l": [1, 2]}, {"_id": 2, "a": [1, {"c": 1}], "b": null}, {"_id": 3, "l": []},
		{"_id": 4, "a": null, "b": [{"c": 2}, {"c": 3}], "l": 5}, {"_id": 5, "a": {"c": 2}, "b": 1, "l": [[1], {"c": 2}]}]`)
	stages := storetest.List(t, `[{"$match": {"a": 1}}, {"$match": {"b.c": {"$gt": 1}}}, {"$match": {"l": {"$ne": 2}, "x": null}},
		{"$match": {"$or": [{"a": null}, {"b": 1}]}}, {"$match": {"$nor": [{"a.c": 2}, {"x": 1}]}},
			{"$match": {"x": {"$exists": true}}},
		{"$match": {"$expr": {"$gte": ["$b", "$x"]}}}, {"$match": {"_id": {"$gt": 2}}}, {"$match": {"x.c": 2}},
		{"$project": {"a": 1, "x": "$b"}}, {"$project": {"a": 0, "b.c": 0}}, {"$project": {"_id": 0, "l": 1, "b": {"c": 1}}},
		{"$addFields": {"x": "$a"}}, {"$set": {"b.c": 2, "a": "$l"}}, {"$set": {"x": {"c": "$a"}}}, {"$unset": ["a", "b.c"]},
		{"$unwind": "$l"}, {"$unwind": {"path": "$b", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "x"}},
		{"$sort": {"_id": -1}}, {"$skip": 1}, {"$limit": 3}, {"$replaceWith": {"a": "$b", "x": "$a"}},
		{"$redact": {"$cond": [{"$eq": ["$c", 2]}, "$$PRUNE", "$$DESCEND"]}}, {"$unionWith": "c"}]`)
	env := pipeline.Env{Collection: func(string) (iter.Seq[bson.Raw], error) { return slices.Values(docs[:2]), nil }}
	results := func(t *rapid.T, stages []bson.Raw) (out []bson.Raw) {
		p, err := pipeline.Compile(stages, env)
		if err != nil {
			t.Fatal(err)
		}
		for doc, err := range p.Run(context.Background(), slices.Values(docs)) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, doc)
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		stages := rapid.SliceOfN(rapid.SampledFrom(stages), 2, 6).Draw(t, "pipeline")
		want, got := results(t, stages), results(t, pipeline.Reorder(stages))
		if !slices.EqualFunc(want, got, func(a, b bson.Raw) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%v\nas given   %v\nas ordered %v", stages, want, got)
		}
	})
}
