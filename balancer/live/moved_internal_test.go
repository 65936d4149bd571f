package live

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// configDocs answers finds in the config database.
type configDocs struct {
	CommandRunner
	docs map[string][]bson.D
}

func (c configDocs) RunCursorCommand(_ context.Context, _ string, command bson.D) (list []bson.Raw, err error) {
	name, _ := command[0].Value.(string)
	for _, doc := range c.docs[name] {
		raw, err := bson.Marshal(doc)
		if err != nil {
			return nil, err
		}
		list = append(list, raw)
	}
	return list, nil
}

// An entry of the change log that is older than the chunk's arrival is of an earlier move of the same range
// between the same shards: only what the donor counted now counts.
func TestMovedTakesTheEntryOfThisMove(t *testing.T) {
	now := time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC)
	commit := func(age time.Duration, clonedBytes int64) bson.D {
		return bson.D{
			{Key: "what", Value: catalog.MigrationCommitted}, {Key: "ns", Value: "x.y"}, {Key: "time", Value: now.Add(-age)},
			{Key: "details", Value: bson.D{
				{Key: "min", Value: bson.D{{Key: "k", Value: 0}}}, {Key: "max", Value: bson.D{{Key: "k", Value: 50}}},
				{Key: "from", Value: "a"}, {Key: "to", Value: "b"},
				{Key: "counts", Value: bson.D{{Key: "cloned", Value: int64(1)}, {Key: "clonedBytes", Value: clonedBytes}}},
			}},
		}
	}
	key := func(k int) catalog.Key {
		pattern, err := catalog.ParseKeyPattern(encoded(t, bson.D{{Key: "k", Value: 1}}))
		if err != nil {
			t.Fatal(err)
		}
		one, err := pattern.ParseKey(encoded(t, bson.D{{Key: "k", Value: k}}))
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	for name, tt := range map[string]struct {
		owner   string
		log     []bson.D
		bytes   int64
		counted bool
		max     catalog.Key
	}{
		"this move's":                      {"b", []bson.D{commit(0, 700), commit(time.Hour, 3)}, 700, true, key(50)},
		"an earlier move's alone":          {"b", []bson.D{commit(time.Hour, 3)}, 0, false, key(100)},
		"of a donor whose clock is behind": {"b", []bson.D{commit(50*time.Second, 700)}, 700, true, key(50)},
		"the chunk has moved on":           {"c", []bson.D{commit(time.Hour, 700)}, 700, true, key(50)},
		"none, and it has moved on":        {"c", nil, 0, false, catalog.Key{}},
	} {
		t.Run(name, func(t *testing.T) {
			since := bson.Timestamp{T: uint32(now.Unix()), I: 1}
			e := &StepExecutor{executor: &Executor{commands: configDocs{docs: map[string][]bson.D{
				"collections": {{
					{Key: "_id", Value: "x.y"}, {Key: "lastmodEpoch", Value: bson.ObjectID{1}}, {Key: "timestamp", Value: bson.Timestamp{T: 1}},
					{Key: "uuid", Value: bson.Binary{Subtype: 4, Data: make([]byte, 16)}}, {Key: "key", Value: bson.D{{Key: "k", Value: 1}}},
					{Key: "lastmod", Value: now}, {Key: "unique", Value: false},
				}},
				"chunks": {{
					{Key: "_id", Value: bson.ObjectID{2}}, {Key: "uuid", Value: bson.Binary{Subtype: 4, Data: make([]byte, 16)}},
					{Key: "min", Value: bson.D{{Key: "k", Value: 0}}}, {Key: "max", Value: bson.D{{Key: "k", Value: 100}}},
					{Key: "shard", Value: tt.owner}, {Key: "lastmod", Value: bson.Timestamp{T: 2}},
					{Key: "onCurrentShardSince", Value: since},
					{Key: "history", Value: bson.A{bson.D{{Key: "validAfter", Value: since}, {Key: "shard", Value: tt.owner}}}},
				}},
				"changelog": tt.log,
			}}}}
			moved, err := e.MovedAmount(t.Context(), apply.Command{Namespace: "x.y", From: "a", To: "b", Min: key(0)})
			if err != nil || moved.Bytes != tt.bytes || moved.Counted != tt.counted || !moved.Max.Equal(tt.max) {
				t.Errorf("%+v, %v, want %d bytes, counted %t, up to %s", moved, err, tt.bytes, tt.counted, tt.max)
			}
		})
	}
}

// failing answers each command with a driver's error.
type failing struct{ CommandRunner }

func (failing) RunCursorCommand(context.Context, string, bson.D) ([]bson.Raw, error) {
	return nil, mongo.CommandError{Code: 13, Name: "Unauthorized", Message: "not authorized on admin"}
}

// The error of a comparison is a server's, as that of all other reads.
func TestErrorOfMetadataConsistency(t *testing.T) {
	var server *mongoerr.ServerError
	list, err := CheckMetadataConsistency(t.Context(), failing{}, false)
	if list != nil || !errors.As(err, &server) || server.Code != mongoerr.Unauthorized {
		t.Errorf("%v, %#v", list, err)
	}
}
