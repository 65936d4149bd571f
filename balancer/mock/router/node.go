package router

import (
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/store/work"
)

// node is the server that commands come to, a mongos or a member of the
// cluster, and what it keeps from one command to the next.
type node struct {
	cluster  *mock.Cluster
	logger   *slog.Logger
	commands map[string]*command
	// member is the shard or config server that this is instead of a mongos.
	member  *Member
	process bson.ObjectID
	started time.Time
	// entry is that of a mongos in config.mongos.
	entry mock.RouterEntry

	budget     *work.Budget
	cursors    cursors
	sessions   *sessions // all routers have the same
	operations operations
	counters   *counters
	failPoints failPoints
	analyzers  analyzers // all routers have the same
	// routes are what a mongos knows of the catalog; nil on a member.
	routes *routing.Cache
	// parameters are the mongos's own; nil on a member.
	parameters map[string]*ownParameter

	users        *access.Directory
	given        *access.Directory // users of before those that the cluster kept
	authRequired bool
	snapshots    SnapshotFile // nil refuses all
}

// up is how long the node has been running, in real time.
func (n *node) up() time.Duration { return time.Since(n.started) }

// host is the address that the node shows.
func (n *node) host() string {
	if n.member != nil {
		return n.member.Address
	}
	return n.entry.Name
}

// topologyVersion tells this process from the one before it.
func (n *node) topologyVersion() bson.E {
	return bson.E{Key: "topologyVersion",
		Value: bson.D{{Key: "processId", Value: n.process}, {Key: "counter", Value: int64(0)}}}
}
