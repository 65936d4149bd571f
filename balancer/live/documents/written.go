package documents

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// ErrEnded says that a collection was dropped or renamed.
var ErrEnded = errors.New("the collection was dropped or renamed meanwhile")

// Write is a change of a document.
type Write struct {
	ID bson.RawValue
	// New says that the document was inserted.
	New bool
	At  bson.Timestamp
}

// awaiting is how long servers wait for changes before they answer that there are none.
const awaiting = 500 * time.Millisecond

// maxSilent is how many answers without changes end a stream that does not come to be past a
// time: idle shards tell every 10 seconds how far they are.
const maxSilent = 24

// sureSilent is how many answers without changes end one that is just at that time.
const sureSilent = 2

// Watchable returns why Written can't find out what is written from now on; nil where it can.
func Watchable(ctx context.Context, client *mongo.Client, ns string) error {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	stream, err := client.Database(database).Collection(name).Watch(ctx, mongo.Pipeline{})
	if err != nil {
		return live.ServerError(err)
	}
	return stream.Close(ctx)
}

// Written calls each with the writes to a collection after one operation time up to another,
// as far as the oplog reaches back. Moves of documents between shards are none.
func Written(
	ctx context.Context, client *mongo.Client, ns string, since, until bson.Timestamp, each func(Write) error,
) error {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	return changes(ctx, client.Database(database).Collection(name), mongo.Pipeline{toldOf}, since, until, each)
}

// Deleted is Written for deletions alone, which servers sort out.
func Deleted(
	ctx context.Context, client *mongo.Client, ns string, since, until bson.Timestamp, each func(Write) error,
) error {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	only := bson.D{{Key: "$match", Value: bson.D{{Key: "operationType", Value: bson.D{
		{Key: "$in", Value: bson.A{"delete", "drop", "rename", "dropDatabase", "invalidate"}},
	}}}}}
	return changes(ctx, client.Database(database).Collection(name), mongo.Pipeline{only, toldOf}, since, until, each)
}

// toldOf is what is read of each change.
var toldOf = bson.D{{Key: "$project", Value: bson.D{
	{Key: "operationType", Value: 1}, {Key: "documentKey._id", Value: 1}, {Key: "clusterTime", Value: 1},
}}}

func changes(
	ctx context.Context, coll *mongo.Collection, pipeline mongo.Pipeline, since, until bson.Timestamp,
	each func(Write) error,
) error {
	since.I++ // which is the first one that counts
	stream, err := coll.Watch(ctx, pipeline,
		options.ChangeStream().SetStartAtOperationTime(&since).SetMaxAwaitTime(awaiting))
	if err != nil {
		return live.ServerError(err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = stream.Close(closing) // it was only read
	}()
	for silent := 0; silent < maxSilent; {
		if !stream.TryNext(ctx) {
			if err := stream.Err(); err != nil {
				return live.ServerError(err)
			}
			silent++
			if at := timeOf(stream.ResumeToken()).Compare(until); at > 0 || at == 0 && silent >= sureSilent {
				return nil
			}
			continue
		}
		silent = 0
		t, i, _ := stream.Current.Lookup("clusterTime").TimestampOK()
		if (bson.Timestamp{T: t, I: i}).Compare(until) > 0 {
			return nil
		}
		if err := tell(stream.Current, bson.Timestamp{T: t, I: i}, each); err != nil {
			return err
		}
	}
	return nil
}

func tell(event bson.Raw, at bson.Timestamp, each func(Write) error) error {
	kind, _ := event.Lookup("operationType").StringValueOK()
	switch kind {
	case "drop", "rename", "dropDatabase", "invalidate":
		return ErrEnded
	}
	if id := event.Lookup("documentKey", "_id"); id.Type != 0 {
		return each(Write{ID: id, New: kind == "insert", At: at})
	}
	return nil
}

// timeOf returns the time up to which a stream has told all changes: its tokens begin with 82
// and the time. Zero is unknown.
func timeOf(token bson.Raw) (at bson.Timestamp) {
	text, _ := token.Lookup("_data").StringValueOK()
	if len(text) < 18 {
		return at
	}
	b, err := hex.DecodeString(text[:18])
	if err != nil || b[0] != 0x82 {
		return at
	}
	return bson.Timestamp{T: binary.BigEndian.Uint32(b[1:]), I: binary.BigEndian.Uint32(b[5:])}
}
