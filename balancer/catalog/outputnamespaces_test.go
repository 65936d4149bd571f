package catalog_test

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

func TestOutputNamespaces(t *testing.T) {
	for text, want := range map[string][]string{
		`{}`:            nil,
		`{"find": "c"}`: nil,
		`{"aggregate": "c", "pipeline": [{"$match": {"$out": "x"}}, {"$out": "x"}]}`:                      {"app.x"},
		`{"aggregate": "c", "pipeline": [{"$out": {"db": "other", "coll": "x"}}]}`:                        {"other.x"},
		`{"aggregate": "c", "pipeline": [{"$merge": "x"}]}`:                                               {"app.x"},
		`{"aggregate": "c", "pipeline": [{"$merge": {"into": "x", "on": "_id"}}]}`:                        {"app.x"},
		`{"aggregate": "c", "pipeline": [{"$merge": {"into": {"db": "other", "coll": "x"}}}]}`:            {"other.x"},
		`{"aggregate": "c", "pipeline": 5}`:                                                               nil,
		`{"mapReduce": "c", "out": "x"}`:                                                                  {"app.x"},
		`{"mapreduce": "c", "out": {"reduce": "x", "db": "other"}}`:                                       {"other.x"},
		`{"mapReduce": "c", "out": {"inline": 1}}`:                                                        nil,
		`{"bulkWrite": 1, "ops": [], "nsInfo": [{"ns": "a.b"}, {"ns": 1}, 5, {"ns": "config.settings"}]}`: {"a.b", "config.settings"},
	} {
		var command bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(text), false, &command); err != nil {
			t.Fatal(err)
		}
		if got := catalog.OutputNamespaces("app", command); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
