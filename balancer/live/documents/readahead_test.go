package documents

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
)

// filled returns a client of a cluster with n documents, whose _ids are 0, 1, 2 and so on.
func filled(t *testing.T, n int) *mongo.Client {
	_, client := mocktest.New(t, `{"shards": [{"id": "a"}, {"id": "b"}]}`, mock.Config{})
	var docs []any
	for i := range n {
		docs = append(docs, bson.D{{Key: "_id", Value: int32(i)}, {Key: "x", Value: "y"}})
	}
	if _, err := client.Database("db").Collection("c").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return client
}

// Every document comes once, in order, however many batches there are.
func TestEach(t *testing.T) {
	for _, n := range []int{1, batchSize, 2 * batchSize, 2*batchSize + 17} {
		client, next := filled(t, n), int32(0)
		err := Range{Namespace: "db.c"}.Each(t.Context(), client, func(doc bson.Raw) error {
			if id := doc.Lookup("_id").Int32(); id != next || doc.Lookup("x").StringValue() != "y" {
				t.Fatalf("%s comes when %d is due", doc, next)
			}
			next++
			return nil
		})
		if err != nil || int(next) != n {
			t.Errorf("%d of %d documents, %v", next, n, err)
		}
	}
}

// An error of put, in any batch, ends the read and is returned as it is; so does the end of the context.
func TestEachEnds(t *testing.T) {
	client := filled(t, 3*batchSize)
	mine := errors.New("mine")
	for _, at := range []int{1, batchSize, batchSize + 1, 3 * batchSize} {
		n := 0
		err := Range{Namespace: "db.c"}.Each(t.Context(), client, func(bson.Raw) error {
			if n++; n == at {
				return mine
			}
			return nil
		})
		if err != mine || n != at { //nolint:errorlint // as it is
			t.Errorf("ended at %d, not %d: %v", n, at, err)
		}
	}
	for _, at := range []int{1, batchSize, batchSize + 1} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := Range{Namespace: "db.c"}.Each(ctx, client, func(bson.Raw) error {
			if n++; n == at {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || n == 3*batchSize {
			t.Errorf("cancelled at %d, ended at %d: %v", at, n, err)
		}
	}
}
