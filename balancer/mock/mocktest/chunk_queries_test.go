package mocktest_test

import (
	"bytes"
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"pgregory.net/rapid"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
)

// Queries of config.chunks go by its routing tables: they find what the same query finds
// in a collection with the same documents.
func TestChunksAreFoundAsDocuments(t *testing.T) {
	_, client := mocktest.New(t, `{
		"shards": [{"id": "s0"}, {"id": "s1"}],
		"collections": [
			{"ns": "app.a", "key": {"x": 1, "y": 1}, "chunks": [
				{"shard": "s0", "max": {"x": 1, "y": 5}}, {"shard": "s1", "max": {"x": 3, "y": {"$minKey": 1}}},
				{"shard": "s0", "max": {"x": 3, "y": 4}}, {"shard": "s1", "max": {"x": 7.5, "y": "b"}, "jumbo": true},
				{"shard": "s1"}]},
			{"ns": "app.b", "key": {"x": 1}, "chunks": [{"shard": "s1", "max": {"x": 3}}, {"shard": "s0"}]}]
	}`, mock.Config{})
	ctx := t.Context()
	chunks := client.Database("config").Collection("chunks")
	copied := client.Database("test").Collection("chunks")
	all := found(ctx, t, chunks, bson.D{}, bson.D{}, 0)
	for _, doc := range all {
		if _, err := copied.InsertOne(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		filter := bson.D{{Key: "uuid", Value: rapid.SampledFrom(all).Draw(t, "of").Lookup("uuid")}}
		for range rapid.IntRange(0, 2).Draw(t, "clauses") {
			op := rapid.SampledFrom([]string{"$eq", "$lt", "$lte", "$gt", "$gte"}).Draw(t, "op")
			field := rapid.SampledFrom([]string{"min", "min", "max"}).Draw(t, "field")
			filter = append(filter, bson.E{Key: "$and", Value: bson.A{bson.D{{Key: field, Value: bson.D{{Key: op, Value: bound(t, all)}}}}}})
		}
		sort := rapid.SampledFrom([]bson.D{{{Key: "min", Value: 1}}, {{Key: "min", Value: -1}}, {{Key: "lastmod", Value: -1}}}).Draw(t, "sort")
		limit := rapid.Int64Range(0, 3).Draw(t, "limit")
		got, want := found(ctx, t, chunks, filter, sort, limit), found(ctx, t, copied, filter, sort, limit)
		if len(got) != len(want) {
			t.Fatalf("%v by %v: %v, want %v", filter, sort, got, want)
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%v by %v: %v, want %v", filter, sort, got, want)
			}
		}
	})
}

// bound draws a bound of a chunk, or something that is like one.
func bound(t *rapid.T, of []bson.Raw) any {
	if rapid.Bool().Draw(t, "true bound") {
		return rapid.SampledFrom(of).Draw(t, "bound").Lookup("min")
	}
	value := rapid.SampledFrom([]any{1, 2, 3.0, int64(7), "b", bson.MinKey{}, bson.MaxKey{}, nil})
	return rapid.SampledFrom([]any{
		bson.D{{Key: "x", Value: value.Draw(t, "x")}, {Key: "y", Value: value.Draw(t, "y")}},
		bson.D{{Key: "y", Value: value.Draw(t, "y")}, {Key: "x", Value: value.Draw(t, "x")}},
		bson.D{{Key: "x", Value: value.Draw(t, "x")}},
		value.Draw(t, "value"),
	}).Draw(t, "like a bound")
}

func found(ctx context.Context, t rapid.TB, c *mongo.Collection, filter, sort bson.D, limit int64) []bson.Raw {
	t.Helper()
	cursor, err := c.Find(ctx, filter, options.Find().SetSort(sort).SetLimit(limit))
	var docs []bson.Raw
	if err == nil {
		err = cursor.All(ctx, &docs)
	}
	if err != nil {
		t.Fatalf("%v: %v", filter, err)
	}
	return docs
}
