package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Operations returns how many reads and writes of collections each shard has counted since
// it started ($collStats.latencyStats). Only shards with chunks of a collection count it.
func (s *Steps) Operations(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error) {
	counted := make(map[string]map[catalog.ShardID]int64, len(namespaces))
	for _, ns := range namespaces {
		db, name, err := catalog.SplitNamespace(ns)
		if err != nil {
			return nil, err
		}
		docs, err := s.executor.list(ctx, db, aggregate(name,
			bson.D{{Key: "$collStats", Value: bson.D{{Key: "latencyStats", Value: bson.D{}}}}}))
		if err != nil {
			return nil, err
		}
		counted[ns] = make(map[catalog.ShardID]int64, len(docs))
		for _, doc := range docs {
			counted[ns][catalog.ShardID(text(doc, "shard"))] = integer(doc, "latencyStats", "reads", "ops") +
				integer(doc, "latencyStats", "writes", "ops")
		}
	}
	return counted, nil
}
