package router

import (
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/clients"
	"shardsh/balancer/mock/router/members"
	"shardsh/balancer/mongoerr"
)

// Member is a node that is not a router: a member of the replica set of a shard or of the config server,
// in most cases the only one.
type Member call.Member

// NewNode returns a node of the cluster's member. The node uses the cluster of r. It shows the data on
// the member, orphans included, and accepts no writes.
func (m Member) NewNode(r *Router) *Router {
	member := call.Member(m)
	return &Router{&call.Node{
		Cluster:     r.Cluster,
		Logger:      r.Logger,
		Commands:    memberTable(r.Cluster.Release()),
		CommandsOf:  memberTable,
		Stages:      r.Stages,
		Member:      &member,
		MemberState: members.NewMemberState(&member),
		ProcessID:   bson.NewObjectID(),
		Started:     time.Now(),
		Budget:      r.Budget,
		Cursors:     call.Cursors{Rand: r.Cursors.Rand, IdleTimeout: r.Cursors.IdleTimeout, MaxBytes: r.Cursors.MaxBytes},
		Counters:    call.NewCounters(),
		Sessions:    &call.Sessions{},

		Users: r.Users, AuthRequired: r.AuthRequired,
	}}
}

func memberTable(r catalog.Release) map[string]*call.Command { return buildTable(memberHandlers(), r) }

// memberHandlers returns the implementations of a shard's or config server's commands by command name:
// those that it shares with a mongos, and those that only members have.
func memberHandlers() map[string]call.Handler {
	all := clients.Handlers()
	mongos := mongosHandlers()
	for _, name := range []string{
		"buildInfo", "getLog", "hostInfo", "listCommands", "features", "listIndexes", "serverStatus",
		"find", "getMore", "killCursors", "aggregate", "distinct", "explain", "currentOp",
		"connPoolStats", "connPoolSync", "echo", "invalidateUserCache", "lockInfo", "logRotate",
		"getShardMap", "getDatabaseVersion", "flushRouterConfig", "getDefaultRWConcern", "getClusterParameter",
		"planCacheClear", "planCacheListFilters", "planCacheClearFilters",
		"refreshLogicalSessionCacheNow", "reapLogicalSessionCacheNow",
		"getParameter", "setParameter", "configureFailPoint", "waitForFailPoint",
	} {
		all[name] = mongos[name]
	}
	for _, name := range []string{
		"insert", "update", "delete", "findAndModify", "bulkWrite", "create", "drop", "dropDatabase", "createIndexes",
		"dropIndexes", "collMod", "renameCollection",
	} {
		all[name] = refuseDirectWrite
	}
	maps.Copy(all, members.Handlers())
	return all
}

// refuseDirectWrite rejects a write that a client sends directly to a shard: the cluster would not know of
// it.
func refuseDirectWrite(c *call.Call) (bson.D, error) {
	return nil, mongoerr.New(mongoerr.Unauthorized,
		"%s is refused: you are connecting to a sharded cluster improperly by connecting directly to a shard. Please "+
			"connect to the cluster via a router (mongos).", c.InvokedAs)
}
