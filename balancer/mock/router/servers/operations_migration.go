package servers

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// MigrationOps returns what a migration under way shows in $currentOp: the
// donor's command, the donor's worker and the recipient's (rules/03-commands §1.7).
func MigrationOps(cluster *mock.Cluster, m mock.MigrationInfo) []bson.D {
	seconds := int64(cluster.Now().Sub(m.Started).Seconds())
	command := append(
		shardOp(cluster, m.From, m.Op, fmt.Sprintf("conn%d", m.Op), "command", "admin.$cmd", seconds),
		bson.E{Key: "command", Value: append(m.Command, bson.E{Key: "$db", Value: "admin"})})
	donor := append(
		shardOp(cluster, m.From, m.Op+1, "MoveChunk", "none", m.Namespace, seconds),
		bson.E{Key: "command", Value: bson.D{}},
		bson.E{Key: "msg", Value: fmt.Sprintf("step %d of 6", m.Step)})
	ops := []bson.D{command, donor}
	if m.RecipientStep > 0 {
		ops = append(ops, append(
			shardOp(cluster, m.To, m.Op+2, "migrateThread", "none", m.Namespace, seconds),
			bson.E{Key: "command", Value: bson.D{}},
			bson.E{Key: "msg", Value: fmt.Sprintf("step %d of 8", m.RecipientStep)}))
	}
	return ops
}

// reshardingOps returns the operations under way as $currentOp shows them
// (rules/03-commands §1.7).
func reshardingOps(cluster *mock.Cluster) ([]bson.Raw, error) {
	var docs []bson.Raw
	for _, op := range cluster.Reshardings().List() {
		raw, err := bson.Marshal(bson.D{
			{Key: "shard", Value: op.Coordinator},
			{Key: "type", Value: "op"},
			{Key: "desc", Value: "ReshardingMetricsCoordinatorService"},
			{Key: "op", Value: "command"},
			{Key: "ns", Value: op.Namespace},
			{Key: "originatingCommand", Value: bson.D{{Key: string(op.Provenance), Value: op.Namespace},
				{Key: "key", Value: op.Key}}},
			{Key: "provenance", Value: string(op.Provenance)},
			{Key: "totalOperationTimeElapsedSecs", Value: int64(op.Elapsed.Seconds())},
			{Key: "remainingOperationTimeEstimatedSecs", Value: int64(op.Remaining.Seconds())},
			{Key: "approxBytesToCopy", Value: op.BytesToCopy},
			{Key: "bytesCopied", Value: op.Copied},
			{Key: "coordinatorState", Value: op.State},
		})
		if err != nil {
			return nil, err
		}
		docs = append(docs, raw)
	}
	return docs, nil
}
