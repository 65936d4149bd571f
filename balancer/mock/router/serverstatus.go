package router

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// section is one part of serverStatus, made when it is asked for.
type section struct {
	name string
	show func(*Router) any
}

// statusSections are those of a mongos in the server's order: by name, but for
// mem.
func statusSections() []section {
	sections := append(idleSections(), []section{
		{"asserts", (*Router).assertStatus},
		{"connections", (*Router).connectionsStatus},
		{"defaultRWConcern", (*Router).concernStatus},
		{"extra_info", func(*Router) any { return extraInfo() }},
		{"hedgingMetrics", func(*Router) any {
			return longs("numTotalOperations", "numTotalHedgedOperations", "numAdvantageouslyHedgedOperations")
		}},
		{"logicalSessionRecordCache", (*Router).sessionStatus},
		{"network", (*Router).networkStatus},
		{"opLatencies", (*Router).latencyStatus},
		{"opWorkingTime", (*Router).latencyStatus},
		{"opcounters", (*Router).opcounterStatus},
		{"sharding", (*Router).shardingStatus},
		{"shardingStatistics", (*Router).shardingStatistics},
		{"trafficRecording", func(*Router) any { return bson.D{{Key: "running", Value: false}} }},
		{"transactions", func(*Router) any { return transactionStatus() }},
	}...)
	slices.SortFunc(sections, func(a, b section) int { return cmp.Compare(a.name, b.name) })
	return append(sections, section{"mem", func(*Router) any { return memoryStatus() }})
}

// serverStatus shows the mongos's counters. A section's name with 0 leaves it
// out, none: 1 leaves out all that are not named.
func (r *Router) serverStatus(c *call) (bson.D, error) {
	up := time.Since(r.started)
	reply := bson.D{
		{Key: "host", Value: routerHost},
		{Key: "version", Value: r.cluster.Version()},
		{Key: "process", Value: "mongos"},
		{Key: "service", Value: bson.A{"router"}},
		{Key: "pid", Value: int64(os.Getpid())},
		{Key: "uptime", Value: up.Seconds()},
		{Key: "uptimeMillis", Value: up.Milliseconds()},
		{Key: "uptimeEstimate", Value: int64(up.Seconds())},
		{Key: "localTime", Value: bson.NewDateTimeFromTime(r.cluster.Now())},
	}
	none := truth(c.body.Lookup("none"))
	for _, s := range statusSections() {
		asked := c.body.Lookup(s.name)
		_, isDoc := asked.DocumentOK()
		if asked.IsZero() && none || !asked.IsZero() && !isDoc && !truth(asked) {
			continue
		}
		reply = append(reply, bson.E{Key: s.name, Value: s.show(r)})
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

func (r *Router) assertStatus() any {
	return bson.D{
		{Key: "regular", Value: int32(0)}, {Key: "warning", Value: int32(0)}, {Key: "msg", Value: int32(0)},
		{Key: "user", Value: int32(r.counters.userErrors.Load())},
		{Key: "tripwire", Value: int32(0)}, {Key: "rollovers", Value: int32(0)},
	}
}

// maxConnections is what a mongos shows as its limit.
const maxConnections = 16000

func (r *Router) connectionsStatus() any {
	open := int32(r.counters.connections.Load())
	return append(bson.D{
		{Key: "current", Value: open},
		{Key: "available", Value: maxConnections - open},
		{Key: "totalCreated", Value: int32(r.counters.connected.Load())},
		{Key: "rejected", Value: int32(0)},
		{Key: "active", Value: int32(r.counters.active.Load())},
		{Key: "threaded", Value: open},
	}, longs("exhaustIsMaster", "exhaustHello", "awaitingTopologyChanges", "loadBalanced")...)
}

func (r *Router) concernStatus() any {
	return append(r.cluster.ClusterParameters().DefaultConcerns(),
		bson.E{Key: "localUpdateWallClockTime", Value: bson.NewDateTimeFromTime(r.cluster.Now())})
}

func extraInfo() bson.D {
	return bson.D{{Key: "note", Value: "fields vary by platform"}, {Key: "threads", Value: int64(runtime.NumGoroutine())}}
}

func (r *Router) sessionStatus() any {
	return bson.D{
		{Key: "activeSessionsCount", Value: int32(len(r.sessions.list()))},
		{Key: "sessionCatalogSize", Value: int32(0)},
	}
}

func (r *Router) networkStatus() any {
	in, out := r.counters.bytesIn.Load(), r.counters.bytesOut.Load()
	return bson.D{
		{Key: "bytesIn", Value: in}, {Key: "bytesOut", Value: out},
		{Key: "physicalBytesIn", Value: in}, {Key: "physicalBytesOut", Value: out},
		{Key: "numSlowDNSOperations", Value: int64(0)}, {Key: "numSlowSSLOperations", Value: int64(0)},
		{Key: "numRequests", Value: r.counters.reads.count.Load() + r.counters.writes.count.Load() + r.counters.others.count.Load()},
	}
}

func (r *Router) latencyStatus() any {
	show := func(l *latency) bson.D {
		return bson.D{
			{Key: "latency", Value: l.micros.Load()}, {Key: "ops", Value: l.count.Load()},
			{Key: "queryableEncryptionLatencyMicros", Value: int64(0)},
		}
	}
	return bson.D{
		{Key: "commands", Value: show(&r.counters.others)}, {Key: "reads", Value: show(&r.counters.reads)},
		{Key: "writes", Value: show(&r.counters.writes)}, {Key: "transactions", Value: show(&latency{})},
	}
}

func (r *Router) opcounterStatus() any {
	c := r.counters
	return bson.D{
		{Key: "insert", Value: c.inserted.Load()}, {Key: "query", Value: c.queried.Load()},
		{Key: "update", Value: c.updated.Load()}, {Key: "delete", Value: c.deleted.Load()},
		{Key: "getmore", Value: c.gotMore.Load()}, {Key: "command", Value: c.commanded.Load()},
	}
}

func (r *Router) shardingStatus() any {
	settings, _ := r.cluster.Balancer().RefreshSettings()
	opTime := func(at bson.Timestamp) bson.D {
		return bson.D{{Key: "ts", Value: at}, {Key: "t", Value: int64(-1)}}
	}
	return bson.D{
		{Key: "routerServiceEnabled", Value: true},
		{Key: "configsvrConnectionString", Value: r.cluster.ConfigServer()},
		{Key: "lastSeenConfigServerOpTime", Value: opTime(r.cluster.GossipTime())},
		{Key: "lastSeenTopologyOpTime", Value: opTime(r.cluster.ConfigDB().TopologyTime())},
		{Key: "maxChunkSizeInBytes", Value: settings.MaxChunkSizeBytes},
	}
}

func (r *Router) shardingStatistics() any {
	targeted := bson.D{}
	for _, name := range targetedCommands() {
		by := r.counters.targeted[name]
		targeted = append(targeted, bson.E{Key: name, Value: bson.D{
			{Key: "allShards", Value: smallest(by[toAllShards].Load())}, {Key: "manyShards", Value: smallest(by[toManyShards].Load())},
			{Key: "oneShard", Value: smallest(by[toOneShard].Load())}, {Key: "unsharded", Value: smallest(by[toUnsharded].Load())},
		}})
	}
	databases, collections := r.cluster.ConfigDB().Size()
	cache := append(bson.D{
		{Key: "numDatabaseEntries", Value: databases}, {Key: "numCollectionEntries", Value: collections},
		{Key: "numIndexEntries", Value: int64(0)}, {Key: "countStaleConfigErrors", Value: r.counters.stale.Load()},
	}, longs("totalRefreshWaitTimeMicros", "numActiveIncrementalRefreshes")...)
	cache = append(cache, bson.E{Key: "countIncrementalRefreshesStarted", Value: r.counters.stale.Load()})
	cache = append(cache, longs("numActiveFullRefreshes", "countFullRefreshesStarted", "countFailedRefreshes")...)
	return bson.D{
		{Key: "numHostsTargeted", Value: targeted},
		{Key: "catalogCache", Value: cache},
		{Key: "configServerInShardCache", Value: slices.Contains(r.cluster.ShardIDs(), mock.ConfigServerID)},
	}
}

func transactionStatus() bson.D {
	doc := longs("currentOpen", "currentActive", "currentInactive", "totalStarted", "totalCommitted", "totalAborted")
	doc = append(doc, bson.E{Key: "abortCause", Value: bson.D{}})
	doc = append(doc, longs("totalContactedParticipants", "totalParticipantsAtCommit", "totalRequestsTargeted")...)
	types := bson.D{}
	for _, name := range []string{"noShards", "singleShard", "singleWriteShard", "readOnly", "twoPhaseCommit", "recoverWithToken"} {
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
		{Key: "supported", Value: true}, {Key: "secureAllocByteCount", Value: int32(0)}, {Key: "secureAllocBytesInPages", Value: int32(0)},
	}
}
