package router

import (
	"context"
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// Member is a node of the cluster that is no router: the primary, and only
// member, of a shard's replica set or of the config server's.
type Member call.Member

// Of makes the node of a cluster's member beside its router. It shows what the
// member holds itself, orphans included, and takes no writes.
func (m Member) Of(r *Router) *Router {
	is := call.Member(m)
	return &Router{&call.Node{
		Cluster:  r.Cluster,
		Logger:   r.Logger,
		Commands: tableOf(memberHandlers(), r.Cluster.Release()),
		Stages:   r.Stages,
		Member:   &is,
		Own:      self{&is},
		Process:  bson.NewObjectID(),
		Started:  time.Now(),
		Budget:   r.Budget,
		Cursors:  call.Cursors{Rand: r.Cursors.Rand, Life: r.Cursors.Life, Most: r.Cursors.Most},
		Counters: call.NewCounters(),
		Sessions: &call.Sessions{},

		Users: r.Users, AuthRequired: r.AuthRequired,
	}}
}

// memberHandlers returns what a shard or config server does, by the commands'
// names.
func memberHandlers() map[string]call.Handler {
	all := maps.Clone(sessionHandlers())
	for _, family := range []map[string]call.Handler{
		handshakeHandlers(), authenticationHandlers(), parameterHandlers(), failPointHandlers(), replicaSetHandlers(),
		memberShardingHandlers(), memberDiagnosticHandlers(), memberStatisticsHandlers(),
	} {
		maps.Copy(all, family)
	}
	mongos := mongosHandlers()
	for _, name := range []string{
		"buildInfo", "getLog", "hostInfo", "listCommands", "features", "listIndexes", "serverStatus",
		"find", "getMore", "killCursors", "aggregate", "distinct", "explain", "currentOp",
		"connPoolStats", "connPoolSync", "echo", "invalidateUserCache", "lockInfo", "logRotate",
		"getShardMap", "getDatabaseVersion", "flushRouterConfig", "getDefaultRWConcern", "getClusterParameter",
		"planCacheClear", "planCacheListFilters", "planCacheClearFilters",
		"refreshLogicalSessionCacheNow", "reapLogicalSessionCacheNow",
	} {
		all[name] = mongos[name]
	}
	for _, name := range []string{
		"insert", "update", "delete", "findAndModify", "bulkWrite", "create", "drop", "dropDatabase", "createIndexes",
		"dropIndexes", "collMod", "renameCollection",
	} {
		all[name] = refuseDirect
	}
	maps.Copy(all, map[string]call.Handler{
		"count": memberCount, "listDatabases": memberDatabases, "listCollections": memberCollections,
		"cleanupOrphaned": cleanupOrphaned,
	})
	return all
}

// refuseDirect: what is written to a shard past the router would be lost to
// the cluster.
func refuseDirect(c *call.Call) (bson.D, error) {
	return nil, mongoerr.New(mongoerr.Unauthorized,
		"%s is refused: you are connecting to a sharded cluster improperly by connecting directly to a shard. Please "+
			"connect to the cluster via a router (mongos).", c.Invoked)
}

// reads captures what a query is about: on the member alone where this is one.
func reads(c *call.Call, ns string, filter *filter.Filter) ([]mock.Read, error) {
	nodes, special, err := c.Nodes()
	switch {
	case err != nil:
		return nil, err
	case special:
		return c.Request.ReadsFrom(nodes, ns, filter)
	case c.Node.Member == nil:
		return c.Request.Reads(ns, filter)
	}
	docs, isOwn, err := c.Node.Own.Read(c, ns)
	switch {
	case err != nil:
		return nil, err
	case !isOwn:
		return c.Request.MemberReads(c.Node.Member.ID, ns, filter)
	}
	return []mock.Read{c.Request.OwnRead(c.Node.Member.ID, docs)}, nil
}

// stats returns a collection's counters on the shards that own chunks, or on
// the member.
func stats(c *call.Call, ns string) []mock.LocalStats {
	if c.Node.Member == nil {
		return c.Cluster.Statistics().Collection(ns)
	}
	if s, ok := c.Node.Own.Stats(c, ns); ok {
		return []mock.LocalStats{s}
	}
	return nil
}

func indexes(c *call.Call, ns string) ([]store.IndexSpec, bool) {
	if c.Node.Member == nil {
		return c.Cluster.Indexes().List(ns)
	}
	docs, isOwn, err := c.Node.Own.Read(c, ns)
	switch {
	case err != nil:
		return nil, false
	case !isOwn:
		return c.Cluster.Statistics().MemberIndexes(c.Node.Member.ID, ns)
	}
	return docs.Indexes(), true
}

// checkMemberStage refuses on a member the stages that speak of the whole cluster.
func checkMemberStage(c *call.Call, name string) error {
	switch name {
	case "$collStats", "$indexStats", "$currentOp", "$listLocalSessions", "$planCacheStats":
		return nil
	}
	if c.Node.Member == nil {
		return nil
	}
	return mongoerr.New(mongoerr.NotImplemented, "the mock answers %s on its mongos only", name)
}

// memberCount without a query is the fast count, orphans included.
func memberCount(c *call.Call) (bson.D, error) {
	q, err := call.Outside(c, func(context.Context) (call.Query, error) { return c.ReadQuery("query") })
	if err != nil {
		return nil, err
	}
	if query, _ := c.Document("query"); len(query) <= 5 && q.Skip == 0 && q.Limit == 0 {
		n := int64(0)
		for _, part := range stats(c, q.NS) {
			n += part.Docs
		}
		return bson.D{{Key: "n", Value: call.Smallest(n)}}, nil
	}
	return countMatching(c, q)
}
