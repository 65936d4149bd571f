package live

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// OperationCounts are the counters of a shard for a collection since the shard was started.
type OperationCounts struct {
	Documents           int64
	Reads, Writes       int64
	ReadTime, WriteTime time.Duration // in total
}

// countsTimeout is the maximum time to wait for counters, since a router would wait for a shard that is
// down.
const countsTimeout = 5 * time.Second

// ReadOperationCounts returns the counters of the shards with chunks of a collection ($collStats with
// latencyStats and count).
func ReadOperationCounts(ctx context.Context, r CommandRunner, ns string) (map[catalog.ShardID]OperationCounts, error) {
	db, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	command := aggregateCommand(name, bson.D{{Key: "$collStats", Value: bson.D{{Key: "latencyStats", Value: bson.D{}},
		{Key: "count", Value: bson.D{}}}}})
	ctx, cancel := context.WithTimeout(ctx, countsTimeout) // the driver sends the deadline as maxTimeMS
	defer cancel()
	docs, err := r.RunCursorCommand(ctx, db, command)
	if err != nil {
		return nil, ServerError(err)
	}
	counted := make(map[catalog.ShardID]OperationCounts, len(docs))
	for _, doc := range docs {
		micros := func(of string) time.Duration {
			return time.Duration(integer(doc, "latencyStats", of, "latency")) * time.Microsecond
		}
		counted[catalog.ShardID(text(doc, "shard"))] = OperationCounts{
			Documents: integer(doc, "count"),
			Reads:     integer(doc, "latencyStats", "reads", "ops"), ReadTime: micros("reads"),
			Writes: integer(doc, "latencyStats", "writes", "ops"), WriteTime: micros("writes"),
		}
	}
	return counted, nil
}

// OperationCounts returns the number of reads and writes on collections that each shard has counted since it
// was started. Only shards with chunks of a collection count its operations.
func (s *StepExecutor) OperationCounts(
	ctx context.Context,
	namespaces []string,
) (map[string]map[catalog.ShardID]int64, error) {
	all := make(map[string]map[catalog.ShardID]int64, len(namespaces))
	for _, ns := range namespaces {
		counted, err := ReadOperationCounts(ctx, s.executor.commands, ns)
		if err != nil {
			return nil, err
		}
		all[ns] = make(map[catalog.ShardID]int64, len(counted))
		for id, n := range counted {
			all[ns][id] = n.Reads + n.Writes
		}
	}
	return all, nil
}
