package audit

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"shardsh/balancer/mongoerr"
)

// Database and Collection name the collection that stores the entries of the destination "cluster".
const (
	Database   = "shardsh"
	Collection = "audit"
)

// collectionBytes is the size of the capped collection, which is enough for some 100,000 entries.
const collectionBytes = 64 << 20

// writeTimeout is the timeout of writing an entry.
const writeTimeout = 10 * time.Second

type collectionSink struct{ *mongo.Collection }

func openCollection(ctx context.Context, client *mongo.Client) (Sink, error) {
	db := client.Database(Database)
	err := db.CreateCollection(ctx, Collection, options.CreateCollection().SetCapped(true).SetSizeInBytes(collectionBytes))
	var answered mongo.ServerError
	if err != nil && !(errors.As(err, &answered) && answered.HasErrorCode(int(mongoerr.NamespaceExists))) {
		return nil, err
	}
	o := options.Collection().SetWriteConcern(writeconcern.Majority())
	return collectionSink{db.Collection(Collection, o)}, nil
}

// Write inserts the entry.
func (c collectionSink) Write(ctx context.Context, e Entry) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := c.InsertOne(ctx, e)
	return err
}

// Close does nothing: the client belongs to the caller.
func (c collectionSink) Close() error { return nil }

// ReadCollection returns the entries of the collection since a time.
func ReadCollection(ctx context.Context, client *mongo.Client, since time.Time) (entries []Entry, err error) {
	filter := bson.D{}
	if !since.IsZero() {
		filter = bson.D{{Key: "at", Value: bson.D{{Key: "$gte", Value: since}}}}
	}
	sort := options.Find().SetSort(bson.D{{Key: "$natural", Value: 1}})
	found, err := client.Database(Database).Collection(Collection).Find(ctx, filter, sort)
	if err != nil {
		return nil, err
	}
	err = found.All(ctx, &entries)
	return entries, err
}
