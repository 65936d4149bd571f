package live

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// These constants limit the time of the comparison, which waits for shards that are down, and for the
// locks of collections that are being resharded or moved (recordings 20-live, 03, 04 and 10).
const (
	consistencyTimeout      = time.Minute
	consistencyShortTimeout = 3 * time.Second
)

// CheckMetadataConsistency lets a cluster of 7.0 or newer compare its metadata with the shards,
// including indexes. It needs the privilege checkMetadataConsistency, which clusterManager has, but not
// clusterMonitor. If the comparison takes too long, the error is a *ShardTimeoutError: after a few seconds
// if a shard is down or a collection is being resharded, otherwise after a minute.
func CheckMetadataConsistency(ctx context.Context, a CommandRunner, down bool) ([]catalog.Inconsistency, error) {
	limit, why := consistencyTimeout, ""
	running, err := a.RunCursorCommand(ctx, "config", query{
		collection: "reshardingOperations", limit: 1,
		filter: bson.D{{Key: "state", Value: bson.D{{Key: "$nin", Value: bson.A{"quiesced", "done"}}}}},
	}.command())
	switch {
	case err == nil && len(running) > 0:
		limit = consistencyShortTimeout
		why = "it waits for the lock of " + text(running[0], "ns") + ", which is resharded or moved"
	case down:
		limit, why = consistencyShortTimeout, "a shard does not answer"
	}
	waits, cancel := context.WithTimeout(ctx, limit) // the driver sends the deadline as maxTimeMS
	defer cancel()
	docs, err := a.RunCursorCommand(waits, "admin", bson.D{
		{Key: "checkMetadataConsistency", Value: int32(1)}, {Key: "checkIndexes", Value: true},
	})
	if isTimeExpired(err) && ctx.Err() == nil {
		return nil, &ShardTimeoutError{limit, why}
	}
	if err != nil {
		return nil, ServerError(err)
	}
	var list []catalog.Inconsistency
	for _, doc := range docs {
		list = append(list, catalog.Inconsistency{
			Type: text(doc, "type"), Description: text(doc, "description"),
			Namespace: text(doc, "details", "namespace"), Shard: catalog.ShardID(text(doc, "details", "shard")),
		})
	}
	return list, nil
}
