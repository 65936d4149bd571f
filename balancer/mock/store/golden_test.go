package store

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// raw reads extended JSON, as the recordings are written.
func raw(t testing.TB, text string) bson.Raw {
	t.Helper()
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// matchDocuments are the documents of the recorded match steps, _id by place.
var matchDocuments = []string{
	`"v": 1`, `"v": 2.5`, `"v": {"$numberLong": "3"}`, `"v": "a"`, `"v": "b"`, `"v": null`, ``,
	`"v": [1, 2]`, `"v": []`, `"v": [[1, 2]]`, `"v": {"x": 1}`, `"v": {"x": 1, "y": 2}`, `"v": {"y": 2, "x": 1}`,
	`"v": [{"x": 1}, {"x": 5}]`, `"v": true`, `"v": false`, `"v": {"$date": "2026-01-01T00:00:00Z"}`,
	`"v": {"$oid": "507f1f77bcf86cd799439011"}`, `"v": {"$numberDouble": "NaN"}`,
	`"v": {"$regularExpression": {"pattern": "a", "options": ""}}`, `"v": {"$minKey": 1}`, `"v": {"$maxKey": 1}`,
	`"v": {"$numberDecimal": "2.5"}`, `"v": "abc"`, `"v": ["abc", 7]`,
}

func matchCollection(t testing.TB) *Collection {
	c := New()
	for i, d := range matchDocuments {
		if d != "" {
			d = ", " + d
		}
		if _, err := c.Insert(raw(t, fmt.Sprintf(`{"_id": %d%s}`, i, d))); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Every document but these.
func except(out ...int) []int {
	var all []int
	for i := range matchDocuments {
		if !slices.Contains(out, i) {
			all = append(all, i)
		}
	}
	return all
}

// The replies of a real server (recording 11-queries, match 0 to 64).
func TestMatchAsRecorded(t *testing.T) {
	c := matchCollection(t)
	for _, tc := range []struct {
		query string
		want  []int
		code  int32
	}{
		{query: `{"v": 1}`, want: []int{0, 7}},
		{query: `{"v": 2.5}`, want: []int{1, 22}},
		{query: `{"v": null}`, want: []int{5, 6}},
		{query: `{"v": {"$eq": null}}`, want: []int{5, 6}},
		{query: `{"v": {"$ne": null}}`, want: except(5, 6)},
		{query: `{"v": {"$ne": 1}}`, want: except(0, 7)},
		{query: `{"v": {"$gt": 1}}`, want: []int{1, 2, 7, 22, 24}},
		{query: `{"v": {"$gte": 2.5}}`, want: []int{1, 2, 22, 24}},
		{query: `{"v": {"$lt": "b"}}`, want: []int{3, 23, 24}},
		{query: `{"v": {"$lte": null}}`, want: []int{5, 6}},
		{query: `{"v": {"$gt": {"$minKey": 1}}}`, want: except(20)},
		{query: `{"v": {"$in": [1, "a", null]}}`, want: []int{0, 3, 5, 6, 7}},
		{query: `{"v": {"$nin": [1, "a", null]}}`, want: except(0, 3, 5, 6, 7)},
		{query: `{"v": {"$in": [{"$regularExpression": {"pattern": "^a", "options": ""}}]}}`, want: []int{3, 23, 24}},
		{query: `{"v": {"$exists": true}}`, want: except(6)},
		{query: `{"v": {"$exists": false}}`, want: []int{6}},
		{query: `{"v": {"$type": "string"}}`, want: []int{3, 4, 23, 24}},
		{query: `{"v": {"$type": "number"}}`, want: []int{0, 1, 2, 7, 18, 22, 24}},
		{query: `{"v": {"$type": ["array", "bool"]}}`, want: []int{7, 8, 9, 13, 14, 15, 24}},
		{query: `{"v": {"$type": 10}}`, want: []int{5}},
		{query: `{"v": [1, 2]}`, want: []int{7, 9}},
		{query: `{"v": []}`, want: []int{8}},
		{query: `{"v": {"x": 1}}`, want: []int{10, 13}},
		{query: `{"v": {"x": 1, "y": 2}}`, want: []int{11}},
		{query: `{"v.x": 1}`, want: []int{10, 11, 12, 13}},
		{query: `{"v.x": {"$gt": 2}}`, want: []int{13}},
		{query: `{"v.0": 1}`, want: []int{7}},
		{query: `{"v.0.x": 1}`, want: []int{13}},
		{query: `{"v": {"$size": 2}}`, want: []int{7, 13, 24}},
		{query: `{"v": {"$size": 0}}`, want: []int{8}},
		{query: `{"v": {"$all": [1, 2]}}`, want: []int{7}},
		{query: `{"v": {"$all": [[1, 2]]}}`, want: []int{7, 9}},
		{query: `{"v": {"$elemMatch": {"$gt": 1, "$lt": 3}}}`, want: []int{7}},
		{query: `{"v": {"$elemMatch": {"x": {"$gte": 5}}}}`, want: []int{13}},
		{query: `{"v": {"$regularExpression": {"pattern": "b", "options": ""}}}`, want: []int{4, 23, 24}},
		{query: `{"v": {"$regex": "^A", "$options": "i"}}`, want: []int{3, 23, 24}},
		{query: `{"v": {"$not": {"$gt": 1}}}`, want: except(1, 2, 7, 22, 24)},
		{query: `{"v": {"$not": {"$regularExpression": {"pattern": "a", "options": ""}}}}`, want: except(3, 19, 23, 24)},
		{query: `{"v": {"$mod": [2, 1]}}`, want: []int{0, 2, 7, 24}},
		{query: `{"v": {"$mod": [2]}}`, code: 2},
		{query: `{"v": {"$numberDouble": "NaN"}}`, want: []int{18}},
		{query: `{"v": {"$gte": {"$numberDouble": "NaN"}}}`, want: []int{18}},
		{query: `{"v": true}`, want: []int{14}},
		{query: `{"v": {"$bitsAllSet": 1}}`, want: []int{0, 2, 7, 24}},
		{query: `{"v": {"$bitsAnySet": [0, 1]}}`, want: []int{0, 2, 7, 24}},
		{query: `{"$or": [{"v": 1}, {"v": "a"}]}`, want: []int{0, 3, 7}},
		{query: `{"$nor": [{"v": {"$exists": true}}]}`, want: []int{6}},
		{query: `{"$and": [{"v": {"$gt": 0}}, {"v": {"$lt": 3}}]}`, want: []int{0, 1, 7, 22}},
		{query: `{"$expr": {"$eq": ["$v", "$missing"]}}`, want: []int{6}},
		{query: `{"$expr": {"$gt": ["$v", 1]}}`, want: except(0, 5, 6, 18, 20)},
		{query: `{"$jsonSchema": {"required": ["v"], "properties": {"v": {"bsonType": "string", "minLength": 2}}}}`, want: []int{23}},
		{query: `{"$jsonSchema": {"properties": {"v": {"type": "number", "maximum": 2}}}}`, want: []int{0, 6}},
		{query: `{"v": {"$in": 5}}`, code: 2},
		{query: `{"v": {"$size": -1}}`, code: 2},
		{query: `{"v": {"$type": "nope"}}`, code: 2},
		{query: `{"$nope": 1}`, code: 2},
		{query: `{"v": {"$regex": "("}}`, code: 51091},
		{query: `{"v": {"$elemMatch": 5}}`, code: 2},
		{query: `{"$or": []}`, code: 2},
		{query: `{"$comment": "x", "v": 1}`, want: []int{0, 7}},
		{query: `{"v": {"$eq": {"x": 1}}}`, want: []int{10, 13}},
		{query: `{"$alwaysTrue": 1}`, want: except()},
		{query: `{"v": {"$gt": {"$date": "2020-01-01T00:00:00Z"}}}`, want: []int{16}},
		{query: `{"v": {"$gt": {"x": 1}}}`, want: []int{11, 12, 13}},
		{query: `{"v": {"$lt": [1, 3]}}`, want: []int{7, 8, 9}},
	} {
		t.Run(tc.query, func(t *testing.T) {
			f, err := CompileFilter(raw(t, tc.query))
			if got := codeOf(err); got != tc.code {
				t.Fatalf("code %d (%v), want %d", got, err, tc.code)
			}
			if err != nil {
				return
			}
			var got []int
			for _, doc := range c.Find(f) {
				got = append(got, int(doc.Lookup("_id").Int32()))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("found %v, want %v", got, tc.want)
			}
		})
	}
}
