package router

import (
	"context"
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// Member is a node of the cluster that is no router: the primary, and only
// member, of a shard's replica set or of the config server's.
type Member member

// Of makes the node of a cluster's member beside its router. It shows what the
// member holds itself, orphans included, and takes no writes.
func (m Member) Of(r *Router) *Router {
	is := member(m)
	return &Router{&node{
		cluster:  r.cluster,
		logger:   r.logger,
		commands: tableOf(memberHandlers(), r.cluster.Release()),
		stages:   r.stages,
		member:   &is,
		own:      self{&is},
		process:  bson.NewObjectID(),
		started:  time.Now(),
		budget:   r.budget,
		cursors:  cursors{rand: r.cursors.rand, life: r.cursors.life, most: r.cursors.most},
		counters: newCounters(),
		sessions: &sessions{},

		users: r.users, authRequired: r.authRequired,
	}}
}

// memberHandlers returns what a shard or config server does, by the commands'
// names.
func memberHandlers() map[string]handler {
	all := maps.Clone(sessionHandlers())
	for _, family := range []map[string]handler{
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
	maps.Copy(all, map[string]handler{
		"count": memberCount, "listDatabases": memberDatabases, "listCollections": memberCollections,
		"cleanupOrphaned": cleanupOrphaned,
	})
	return all
}

// refuseDirect: what is written to a shard past the router would be lost to
// the cluster.
func refuseDirect(c *call) (bson.D, error) {
	return nil, mongoerr.New(mongoerr.Unauthorized,
		"%s is refused: you are connecting to a sharded cluster improperly by connecting directly to a shard. Please "+
			"connect to the cluster via a router (mongos).", c.invoked)
}

// reads captures what a query is about: on the member alone where this is one.
func reads(c *call, ns string, filter *filter.Filter) ([]mock.Read, error) {
	nodes, special, err := c.nodes()
	switch {
	case err != nil:
		return nil, err
	case special:
		return c.request.ReadsFrom(nodes, ns, filter)
	case c.node.member == nil:
		return c.request.Reads(ns, filter)
	}
	docs, isOwn, err := c.node.own.read(c, ns)
	switch {
	case err != nil:
		return nil, err
	case !isOwn:
		return c.request.MemberReads(c.node.member.ID, ns, filter)
	}
	return []mock.Read{c.request.OwnRead(c.node.member.ID, docs)}, nil
}

// stats returns a collection's counters on the shards that own chunks, or on
// the member.
func stats(c *call, ns string) []mock.LocalStats {
	if c.node.member == nil {
		return c.cluster.Statistics().Collection(ns)
	}
	if s, ok := c.node.own.stats(c, ns); ok {
		return []mock.LocalStats{s}
	}
	return nil
}

func indexes(c *call, ns string) ([]store.IndexSpec, bool) {
	if c.node.member == nil {
		return c.cluster.Indexes().List(ns)
	}
	docs, isOwn, err := c.node.own.read(c, ns)
	switch {
	case err != nil:
		return nil, false
	case !isOwn:
		return c.cluster.Statistics().MemberIndexes(c.node.member.ID, ns)
	}
	return docs.Indexes(), true
}

// checkMemberStage refuses on a member the stages that speak of the whole cluster.
func checkMemberStage(c *call, name string) error {
	switch name {
	case "$collStats", "$indexStats", "$currentOp", "$listLocalSessions", "$planCacheStats":
		return nil
	}
	if c.node.member == nil {
		return nil
	}
	return mongoerr.New(mongoerr.NotImplemented, "the mock answers %s on its mongos only", name)
}

// memberCount without a query is the fast count, orphans included.
func memberCount(c *call) (bson.D, error) {
	q, err := outside(c, func(context.Context) (query, error) { return c.readQuery("query") })
	if err != nil {
		return nil, err
	}
	if query, _ := c.document("query"); len(query) <= 5 && q.skip == 0 && q.limit == 0 {
		n := int64(0)
		for _, part := range stats(c, q.ns) {
			n += part.Docs
		}
		return bson.D{{Key: "n", Value: smallest(n)}}, nil
	}
	return countMatching(c, q)
}
