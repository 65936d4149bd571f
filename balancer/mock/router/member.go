package router

import (
	"context"
	"maps"
	"os"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// Member is a node of the cluster that is no router: the primary, and only
// member, of a shard's replica set or of the config server's.
type Member struct {
	ID catalog.ShardID
	// Set is the replica set's name, Address its host:port.
	Set, Address string
}

// Of makes the node of a cluster's member beside its router. It shows what the
// member holds itself, orphans included, and takes no writes.
func (m Member) Of(r *Router) *Router {
	return &Router{&node{
		cluster:  r.cluster,
		logger:   r.logger,
		commands: tableOf(memberHandlers(), r.cluster.Release()),
		member:   &m,
		process:  bson.NewObjectID(),
		started:  time.Now(),
		budget:   r.budget,
		cursors:  cursors{rand: r.cursors.rand, life: r.cursors.life, most: r.cursors.most},
		counters: newCounters(),

		users: r.users, authRequired: r.authRequired,
	}}
}

// memberHandlers returns what a shard or config server does, by the commands'
// names.
func memberHandlers() map[string]handler {
	all := maps.Clone(sessionHandlers())
	for _, family := range []map[string]handler{handshakeHandlers(), authenticationHandlers(), parameterHandlers()} {
		maps.Copy(all, family)
	}
	mongos := mongosHandlers()
	for _, name := range []string{
		"buildInfo", "getLog", "hostInfo", "listCommands", "features", "listIndexes",
		"find", "getMore", "killCursors", "aggregate", "distinct", "explain",
	} {
		all[name] = mongos[name]
	}
	for _, name := range []string{
		"insert", "update", "delete", "findAndModify", "create", "drop", "dropDatabase", "createIndexes", "dropIndexes",
	} {
		all[name] = refuseDirect
	}
	maps.Copy(all, map[string]handler{
		"count": memberCount, "listDatabases": memberDatabases, "listCollections": memberCollections,
		"serverStatus": memberStatus, "cleanupOrphaned": cleanupOrphaned,
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

// hello returns how a primary begins its answer, in place of a mongos's first
// two fields.
func (m *Member) hello(role string) bson.D {
	reply := bson.D{
		{Key: "hosts", Value: bson.A{m.Address}},
		{Key: "setName", Value: m.Set},
		{Key: "setVersion", Value: int32(1)},
		{Key: role, Value: true},
		{Key: "secondary", Value: false},
		{Key: "primary", Value: m.Address},
		{Key: "me", Value: m.Address},
		{Key: "readOnly", Value: false},
	}
	if m.ID == mock.ConfigServerID {
		reply = append(reply, bson.E{Key: "configsvr", Value: int32(2)})
	}
	return reply
}

// reads captures what a query is about: on the member alone where this is one.
func reads(c *call, ns string, filter *store.Filter) ([]mock.Read, error) {
	if c.node.member != nil {
		return c.request.MemberReads(c.node.member.ID, ns, filter)
	}
	return c.request.Reads(ns, filter)
}

// stats returns a collection's counters on the shards that own chunks, or on
// the member.
func stats(c *call, ns string) []mock.LocalStats {
	if c.node.member == nil {
		return c.cluster.Statistics().Collection(ns)
	}
	if own, ok := c.cluster.Statistics().OnMember(c.node.member.ID, ns); ok {
		return []mock.LocalStats{own}
	}
	return nil
}

func indexes(c *call, ns string) ([]store.IndexSpec, bool) {
	if c.node.member == nil {
		return c.cluster.Indexes().List(ns)
	}
	return c.cluster.Statistics().MemberIndexes(c.node.member.ID, ns)
}

// checkMemberStage refuses on a member the stages that speak of the whole cluster.
func checkMemberStage(c *call, name string) error {
	switch name {
	case "$collStats", "$listLocalSessions":
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

func memberDatabases(c *call) (bson.D, error) {
	list, shows := bson.A{}, showsDatabase(c)
	total, last := int64(0), -1
	for _, ns := range c.cluster.Statistics().MemberNamespaces(c.node.member.ID) {
		name, _, _ := strings.Cut(ns, ".")
		if !shows(name) {
			continue
		}
		own, _ := c.cluster.Statistics().OnMember(c.node.member.ID, ns)
		total += own.Bytes
		if last >= 0 {
			if entry := list[last].(bson.D); entry[0].Value == name {
				entry[1].Value = entry[1].Value.(int64) + own.Bytes
				continue
			}
		}
		list = append(list, bson.D{{Key: "name", Value: name}, {Key: "sizeOnDisk", Value: own.Bytes},
			{Key: "empty", Value: false}})
		last++
	}
	return bson.D{{Key: "databases", Value: list}, {Key: "totalSize", Value: total},
		{Key: "totalSizeMb", Value: total >> 20}}, nil
}

func memberCollections(c *call) (bson.D, error) {
	filter, err := c.document("filter")
	if err != nil {
		return nil, err
	}
	wanted, err := store.CompileFilter(filter)
	if err != nil {
		return nil, err
	}
	var list []bson.Raw
	shows := showsCollection(c)
	for _, ns := range c.cluster.Statistics().MemberNamespaces(c.node.member.ID) {
		name, ok := strings.CutPrefix(ns, c.db+".")
		if !ok || !shows(name) {
			continue
		}
		raw, err := bson.Marshal(bson.D{{Key: "name", Value: name}, {Key: "type", Value: "collection"}})
		if err != nil {
			return nil, err
		}
		if wanted.Match(raw) {
			list = append(list, raw)
		}
	}
	return firstBatch(c, c.db+".$cmd.listCollections", list, firstBatchDefault)
}

func memberStatus(c *call) (bson.D, error) {
	up, m := time.Since(c.node.started), c.node.member
	reply := bson.D{
		{Key: "host", Value: m.Address},
		{Key: "version", Value: c.cluster.Version()},
		{Key: "process", Value: "mongod"},
		{Key: "service", Value: bson.A{"shard"}},
		{Key: "pid", Value: int64(os.Getpid())},
		{Key: "uptime", Value: up.Seconds()},
		{Key: "uptimeMillis", Value: up.Milliseconds()},
		{Key: "uptimeEstimate", Value: int64(up.Seconds())},
		{Key: "localTime", Value: bson.NewDateTimeFromTime(c.cluster.Now())},
		{Key: "repl", Value: m.hello("isWritablePrimary")},
	}
	if m.ID == mock.ConfigServerID {
		return reply, nil
	}
	if migration := c.cluster.Migrations().Section(m.ID); migration != nil {
		reply = append(reply, bson.E{Key: "sharding", Value: bson.D{{Key: "migrations", Value: migration}}})
	}
	return append(reply, bson.E{Key: "shardingStatistics", Value: append(c.cluster.Statistics().Migrations(m.ID),
		bson.E{Key: "rangeDeleterTasks", Value: smallest(int64(c.cluster.Statistics().RangeDeletions(m.ID)))})}), nil
}
