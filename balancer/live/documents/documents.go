// Package documents reads whole collections through the router in the order of _id, and reads which
// documents were written in a period. It changes nothing.
package documents

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// CollectionFacts contains facts about a collection that are read before its documents.
type CollectionFacts struct {
	UUID        string // hexadecimal digits
	Docs, Bytes int64  // estimated by $collStats
}

// These errors are the reasons why a collection can't be read in the order of _id.
var (
	ErrView       = errors.New("it is a view, which has no documents of its own")
	ErrTimeSeries = errors.New("it is a time series: up to 8.3 name the collection of its buckets, system.buckets.NAME")
	ErrCollation  = errors.New("it has a collation, so the index on _id is not in the order of the values")
)

// commandTimeout limits each command except the read itself.
const commandTimeout = 30 * time.Second

var maxCommandTime = bson.E{Key: "maxTimeMS", Value: commandTimeout.Milliseconds()}

// Inspect reads the facts of a collection. If the collection does not exist, the error is
// NamespaceNotFound.
func Inspect(ctx context.Context, client *mongo.Client, ns string) (f CollectionFacts, err error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return f, err
	}
	a := live.NewCommandRunner(client)
	list, err := a.RunCursorCommand(ctx, database, bson.D{
		{Key: "listCollections", Value: int32(1)}, {Key: "filter", Value: bson.D{{Key: "name", Value: name}}}, maxCommandTime,
	})
	switch {
	case err != nil:
		return f, live.ServerError(err)
	case len(list) == 0:
		return f, mongoerr.New(mongoerr.NamespaceNotFound, "there is no collection %s", ns)
	}
	switch kind, _ := list[0].Lookup("type").StringValueOK(); kind {
	case "view":
		return f, ErrView
	case "timeseries":
		return f, ErrTimeSeries
	}
	locale, collated := list[0].Lookup("options", "collation", "locale").StringValueOK()
	if collated && locale != "simple" {
		return f, ErrCollation
	}
	if _, uuid, is := list[0].Lookup("info", "uuid").BinaryOK(); is {
		f.UUID = hex.EncodeToString(uuid)
	}
	f.Docs, f.Bytes, err = ReadSizes(ctx, client, ns)
	return f, err
}

// ReadSizes returns the number of documents of a collection, and their bytes, as counted by the shards,
// including orphans.
func ReadSizes(ctx context.Context, client *mongo.Client, ns string) (docs, bytes int64, err error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return 0, 0, err
	}
	stats, err := live.NewCommandRunner(client).RunCursorCommand(ctx, database, bson.D{
		{Key: "aggregate", Value: name}, {Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}},
			bson.D{{Key: "$project", Value: bson.D{
				{Key: "storageStats.size", Value: 1}, {Key: "storageStats.count", Value: 1},
				{Key: "storageStats.timeseries.bucketCount", Value: 1},
			}}},
		}}, {Key: "cursor", Value: bson.D{}}, maxCommandTime,
	})
	for _, doc := range stats {
		size, _ := doc.Lookup("storageStats", "size").AsInt64OK()
		count, given := doc.Lookup("storageStats", "count").AsInt64OK()
		if !given { // as for the buckets of a time series
			count, _ = doc.Lookup("storageStats", "timeseries", "bucketCount").AsInt64OK()
		}
		docs, bytes = docs+count, bytes+size
	}
	return docs, bytes, live.ServerError(err)
}

// ReadClusterTime returns the router's $clusterTime and its local time.
func ReadClusterTime(ctx context.Context, client *mongo.Client) (at bson.Timestamp, now time.Time, err error) {
	hello, err := live.SendHello(ctx, live.NewCommandRunner(client).RunCommand)
	if err != nil {
		return at, now, live.ServerError(err)
	}
	at.T, at.I, _ = hello.Lookup("$clusterTime", "clusterTime").TimestampOK()
	now, _ = hello.Lookup("localTime").TimeOK()
	return at, now, nil
}

// Range is a range of _ids, with read options.
type Range struct {
	Namespace string
	// From is the first _id of the range, and To is the first _id after it. Zero values are no bounds.
	From, To bson.RawValue
	// AfterClusterTime is the afterClusterTime of the read; zero sends none.
	AfterClusterTime bson.Timestamp
	// Secondary reads from secondaries of shards that have one.
	Secondary bool
	// MaxTime limits the time that the servers work for one cursor.
	MaxTime time.Duration
}

// batchSize is the number of documents in a batch. Servers send at most 16 MiB.
const batchSize = 5000

// findCommand returns the find command. The bounds are index bounds, because a filter would only match
// values of one type.
func (r Range) findCommand(name string) bson.D {
	concern := bson.D{{Key: "level", Value: "majority"}}
	if !r.AfterClusterTime.IsZero() {
		concern = append(concern, bson.E{Key: "afterClusterTime", Value: r.AfterClusterTime})
	}
	byID := bson.D{{Key: "_id", Value: int32(1)}}
	command := bson.D{
		{Key: "find", Value: name}, {Key: "filter", Value: bson.D{}}, {Key: "sort", Value: byID}, {Key: "hint", Value: byID},
		{Key: "batchSize", Value: int32(batchSize)}, {Key: "readConcern", Value: concern},
	}
	if r.From.Type != 0 {
		command = append(command, bson.E{Key: "min", Value: bson.D{{Key: "_id", Value: r.From}}})
	}
	if r.To.Type != 0 {
		command = append(command, bson.E{Key: "max", Value: bson.D{{Key: "_id", Value: r.To}}})
	}
	return append(command, bson.E{Key: "maxTimeMS", Value: r.MaxTime.Milliseconds()})
}

// Each calls put with each document, in the order of _id, until put returns an error. A document is
// valid until put returns.
func (r Range) Each(ctx context.Context, client *mongo.Client, put func(bson.Raw) error) (err error) {
	if r.From.Type != 0 && r.To.Type != 0 && keyorder.Compare(r.From, r.To) >= 0 {
		return nil // servers refuse such bounds
	}
	database, name, err := catalog.SplitNamespace(r.Namespace)
	if err != nil {
		return err
	}
	command := r.findCommand(name)
	if _, limited := ctx.Deadline(); limited { // the driver sends the deadline as maxTimeMS
		command = command[:len(command)-1]
	}
	how := options.RunCmd()
	if r.Secondary {
		how.SetReadPreference(readpref.SecondaryPreferred())
	}
	cursor, err := client.Database(database).RunCommandCursor(ctx, command, how)
	if err != nil {
		return live.ServerError(err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = cursor.Close(closing) // nothing was written
	}()
	cursor.SetBatchSize(batchSize)
	ahead := NewAheadReader(ctx, cursor)
	defer ahead.Close()
	for {
		doc, err := ahead.Next()
		switch {
		case err != nil:
			return fmt.Errorf("reading %s: %w", r.Namespace, live.ServerError(err))
		case doc == nil:
			return nil
		}
		if err := put(doc); err != nil {
			return err
		}
	}
}
