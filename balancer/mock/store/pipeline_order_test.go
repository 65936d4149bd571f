package store

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The moves of the manual's page "Aggregation Pipeline Optimization", its examples
// among them, and what must not move.
func TestOrdered(t *testing.T) {
	for _, tt := range []struct{ name, stages, want string }{
		{"projection and filter", `[{"$addFields": {"max": {"$max": "$t"}, "min": {"$min": "$t"}}}, {"$match": {"name": "Joe", "max": {"$lt": 20}}}]`,
			`[{"$match": {"name": "Joe"}}, {"$addFields": {"max": {"$max": "$t"}, "min": {"$min": "$t"}}}, {"$match": {"max": {"$lt": 20}}}]`},
		{"sort", `[{"$sort": {"age": -1}}, {"$match": {"status": "A"}}]`, `[{"$match": {"status": "A"}}, {"$sort": {"age": -1}}]`},
		{"skip", `[{"$sort": {"age": -1}}, {"$project": {"name": 1}}, {"$skip": 5}]`,
			`[{"$sort": {"age": -1}}, {"$skip": 5}, {"$project": {"name": 1}}]`},
		{"filters", `[{"$match": {"year": 2014}}, {"$match": {"status": "A"}}]`, `[{"$match": {"$and": [{"year": 2014}, {"status": "A"}]}}]`},
		{"redact", `[{"$redact": "$$PRUNE"}, {"$match": {"year": 2014, "category": {"$ne": "Z"}}}]`,
			`[{"$match": {"year": 2014}}, {"$redact": "$$PRUNE"}, {"$match": {"year": 2014, "category": {"$ne": "Z"}}}]`},
		{"what a field was", `[{"$set": {"x": "$a"}}, {"$match": {"x.y": 1}}]`, `[{"$match": {"a.y": 1}}, {"$set": {"x": "$a"}}]`},
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
			got, want := asArray(t, Ordered(list(t, tt.stages))), asArray(t, list(t, tt.want))
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
