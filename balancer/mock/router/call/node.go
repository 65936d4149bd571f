package call

import (
	"log/slog"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router/failpoint"
	"shardsh/balancer/mock/router/querystats"
	"shardsh/balancer/mock/router/sampling"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/quota"
)

// Node is the server that commands come to, a mongos or a member of the
// cluster, and what it keeps from one command to the next.
type Node struct {
	Cluster  *mock.Cluster
	Logger   *slog.Logger
	Commands map[string]*Command
	// Stages are the first stages of pipelines that make documents.
	Stages map[string]InitialStage
	// Member is the shard or config server that this is instead of a mongos, and MemberState
	// what it answers otherwise; nil on a mongos.
	Member      *Member
	MemberState MemberState
	ProcessID   bson.ObjectID
	Started     time.Time
	// Entry is that of a mongos in config.mongos.
	Entry mock.RouterEntry

	Budget     *quota.Budget
	Cursors    Cursors
	Sessions   *Sessions // all routers have the same
	Operations Operations
	Counters   *Counters
	FailPoints failpoint.Points
	Analyzers  sampling.Analyzers // all routers have the same
	QueryStats querystats.Store
	// Routes are what a mongos knows of the catalog; nil on a member.
	Routes *routing.Cache
	// Parameters are the mongos's own; nil on a member.
	Parameters map[string]*Parameter

	Users           *access.Directory
	ConfiguredUsers *access.Directory // users of before those that the cluster kept
	AuthRequired    bool
	// Snapshots finds the file that a name stands for; nil refuses all.
	Snapshots SnapshotFile

	// CommandsOf makes the table of another release that was installed on the node.
	CommandsOf func(catalog.Release) map[string]*Command
	installed  atomic.Pointer[installedCommands]
}

// installedCommands are the commands of a release that was installed.
type installedCommands struct {
	release  catalog.Release
	commands map[string]*Command
}

// SnapshotFile finds the file that a name stands for, or refuses it.
type SnapshotFile func(name string, write bool) (path string, err error)

// Member is a shard or the config server as one of its nodes knows it.
type Member struct {
	ID catalog.ShardID
	// Set is the replica set's name, Address its host:port.
	Set, Address string
	// Primary is the address of the set's primary where that is another one, and All are all
	// members; empty for a set of one.
	Primary string
	All     []string
}

// MemberState is the state that a member of the cluster shows instead of that of a
// mongos.
type MemberState interface {
	// Read makes the documents of a collection of its own; false where ns is none.
	Read(c *Call, ns string) (docs *store.Collection, isOwn bool, err error)
	// Stats are the counters of a collection as the member holds it.
	Stats(c *Call, ns string) (mock.LocalStats, bool)
	// Parameter returns the value of one that only members have.
	Parameter(c *Call, name string) (value any, known bool)
	ParameterNames() []string
	// Sections are those of serverStatus, and Services the roles it shows.
	Sections() []Section
	Services() bson.A
	// Operations are those that $currentOp shows.
	Operations(c *Call, allUsers, idle bool) ([]bson.Raw, error)
	// Hello is what a primary says of its set, in place of a mongos's role.
	Hello(c *Call, role string) bson.D
}

// Uptime is how long the node has been running, in real time.
func (n *Node) Uptime() time.Duration { return time.Since(n.Started) }

// ClockAhead is how far the node's clock is ahead of the cluster's.
func (n *Node) ClockAhead() time.Duration {
	if n.Member != nil {
		return 0
	}
	return n.Cluster.Faults().ClockSkew(n.Entry.Node)
}

// Host is the address that the node shows.
func (n *Node) Host() string {
	if n.Member != nil {
		return n.Member.Address
	}
	return n.Entry.Name
}

// Release returns what runs on the node.
func (n *Node) Release() catalog.Release { return n.Cluster.Installed().ReleaseAt(n.Host()) }

// TopologyVersion identifies this process, and changes with a restart.
func (n *Node) TopologyVersion() bson.E {
	return bson.E{Key: "topologyVersion",
		Value: bson.D{{Key: "processId", Value: n.ProcessID}, {Key: "counter", Value: int64(0)}}}
}

// Parameter is a parameter that a mongos has itself. Those of the balancer
// and of migrations live on the config server and the shards.
type Parameter struct {
	Value   any // bool, int32, int64, float64, string or bson.A
	Runtime bool
	Startup bool
}
