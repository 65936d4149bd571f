package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// PausedCollection is a collection whose balancing a holder of the lease has disabled. Each record is stored as a
// separate document beside the lease, so that the lease stays small even with thousands of them.
type PausedCollection struct {
	Namespace string
	Since     time.Time // cluster time
	// uuid identifies the collection if it was renamed. Records of earlier versions have none.
	uuid bson.Binary
	// logEntryID is the _id of the change log entry of this process's command, if it is known.
	logEntryID string
}

// pausedDoc is the stored document of a PausedCollection.
type pausedDoc struct {
	ID struct {
		Namespace string `bson:"paused"`
	} `bson:"_id"`
	UUID  bson.Binary `bson:"uuid"`
	Since time.Time   `bson:"since"`
	Entry string      `bson:"entry,omitempty"`
}

func (d pausedDoc) pausedCollection() PausedCollection {
	return PausedCollection{d.ID.Namespace, d.Since, d.UUID, d.Entry}
}

// pausedFilter selects the documents of paused collections, which are the only ones whose _id is a
// document.
func pausedFilter() bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$type", Value: "object"}}}}
}

func pausedID(ns string) bson.D { return bson.D{{Key: "paused", Value: ns}} }

// ReadPausedCollections returns the collections whose balancing shardsh has disabled, according to the cluster's
// lease: by a process that is running or was killed.
func ReadPausedCollections(ctx context.Context, client *mongo.Client) ([]PausedCollection, error) {
	return readPausedCollections(ctx, LeaseCollectionOf(client))
}

func readPausedCollections(ctx context.Context, leases *mongo.Collection) ([]PausedCollection, error) {
	cursor, err := leases.Find(ctx, pausedFilter(), options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return nil, ServerError(err)
	}
	var docs []pausedDoc
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, ServerError(err)
	}
	list := make([]PausedCollection, len(docs))
	for i, doc := range docs {
		list[i] = doc.pausedCollection()
	}
	return list, nil
}

// ReadPausedNamespaces returns the names of ReadPausedCollections; none if the user may not read the lease.
func ReadPausedNamespaces(ctx context.Context, client *mongo.Client) []string {
	list, err := ReadPausedCollections(ctx, client)
	if err != nil {
		return nil
	}
	return pausedNamespaces(list)
}

func pausedNamespaces(list []PausedCollection) []string {
	var names []string
	for _, p := range list {
		names = append(names, p.Namespace)
	}
	return names
}

// maxPausedPerWrite is the maximum number of collections in one write command.
const maxPausedPerWrite = 1000

// RecordPaused records that the balancing of collections is about to be disabled, with the UUIDs that
// are known.
func (l *Lease) RecordPaused(ctx context.Context, namespaces []string, uuids map[string]bson.Binary) error {
	return l.writePaused(ctx, namespaces, func(ns string) mongo.WriteModel {
		stage := bson.D{{Key: "$replaceWith", Value: bson.D{
			{Key: "_id", Value: "$_id"}, {Key: "since", Value: clusterTime}, {Key: "fence", Value: l.fence}}}}
		if uuid, known := uuids[ns]; known {
			doc := stage[0].Value.(bson.D)
			stage[0].Value = append(doc, bson.E{Key: "uuid", Value: uuid})
		}
		return mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: pausedID(ns)}}).
			SetUpsert(true).SetUpdate(mongo.Pipeline{stage})
	})
}

// noteLogEntries records the change log entries of this process's commands.
func (l *Lease) noteLogEntries(ctx context.Context, entries map[string]string) error {
	var namespaces []string
	for ns := range entries {
		namespaces = append(namespaces, ns)
	}
	slices.Sort(namespaces)
	return l.writePaused(ctx, namespaces, func(ns string) mongo.WriteModel {
		return mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: pausedID(ns)}}).
			SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "entry", Value: entries[ns]}}}})
	})
}

// RemovePaused removes the records of RecordPaused.
func (l *Lease) RemovePaused(ctx context.Context, namespaces []string) error {
	return l.writePaused(ctx, namespaces, func(ns string) mongo.WriteModel {
		return mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: "_id", Value: pausedID(ns)}})
	})
}

// writePaused writes records of collections, in batches, with write concern majority.
func (l *Lease) writePaused(ctx context.Context, namespaces []string, write func(ns string) mongo.WriteModel) error {
	for some := range slices.Chunk(namespaces, maxPausedPerWrite) {
		var writes []mongo.WriteModel
		for _, ns := range some {
			writes = append(writes, write(ns))
		}
		err := withTimeout(ctx, l.renewTimeout(), func(ctx context.Context) error {
			_, err := l.leases.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
			return err
		})
		if err != nil {
			return fmt.Errorf("recording what is paused in %s.%s: %w", LeaseDatabase, LeaseCollection, ServerError(err))
		}
	}
	return nil
}

// KeepBalancingDisabled makes the balancing of a collection stay disabled, at a user's request, when
// the run that has disabled it ends. It reports whether there is such a run.
func KeepBalancingDisabled(ctx context.Context, a CommandRunner, ns string) (bool, error) {
	found, err := a.RunCursorCommand(ctx, LeaseDatabase, bson.D{
		{Key: "find", Value: LeaseCollection}, {Key: "filter", Value: bson.D{{Key: "_id", Value: pausedID(ns)}}}})
	if err != nil || len(found) == 0 {
		return false, ServerError(err)
	}
	reply, err := a.RunCommand(ctx, LeaseDatabase, bson.D{
		{Key: "delete", Value: LeaseCollection},
		{Key: "deletes", Value: bson.A{bson.D{
			{Key: "q", Value: bson.D{{Key: "_id", Value: pausedID(ns)}}}, {Key: "limit", Value: 1}}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
	})
	if err != nil {
		return false, ServerError(err)
	}
	return integer(reply, "n") > 0, nil
}
