package router

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// migrationOps returns what a migration under way shows in $currentOp: the
// donor's command, the donor's worker and the recipient's (spec 03 §1.7).
func migrationOps(cluster *mock.Cluster, m mock.MigrationInfo) []bson.D {
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
