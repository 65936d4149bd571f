package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Inconsistencies has a cluster of 7.0 or newer compare its metadata with the shards,
// including indexes. It needs the privilege checkMetadataConsistency, which clusterManager
// has, but not clusterMonitor.
func Inconsistencies(ctx context.Context, a CommandRunner) ([]catalog.Inconsistency, error) {
	docs, err := a.RunCursorCommand(ctx, "admin", bson.D{
		{Key: "checkMetadataConsistency", Value: int32(1)}, {Key: "checkIndexes", Value: true},
	})
	var list []catalog.Inconsistency
	for _, doc := range docs {
		list = append(list, catalog.Inconsistency{
			Type: text(doc, "type"), Description: text(doc, "description"),
			Namespace: text(doc, "details", "namespace"), Shard: catalog.ShardID(text(doc, "details", "shard")),
		})
	}
	return list, err
}
