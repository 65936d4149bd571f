package store

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/storetest"
)

// Of plans that look at as many keys the one wins that needs no documents; for a count any that the
// ends of one stretch answer, whatever the others look at (plan_ranker and turnIxscanIntoCount of servers).
func TestPlansThatNeedNoDocuments(t *testing.T) {
	c := New()
	for _, key := range []string{`{"a": 1}`, `{"a": 1, "b": 1}`, `{"b": 1, "a": 1}`} {
		if err := c.CreateIndex(IndexSpec{Name: key, Key: storetest.Raw(t, key)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int32(40) {
		doc, err := bson.Marshal(bson.D{{Key: "_id", Value: i}, {Key: "a", Value: i % 4}, {Key: "b", Value: i}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Insert(doc); err != nil {
			t.Fatal(err)
		}
	}
	both := storetest.Raw(t, `{"a": 1, "b": 1, "_id": 0}`)
	for _, tt := range []struct {
		query string
		shape ResultShape
		index string
	}{
		{`{"a": 1}`, ResultShape{}, `{"a": 1}`},
		{`{"a": 1}`, ResultShape{Projection: both}, `{"a": 1, "b": 1}`},
		{`{"a": {"$in": [1, 2]}}`, ResultShape{Projection: both}, `{"a": 1, "b": 1}`},
		{`{"a": {"$gte": 2}}`, ResultShape{Projection: both}, `{"a": 1, "b": 1}`},
		{`{"a": 1}`, ResultShape{Projection: both, ShardKey: []string{"x"}}, `{"a": 1}`},
		{`{"a": 1}`, ResultShape{Projection: storetest.Raw(t, `{"b": 1}`)}, `{"a": 1}`}, // and the _id
		{`{"a": {"$gte": 0}, "b": 39}`, ResultShape{Projection: both}, `{"b": 1, "a": 1}`},
		{`{"a": 1, "b": {"$gt": 30}}`, ResultShape{IsCount: true}, `{"a": 1, "b": 1}`},
		{`{"a": {"$gte": 3}}`, ResultShape{IsCount: true}, `{"a": 1}`},
	} {
		f, err := filter.Compile(storetest.Raw(t, tt.query))
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Plan(Query{Filter: f, Shape: tt.shape})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.index.spec.Name; got != tt.index {
			t.Errorf("%s, %+v goes by %s, want %s", tt.query, tt.shape, got, tt.index)
		}
		if tt.shape.IsCount != (p.rejected == nil) {
			t.Errorf("%s, %+v rejects %d plans", tt.query, tt.shape, len(p.rejected))
		}
	}
}
