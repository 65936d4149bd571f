package router

import (
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/work"
)

// node is the server that commands come to, a mongos or a member of the
// cluster, and what it keeps from one command to the next.
type node struct {
	cluster  *mock.Cluster
	logger   *slog.Logger
	commands map[string]*command
	// stages are the first stages of pipelines that make documents.
	stages map[string]initialStage
	// member is the shard or config server that this is instead of a mongos, and own
	// what it answers otherwise; nil on a mongos.
	member  *member
	own     own
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
	// snapshots finds the file that a name stands for; nil refuses all.
	snapshots func(name string, write bool) (path string, err error)
}

// member is a shard or the config server as one of its nodes knows it.
type member struct {
	ID catalog.ShardID
	// Set is the replica set's name, Address its host:port.
	Set, Address string
}

// own is what a member of the cluster has for itself, and shows in place of what a
// mongos would.
type own interface {
	// read makes the documents of a collection of its own; false where ns is none.
	read(c *call, ns string) (docs *store.Collection, isOwn bool, err error)
	// stats are the counters of a collection as the member holds it.
	stats(c *call, ns string) (mock.LocalStats, bool)
	// parameter returns the value of one that only members have.
	parameter(c *call, name string) (value any, known bool)
	parameterNames() []string
	// sections are those of serverStatus, and services the roles it shows.
	sections() []section
	services() bson.A
	// operations are those that $currentOp shows.
	operations(c *call, allUsers bool) ([]bson.Raw, error)
	// hello is what a primary says of its set, in place of a mongos's role.
	hello(c *call, role string) bson.D
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
