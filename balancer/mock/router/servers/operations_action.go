package servers

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// actionOp returns what a merge or measurement for the balancer shows in $currentOp: the
// command of the shard.
func actionOp(cluster *mock.Cluster, a mock.ActionInfo) bson.D {
	seconds := int64(cluster.Now().Sub(a.Started).Seconds())
	return append(shardOp(cluster, a.Shard, a.Op, fmt.Sprintf("conn%d", a.Op), "command", "admin.$cmd", seconds),
		bson.E{Key: "command", Value: append(a.Command, bson.E{Key: "$db", Value: "admin"})})
}
