package live_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mongoerr"
)

// Errors as the driver makes them of a server's replies.
func TestServerErrorOfReplies(t *testing.T) {
	cluster, err := mock.New(mock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client := mocktest.Connect(t, router.New(cluster, nil))
	docs := client.Database("db").Collection("c")
	if _, err := docs.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	command := func(db string, d bson.D) error { return client.Database(db).RunCommand(t.Context(), d).Err() }
	_, duplicate := docs.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}})
	_, bulk := docs.InsertMany(t.Context(), []bson.D{{{Key: "_id", Value: 2}}, {{Key: "_id", Value: 1}}})
	for _, tt := range []struct {
		name  string
		err   error
		code  mongoerr.Code
		extra string
		is    func(error) bool
	}{
		{"a command", command("admin", bson.D{{Key: "moveChunk", Value: "db.none"}, {Key: "to", Value: "shard0"},
			{Key: "find", Value: bson.D{}}}),
			mongoerr.NamespaceNotSharded, "", as[mongo.CommandError]},
		{"an insert", duplicate, mongoerr.DuplicateKey, "keyPattern", as[mongo.WriteException]},
		{"many inserts", bulk, mongoerr.DuplicateKey, "keyPattern", as[mongo.BulkWriteException]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.err == nil {
				t.Fatal("no error")
			}
			got := live.ServerError(tt.err)
			var e *mongoerr.ServerError
			if !mongoerr.Is(got, tt.code) || !errors.As(got, &e) || e.Message == "" {
				t.Fatalf("%#v, want code %d", got, tt.code)
			}
			if !tt.is(got) || !errors.Is(got, e) {
				t.Errorf("the driver's error is not in the chain of %v", got)
			}
			if tt.extra != "" && !mongoerr.HasExtra(got, tt.extra) {
				t.Errorf("no field %s in %v", tt.extra, e.Extra)
			}
			if again := live.ServerError(got); again != got { //nolint:errorlint // the very same
				t.Error("an error that is one already was changed")
			}
			if wrapped := mongoerr.Wrap(got, "context"); !mongoerr.Is(wrapped, tt.code) || !tt.is(wrapped) {
				t.Errorf("wrapping loses the code or the driver's error: %v", wrapped)
			}
		})
	}
}

func as[E error](err error) bool { return errors.As(err, new(E)) }

// What no server sent stays what it is.
func TestServerErrorOfOthers(t *testing.T) {
	broken := mongo.CommandError{Labels: []string{"NetworkError"}, Wrapped: errors.New("reset")}
	for _, err := range []error{nil, context.Canceled, errors.New("x"), broken, mongo.WriteException{}} {
		if got := live.ServerError(err); errors.As(got, new(*mongoerr.ServerError)) || got == nil != (err == nil) {
			t.Errorf("%v became %v", err, got)
		}
	}
	concern := mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64, Message: "waiting"}}
	if got := live.ServerError(concern); !mongoerr.Is(got, mongoerr.WriteConcernFailed) || got.Error() != "waiting" {
		t.Errorf("a write concern's error became %v", got)
	}
	old := mongo.CommandError{Message: "no code",
		Raw: must(t, bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "no code"}})}
	var e *mongoerr.ServerError
	if got := live.ServerError(old); !errors.As(got, &e) || !e.NoCode || e.Extra != nil {
		t.Errorf("a failure without a code became %#v", got)
	}
}

func must(t *testing.T, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
