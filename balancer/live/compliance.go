// Package live looks at a sharded cluster through its mongos.
package live

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ErrNotSharded says that the server is not a mongos.
var ErrNotSharded = errors.New("the server is not a mongos: there is no balancer to ask")

// Compliance is what the balancer says of one collection.
type Compliance struct {
	Namespace string `bson:"-" json:"ns"`
	// Compliant: the balancer has nothing to do.
	Compliant bool `bson:"balancerCompliant" json:"compliant"`
	// Violation is the first thing it would mend: draining, zoneViolation,
	// chunksImbalance or defragmentingChunks.
	Violation string `bson:"firstComplianceViolation" json:"violation,omitempty"`
	// ChunkSizeMB is the chunk size in force; 0 before 6.0.
	ChunkSizeMB float64 `bson:"chunkSize" json:"chunkSizeMB,omitempty"`
	// NoBalance: balancing is switched off for the collection.
	NoBalance bool `bson:"-" json:"balancingDisabled,omitempty"`
}

// Balance asks for the balance of every sharded collection, by namespace.
func Balance(ctx context.Context, client *mongo.Client) ([]Compliance, error) {
	admin := client.Database("admin")
	var hello struct {
		Msg string `bson:"msg"`
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return nil, err
	}
	if hello.Msg != "isdbgrid" {
		return nil, ErrNotSharded
	}
	entries, err := sharded(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("reading config.collections: %w", err)
	}
	list := make([]Compliance, 0, len(entries))
	for _, e := range entries {
		c := Compliance{Namespace: e.Namespace, NoBalance: e.NoBalance}
		reply := admin.RunCommand(ctx, bson.D{{Key: "balancerCollectionStatus", Value: e.Namespace}})
		if err := reply.Decode(&c); err != nil {
			return nil, fmt.Errorf("status of %s: %w", e.Namespace, err)
		}
		list = append(list, c)
	}
	return list, nil
}

type entry struct {
	Namespace string `bson:"_id"`
	NoBalance bool   `bson:"noBalance"`
}

func sharded(ctx context.Context, client *mongo.Client) ([]entry, error) {
	filter := bson.D{
		{Key: "dropped", Value: bson.D{{Key: "$ne", Value: true}}},
		{Key: "unsplittable", Value: bson.D{{Key: "$ne", Value: true}}},
	}
	cursor, err := client.Database("config").Collection("collections").Find(ctx, filter, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return nil, err
	}
	var entries []entry
	return entries, cursor.All(ctx, &entries)
}
