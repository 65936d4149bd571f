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

// Node is a server that receives commands, a mongos or a member of the cluster. It holds the state that
// outlives a command.
type Node struct {
	Cluster  *mock.Cluster
	Logger   *slog.Logger
	Commands map[string]*Command
	// Stages are the first pipeline stages that generate documents.
	Stages map[string]InitialStage
	// Member is the shard or config server of the node, and MemberState the state that it shows; both
	// are nil on a mongos.
	Member      *Member
	MemberState MemberState
	ProcessID   bson.ObjectID
	Started     time.Time
	// Entry is the entry of the mongos in config.mongos.
	Entry mock.RouterEntry

	Budget     *quota.Budget
	Cursors    Cursors
	Sessions   *Sessions // shared by all routers
	Operations Operations
	Counters   *Counters
	FailPoints failpoint.Points
	Analyzers  sampling.Analyzers // shared by all routers
	QueryStats querystats.Store
	// Routes is the routing table cache of a mongos; nil on a member.
	Routes *routing.Cache
	// Parameters are the parameters of a mongos; nil on a member.
	Parameters map[string]*Parameter

	Users           *access.Directory
	ConfiguredUsers *access.Directory // the configured users, which take precedence over the stored ones
	AuthRequired    bool
	// SnapshotPath returns the path of a snapshot by name; nil rejects all names.
	SnapshotPath SnapshotPathFunc

	// CommandsOf returns the command table of a release that is installed on the node and differs from
	// the cluster's.
	CommandsOf func(catalog.Release) map[string]*Command
	installed  atomic.Pointer[installedCommands]
}

// installedCommands are the commands of an installed release.
type installedCommands struct {
	release  catalog.Release
	commands map[string]*Command
}

// SnapshotPathFunc returns the path of a snapshot by name, or rejects the name.
type SnapshotPathFunc func(name string, write bool) (path string, err error)

// Member identifies the shard or config server that a node belongs to.
type Member struct {
	Shard catalog.ShardID
	// Set is the name of the replica set, Address the node's host:port.
	Set, Address string
	// Primary is the address of the set's primary. MemberHosts are the addresses of all members. Both are
	// empty for a set of one member.
	Primary     string
	MemberHosts []string
}

// MemberState is the state that a member shows instead of the state of a mongos.
type MemberState interface {
	// Read returns the documents of a collection that only the member has. isOwn is false if ns is not
	// such a collection.
	Read(c *Call, ns string) (docs *store.Collection, isOwn bool, err error)
	// Stats returns the counters of a collection on the member.
	Stats(c *Call, ns string) (mock.LocalStats, bool)
	// Parameter returns the value of a parameter that only members have.
	Parameter(c *Call, name string) (value any, known bool)
	ParameterNames() []string
	// Sections returns the sections of serverStatus, and Services the roles in it.
	Sections() []Section
	Services() bson.A
	// Operations returns the operations for $currentOp.
	Operations(c *Call, allUsers, idle bool) ([]bson.Raw, error)
	// Hello returns the fields of a primary's hello, in place of those of a mongos.
	Hello(c *Call, role string) bson.D
}

// Uptime returns how long the node has been running, in real time.
func (n *Node) Uptime() time.Duration { return time.Since(n.Started) }

// ClockSkew returns by how much the node's clock is ahead of the cluster's clock.
func (n *Node) ClockSkew() time.Duration {
	if n.Member != nil {
		return 0
	}
	return n.Cluster.Faults().ClockSkew(n.Entry.Node)
}

// Host returns the address of the node.
func (n *Node) Host() string {
	if n.Member != nil {
		return n.Member.Address
	}
	return n.Entry.Name
}

// Release returns the release that is installed on the node.
func (n *Node) Release() catalog.Release { return n.Cluster.InstalledReleases().ReleaseAt(n.Host()) }

// TopologyVersion returns the topologyVersion of a reply. It identifies this process and changes with a
// restart.
func (n *Node) TopologyVersion() bson.E {
	return bson.E{Key: "topologyVersion",
		Value: bson.D{{Key: "processId", Value: n.ProcessID}, {Key: "counter", Value: int64(0)}}}
}

// Parameter is a server parameter of a mongos. The parameters of the balancer and of migrations are
// stored on the config server and the shards.
type Parameter struct {
	Value             any // bool, int32, int64, float64, string or bson.A
	SettableAtRuntime bool
	SettableAtStartup bool
}
