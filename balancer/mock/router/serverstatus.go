package router

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/routing"
)

// section is one part of serverStatus, made when it is asked for.
type section struct {
	name string
	show func(*call) any
}

// sharedSections returns those that a mongos and the members have.
func sharedSections() []section {
	return []section{
		{"asserts", assertStatus},
		{"connections", connectionsStatus},
		{"extra_info", func(*call) any { return extraInfo() }},
		{"logicalSessionRecordCache", sessionStatus},
		{"network", networkStatus},
		{"opLatencies", latencyStatus},
		{"opWorkingTime", latencyStatus},
		{"opcounters", opcounterStatus},
		{"trafficRecording", func(*call) any { return bson.D{{Key: "running", Value: false}} }},
		{"transactions", func(*call) any { return transactionStatus() }},
	}
}

// statusSections returns those of a mongos in the server's order: by name, but
// for mem.
func statusSections() []section {
	sections := slices.Concat(idleSections(), sharedSections(), []section{
		{"defaultRWConcern", concernStatus},
		{"hedgingMetrics", func(*call) any {
			return longs("numTotalOperations", "numTotalHedgedOperations", "numAdvantageouslyHedgedOperations")
		}},
		{"metrics", metricsStatus},
		{"queryAnalyzers", analyzersStatus},
		{"sharding", shardingStatus},
		{"shardingStatistics", shardingStatistics},
	})
	slices.SortFunc(sections, func(a, b section) int { return cmp.Compare(a.name, b.name) })
	return append(sections, section{"mem", func(*call) any { return memoryStatus() }})
}

// serverStatus shows the node's counters. A section's name with 0 leaves it
// out, none: 1 leaves out all that are not named.
func serverStatus(c *call) (bson.D, error) {
	process, service, sections := "mongos", bson.A{"router"}, statusSections
	if c.node.member != nil {
		process, service, sections = "mongod", c.node.own.services(), c.node.own.sections
	}
	up := c.node.up()
	reply := bson.D{
		{Key: "host", Value: c.node.host()},
		{Key: "version", Value: c.cluster.Version()},
		{Key: "process", Value: process},
		{Key: "service", Value: service},
		{Key: "pid", Value: int64(os.Getpid())},
		{Key: "uptime", Value: up.Truncate(time.Second).Seconds()}, // tools read it as a whole number
		{Key: "uptimeMillis", Value: up.Milliseconds()},
		{Key: "uptimeEstimate", Value: int64(up.Seconds())},
		{Key: "localTime", Value: bson.NewDateTimeFromTime(c.cluster.Now())},
	}
	none := args.Truth(c.body.Lookup("none"))
	for _, s := range sections() {
		asked := c.body.Lookup(s.name)
		_, isDoc := asked.DocumentOK()
		if asked.IsZero() && none || !asked.IsZero() && !isDoc && !args.Truth(asked) {
			continue
		}
		reply = append(reply, bson.E{Key: s.name, Value: s.show(c)})
	}
	return reply, nil
}

// longs are counters that never move here.
func longs(names ...string) bson.D {
	doc := make(bson.D, len(names))
	for i, name := range names {
		doc[i] = bson.E{Key: name, Value: int64(0)}
	}
	return doc
}

// metricsStatus has the one metric that the mock keeps: the cursors that are open.
func metricsStatus(c *call) any {
	open := int64(len(c.node.cursors.open))
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: "moreThanOneBatch", Value: int64(0)}, {Key: "timedOut", Value: int64(0)},
		{Key: "totalOpened", Value: int64(0)},
		{Key: "open", Value: bson.D{
			{Key: "multiTarget", Value: int64(0)}, {Key: "singleTarget", Value: int64(0)},
			{Key: "pinned", Value: int64(0)}, {Key: "total", Value: open},
		}},
	}}}
}

func assertStatus(c *call) any {
	return bson.D{
		{Key: "regular", Value: int32(0)}, {Key: "warning", Value: int32(0)}, {Key: "msg", Value: int32(0)},
		{Key: "user", Value: int32(c.node.counters.userErrors.Load())},
		{Key: "tripwire", Value: int32(0)}, {Key: "rollovers", Value: int32(0)},
	}
}

// maxConnections is what a mongos shows as its limit.
const maxConnections = 16000

func connectionsStatus(c *call) any {
	open := int32(c.node.counters.connections.Load())
	return append(bson.D{
		{Key: "current", Value: open},
		{Key: "available", Value: maxConnections - open},
		{Key: "totalCreated", Value: int32(c.node.counters.connected.Load())},
		{Key: "rejected", Value: int32(0)},
		{Key: "active", Value: int32(c.node.counters.active.Load())},
		{Key: "threaded", Value: open},
	}, longs("exhaustIsMaster", "exhaustHello", "awaitingTopologyChanges", "loadBalanced")...)
}

func concernStatus(c *call) any {
	return append(c.cluster.ClusterParameters().DefaultConcerns(),
		bson.E{Key: "localUpdateWallClockTime", Value: bson.NewDateTimeFromTime(c.cluster.Now())})
}

func extraInfo() bson.D {
	return bson.D{{Key: "note", Value: "fields vary by platform"}, {Key: "threads", Value: int64(runtime.NumGoroutine())}}
}

func sessionStatus(c *call) any {
	return bson.D{
		{Key: "activeSessionsCount", Value: int32(len(c.node.sessions.list()))},
		{Key: "sessionCatalogSize", Value: int32(0)},
	}
}

func networkStatus(c *call) any {
	in, out := c.node.counters.bytesIn.Load(), c.node.counters.bytesOut.Load()
	return bson.D{
		{Key: "bytesIn", Value: in}, {Key: "bytesOut", Value: out},
		{Key: "physicalBytesIn", Value: in}, {Key: "physicalBytesOut", Value: out},
		{Key: "numSlowDNSOperations", Value: int64(0)}, {Key: "numSlowSSLOperations", Value: int64(0)},
		{Key: "numRequests", Value: c.node.counters.requests()},
	}
}

func latencyStatus(c *call) any {
	show := func(l *latency) bson.D {
		return bson.D{
			{Key: "latency", Value: l.micros.Load()}, {Key: "ops", Value: l.count.Load()},
			{Key: "queryableEncryptionLatencyMicros", Value: int64(0)},
		}
	}
	return bson.D{
		{Key: "commands", Value: show(&c.node.counters.others)}, {Key: "reads", Value: show(&c.node.counters.reads)},
		{Key: "writes", Value: show(&c.node.counters.writes)}, {Key: "transactions", Value: show(&latency{})},
	}
}

func opcounterStatus(c *call) any {
	n := c.node.counters
	return bson.D{
		{Key: "insert", Value: n.inserted.Load()}, {Key: "query", Value: n.queried.Load()},
		{Key: "update", Value: n.updated.Load()}, {Key: "delete", Value: n.deleted.Load()},
		{Key: "getmore", Value: n.gotMore.Load()}, {Key: "command", Value: n.commanded.Load()},
	}
}

func shardingStatus(c *call) any {
	settings, _ := c.cluster.Balancer().RefreshSettings()
	return bson.D{
		{Key: "routerServiceEnabled", Value: true},
		{Key: "configsvrConnectionString", Value: c.cluster.ConfigServer()},
		{Key: "lastSeenConfigServerOpTime", Value: opTime(c.cluster.GossipTime(), -1)},
		{Key: "lastSeenTopologyOpTime", Value: opTime(c.cluster.ConfigDB().TopologyTime(), -1)},
		{Key: "maxChunkSizeInBytes", Value: settings.MaxChunkSizeBytes},
	}
}

func shardingStatistics(c *call) any {
	targeted := bson.D{}
	for _, name := range targetedCommands() {
		by := c.node.counters.targeted[name]
		targeted = append(targeted, bson.E{Key: name, Value: bson.D{
			{Key: "allShards", Value: smallest(by[toAllShards].Load())}, {Key: "manyShards",
				Value: smallest(by[toManyShards].Load())},
			{Key: "oneShard", Value: smallest(by[toOneShard].Load())}, {Key: "unsharded",
				Value: smallest(by[toUnsharded].Load())},
		}})
	}
	return bson.D{
		{Key: "numHostsTargeted", Value: targeted},
		{Key: "catalogCache", Value: catalogCache(c.node.routes.Stats())},
		{Key: "configServerInShardCache", Value: slices.Contains(c.cluster.ShardIDs(), mock.ConfigServerID)},
	}
}

// catalogCache is what a node knows of the catalog, and how often it was out of
// date and read it again.
func catalogCache(s routing.Stats) bson.D {
	cache := append(bson.D{
		{Key: "numDatabaseEntries", Value: s.Databases}, {Key: "numCollectionEntries", Value: s.Collections},
		{Key: "numIndexEntries", Value: int64(0)}, {Key: "countStaleConfigErrors", Value: s.Stale},
	}, longs("totalRefreshWaitTimeMicros", "numActiveIncrementalRefreshes")...)
	return append(cache,
		bson.E{Key: "countIncrementalRefreshesStarted", Value: s.Incremental},
		bson.E{Key: "numActiveFullRefreshes", Value: int64(0)}, bson.E{Key: "countFullRefreshesStarted", Value: s.Full},
		bson.E{Key: "countFailedRefreshes", Value: int64(0)})
}

func transactionStatus() bson.D {
	doc := longs("currentOpen", "currentActive", "currentInactive", "totalStarted", "totalCommitted", "totalAborted")
	doc = append(doc, bson.E{Key: "abortCause", Value: bson.D{}})
	doc = append(doc, longs("totalContactedParticipants", "totalParticipantsAtCommit", "totalRequestsTargeted")...)
	types := bson.D{}
	for _, name := range []string{"noShards", "singleShard", "singleWriteShard", "readOnly", "twoPhaseCommit",
		"recoverWithToken"} {
		types = append(types, bson.E{Key: name, Value: longs("initiated", "successful", "successfulDurationMicros")})
	}
	return append(doc, bson.E{Key: "commitTypes", Value: types})
}

func memoryStatus() bson.D {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	megabytes := int32(m.Sys >> 20)
	return bson.D{
		{Key: "bits", Value: int32(64)}, {Key: "resident", Value: megabytes}, {Key: "virtual", Value: megabytes},
		{Key: "supported", Value: true}, {Key: "secureAllocByteCount", Value: int32(0)}, {Key: "secureAllocBytesInPages",
			Value: int32(0)},
	}
}
