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

// ErrNotReached says that a change stream went silent before the end time, so that changes may be missing.
var ErrNotReached = errors.New("the change stream made no progress before the end of the time that was asked for")

// ErrCollectionGone says that a collection was dropped or renamed.
var ErrCollectionGone = errors.New("the collection was dropped or renamed in the meantime")

// Write is a write to a document.
type Write struct {
	ID bson.RawValue
	// Inserted says that the document was inserted.
	Inserted bool
	At       bson.Timestamp
}

// maxAwaitTime is how long servers wait for changes before they send an empty reply.
const maxAwaitTime = 500 * time.Millisecond

// maxEmptyReplies is the number of empty replies after which reading a stream fails that has not reached
// the end time. Idle shards report progress every 10 seconds.
const maxEmptyReplies = 24

// maxEmptyRepliesAtEnd is the number of empty replies after which a stream ends that has reached
// exactly the end time.
const maxEmptyRepliesAtEnd = 2

// CheckWatchable returns an error if change streams can't be opened on a collection.
func CheckWatchable(ctx context.Context, client *mongo.Client, ns string) error {
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

// ReadWrites calls each with the writes to a collection after one operation time and up to another, as
// far as the oplog reaches back. Migrations are not included.
func ReadWrites(
	ctx context.Context, client *mongo.Client, ns string, since, until bson.Timestamp, each func(Write) error,
) error {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	return readChanges(ctx, client.Database(database).Collection(name), mongo.Pipeline{changeProjection}, since, until,
		each)
}

// ReadDeletions is like ReadWrites, for deletions only. The server filters the events.
func ReadDeletions(
	ctx context.Context, client *mongo.Client, ns string, since, until bson.Timestamp, each func(Write) error,
) error {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	only := bson.D{{Key: "$match", Value: bson.D{{Key: "operationType", Value: bson.D{
		{Key: "$in", Value: bson.A{"delete", "drop", "rename", "dropDatabase", "invalidate"}},
	}}}}}
	return readChanges(ctx, client.Database(database).Collection(name), mongo.Pipeline{only, changeProjection}, since,
		until, each)
}

// changeProjection is the projection of each change event.
var changeProjection = bson.D{{Key: "$project", Value: bson.D{
	{Key: "operationType", Value: 1}, {Key: "documentKey._id", Value: 1}, {Key: "clusterTime", Value: 1},
}}}

func readChanges(
	ctx context.Context, coll *mongo.Collection, pipeline mongo.Pipeline, since, until bson.Timestamp,
	each func(Write) error,
) error {
	since.I++ // the first time to include
	stream, err := coll.Watch(ctx, pipeline,
		options.ChangeStream().SetStartAtOperationTime(&since).SetMaxAwaitTime(maxAwaitTime))
	if err != nil {
		return live.ServerError(err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = stream.Close(closing) // nothing was written
	}()
	return readUntil(ctx, stream, until, each)
}

// changeStream is what readUntil needs of a mongo.ChangeStream.
type changeStream interface {
	TryNext(ctx context.Context) bool
	Decode(event any) error
	Err() error
	ResumeToken() bson.Raw
}

func readUntil(ctx context.Context, stream changeStream, until bson.Timestamp, each func(Write) error) error {
	var reached bson.Timestamp
	for silent := 0; silent < maxEmptyReplies; {
		if !stream.TryNext(ctx) {
			if err := stream.Err(); err != nil {
				return live.ServerError(err)
			}
			now := tokenTime(stream.ResumeToken())
			if silent++; now.After(reached) {
				reached, silent = now, 1 // it reads on, and its filter finds nothing
			}
			if at := now.Compare(until); at > 0 || at == 0 && silent >= maxEmptyRepliesAtEnd {
				return nil
			}
			continue
		}
		silent = 0
		var event bson.Raw
		if err := stream.Decode(&event); err != nil {
			return err
		}
		t, i, _ := event.Lookup("clusterTime").TimestampOK()
		if (bson.Timestamp{T: t, I: i}).Compare(until) > 0 {
			return nil
		}
		if err := reportChange(event, bson.Timestamp{T: t, I: i}, each); err != nil {
			return err
		}
	}
	return ErrNotReached
}

func reportChange(event bson.Raw, at bson.Timestamp, each func(Write) error) error {
	kind, _ := event.Lookup("operationType").StringValueOK()
	switch kind {
	case "drop", "rename", "dropDatabase", "invalidate":
		return ErrCollectionGone
	}
	if id := event.Lookup("documentKey", "_id"); id.Type != 0 {
		return each(Write{ID: id, Inserted: kind == "insert", At: at})
	}
	return nil
}

// tokenTime returns the time up to which a stream has returned all changes: resume tokens begin with 82
// and the time. Zero means unknown.
func tokenTime(token bson.Raw) (at bson.Timestamp) {
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
