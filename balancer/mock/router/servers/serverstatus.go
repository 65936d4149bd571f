package servers

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/store/document"
)

// SharedSections returns the sections that both mongos and members have.
func SharedSections() []call.Section {
	return []call.Section{
		{Name: "asserts", Generate: assertStatus},
		{Name: "connections", Generate: connectionsStatus},
		{Name: "extra_info", Generate: func(*call.Call) any { return extraInfo() }},
		{Name: "logicalSessionRecordCache", Generate: sessionStatus},
		{Name: "network", Generate: networkStatus},
		{Name: "opLatencies", Generate: latencyStatus},
		{Name: "opWorkingTime", Generate: latencyStatus},
		{Name: "opcounters", Generate: opcounterStatus},
		{Name: "trafficRecording", Generate: func(*call.Call) any { return bson.D{{Key: "running", Value: false}} }},
		{Name: "transactions", Generate: func(*call.Call) any { return transactionStatus() }},
	}
}

// statusSections returns the sections of a mongos in the server's order: by name, except mem.
func statusSections() []call.Section {
	sections := slices.Concat(UnmeasuredSections(), SharedSections(), []call.Section{
		{Name: "defaultRWConcern", Generate: ConcernStatus},
		{Name: "hedgingMetrics", Generate: func(*call.Call) any {
			return call.ZeroLongs("numTotalOperations", "numTotalHedgedOperations", "numAdvantageouslyHedgedOperations")
		}},
		{Name: "metrics", Generate: metricsStatus},
		{Name: "queryAnalyzers", Generate: analyzersStatus},
		{Name: "sharding", Generate: shardingStatus},
		{Name: "shardingStatistics", Generate: shardingStatistics},
	})
	slices.SortFunc(sections, func(a, b call.Section) int { return cmp.Compare(a.Name, b.Name) })
	return append(sections, call.Section{Name: "mem", Generate: func(*call.Call) any { return MemoryStatus() }})
}

// ServerStatus returns the node's serverStatus. A field with the name of a section and the value 0 omits
// the section; none: 1 omits all sections that are not named.
func ServerStatus(c *call.Call) (bson.D, error) {
	process, service, sections := "mongos", bson.A{"router"}, statusSections
	if c.Node.Member != nil {
		process, service, sections = "mongod", c.Node.MemberState.Services(), c.Node.MemberState.Sections
	}
	up := c.Node.Uptime()
	reply := bson.D{
		{Key: "host", Value: c.Node.Host()},
		{Key: "version", Value: mock.FullVersion(c.Node.Release())},
		{Key: "process", Value: process},
	}
	if c.Node.Release().ShowsServiceField() {
		reply = append(reply, bson.E{Key: "service", Value: service})
	}
	reply = append(reply, bson.D{
		{Key: "pid", Value: int64(os.Getpid())},
		{Key: "uptime", Value: up.Truncate(time.Second).Seconds()}, // tools expect an integer
		{Key: "uptimeMillis", Value: up.Milliseconds()},
		{Key: "uptimeEstimate", Value: int64(up.Seconds())},
		{Key: "localTime", Value: bson.NewDateTimeFromTime(c.Cluster.Now().Add(c.Node.ClockSkew()))},
	}...)
	none := args.IsTrueOrNonzero(c.Body.Lookup("none"))
	for _, s := range sections() {
		asked := c.Body.Lookup(s.Name)
		if s.Name == "mem" && asked.IsZero() {
			asked = c.Body.Lookup("metrics") // mem is shown with metrics
		}
		if asked.IsZero() && none || !asked.IsZero() && !args.IsTruthy(asked) {
			continue
		}
		if shown := s.Generate(c); shown != nil {
			reply = append(reply, bson.E{Key: s.Name, Value: shown})
		}
	}
	return reply, nil
}

// metricsStatus returns the only metrics that the mock has: those of open cursors.
func metricsStatus(c *call.Call) any {
	open := int64(len(c.Node.Cursors.Open))
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: "moreThanOneBatch", Value: int64(0)}, {Key: "timedOut", Value: int64(0)},
		{Key: "totalOpened", Value: int64(0)},
		{Key: "open", Value: bson.D{
			{Key: "multiTarget", Value: int64(0)}, {Key: "singleTarget", Value: int64(0)},
			{Key: "pinned", Value: int64(0)}, {Key: "total", Value: open},
		}},
	}}}
}

func assertStatus(c *call.Call) any {
	return bson.D{
		{Key: "regular", Value: int32(0)}, {Key: "warning", Value: int32(0)}, {Key: "msg", Value: int32(0)},
		{Key: "user", Value: int32(c.Node.Counters.UserErrors.Load())},
		{Key: "tripwire", Value: int32(0)}, {Key: "rollovers", Value: int32(0)},
	}
}

// maxConnections is the connection limit that a mongos reports.
const maxConnections = 16000

func connectionsStatus(c *call.Call) any {
	open := int32(c.Node.Counters.OpenConnections.Load())
	return append(bson.D{
		{Key: "current", Value: open},
		{Key: "available", Value: maxConnections - open},
		{Key: "totalCreated", Value: int32(c.Node.Counters.TotalConnections.Load())},
		{Key: "rejected", Value: int32(0)},
		{Key: "active", Value: int32(c.Node.Counters.Active.Load())},
		{Key: "threaded", Value: open},
	}, call.ZeroLongs("exhaustIsMaster", "exhaustHello", "awaitingTopologyChanges", "loadBalanced")...)
}

// ConcernStatus returns the default read and write concern.
func ConcernStatus(c *call.Call) any {
	return append(c.Cluster.ClusterParameters().DefaultConcerns(),
		bson.E{Key: "localUpdateWallClockTime", Value: bson.NewDateTimeFromTime(c.Cluster.Now())})
}

func extraInfo() bson.D {
	return bson.D{{Key: "note", Value: "fields vary by platform"}, {Key: "threads", Value: int64(runtime.NumGoroutine())}}
}

func sessionStatus(c *call.Call) any {
	return bson.D{
		{Key: "activeSessionsCount", Value: int32(len(c.Node.Sessions.List()))},
		{Key: "sessionCatalogSize", Value: int32(0)},
	}
}

func networkStatus(c *call.Call) any {
	in, out := c.Node.Counters.BytesIn.Load(), c.Node.Counters.BytesOut.Load()
	return bson.D{
		{Key: "bytesIn", Value: in}, {Key: "bytesOut", Value: out},
		{Key: "physicalBytesIn", Value: in}, {Key: "physicalBytesOut", Value: out},
		{Key: "numSlowDNSOperations", Value: int64(0)}, {Key: "numSlowSSLOperations", Value: int64(0)},
		{Key: "numRequests", Value: c.Node.Counters.Requests()},
	}
}

func latencyStatus(c *call.Call) any {
	show := func(l *call.Latency) bson.D {
		return bson.D{
			{Key: "latency", Value: l.Micros.Load()}, {Key: "ops", Value: l.Count.Load()},
			{Key: "queryableEncryptionLatencyMicros", Value: int64(0)},
		}
	}
	return bson.D{
		{Key: "commands", Value: show(&c.Node.Counters.Others)}, {Key: "reads", Value: show(&c.Node.Counters.Reads)},
		{Key: "writes", Value: show(&c.Node.Counters.Writes)}, {Key: "transactions", Value: show(&call.Latency{})},
	}
}

func opcounterStatus(c *call.Call) any {
	n := c.Node.Counters
	return bson.D{
		{Key: "insert", Value: n.Inserted.Load()}, {Key: "query", Value: n.Queried.Load()},
		{Key: "update", Value: n.Updated.Load()}, {Key: "delete", Value: n.Deleted.Load()},
		{Key: "getmore", Value: n.GotMore.Load()}, {Key: "command", Value: n.Commanded.Load()},
	}
}

func shardingStatus(c *call.Call) any {
	settings, _ := c.Cluster.Balancer().RefreshSettings()
	return bson.D{
		{Key: "routerServiceEnabled", Value: true},
		{Key: "configsvrConnectionString", Value: c.Cluster.Addresses().ConfigServer()},
		{Key: "lastSeenConfigServerOpTime", Value: call.OpTime(c.Cluster.IDs().ClusterTime(), -1)},
		{Key: "lastSeenTopologyOpTime", Value: call.OpTime(c.Cluster.ConfigDB().TopologyTime(), -1)},
		{Key: "maxChunkSizeInBytes", Value: settings.MaxChunkSizeBytes},
	}
}

func shardingStatistics(c *call.Call) any {
	targeted := bson.D{}
	for _, name := range call.TargetedCommands() {
		by := c.Node.Counters.ByTarget[name]
		targeted = append(targeted, bson.E{Key: name, Value: bson.D{
			{Key: "allShards", Value: document.SmallestInt(by[call.ToAllShards].Load())}, {Key: "manyShards",
				Value: document.SmallestInt(by[call.ToManyShards].Load())},
			{Key: "oneShard", Value: document.SmallestInt(by[call.ToOneShard].Load())}, {Key: "unsharded",
				Value: document.SmallestInt(by[call.ToUnsharded].Load())},
		}})
	}
	stats := bson.D{
		{Key: "numHostsTargeted", Value: targeted},
		{Key: "catalogCache", Value: CatalogCacheStatus(c.Node.Routes.Stats())},
		{Key: "configServerInShardCache", Value: slices.Contains(c.Cluster.ShardIDs(), catalog.ConfigServerID)},
	}
	if c.Node.Release().CountsOverload() {
		stats = append(stats, bson.E{Key: "shards", Value: overloadByShard(c)})
	}
	return stats
}

// fullRetryBudget is the retry budget of a router that has retried nothing
// (shardRetryTokenBucketCapacity).
const fullRetryBudget = 1000.0

// overloadByShard counts, for each shard, the requests and the requests that the shard rejected because
// of overload. The mock's routers return the error to the client and do not retry, so the counters of
// retries stay 0.
func overloadByShard(c *call.Call) bson.D {
	ids := append(slices.Clone(c.Cluster.ShardIDs()), catalog.ConfigServerID)
	slices.Sort(ids)
	list := bson.D{}
	for _, id := range slices.Compact(ids) {
		n := c.Node.Counters.Shards[id]
		doc := bson.D{{Key: "numOperationsAttempted", Value: n.Attempted}}
		doc = append(doc, call.ZeroLongs("numOperationsRetriedAtLeastOnceDueToOverload",
			"numOperationsRetriedAtLeastOnceDueToOverloadAndSucceeded", "numRetriesDueToOverloadAttempted",
			"numRetriesRetargetedDueToOverload")...)
		doc = append(doc, bson.E{Key: "numOverloadErrorsReceived", Value: n.Overloaded})
		doc = append(doc, call.ZeroLongs("totalBackoffTimeMillis")...)
		list = append(list, bson.E{Key: string(id),
			Value: append(doc, bson.E{Key: "retryBudgetTokenBucketBalance", Value: fullRetryBudget})})
	}
	return list
}

// CatalogCacheStatus returns the statistics of a node's routing table cache: its size, and how often entries
// were stale and refreshed.
func CatalogCacheStatus(s routing.Stats) bson.D {
	cache := append(bson.D{
		{Key: "numDatabaseEntries", Value: s.Databases}, {Key: "numCollectionEntries", Value: s.Collections},
		{Key: "numIndexEntries", Value: int64(0)}, {Key: "countStaleConfigErrors", Value: s.Stale},
	}, call.ZeroLongs("totalRefreshWaitTimeMicros", "numActiveIncrementalRefreshes")...)
	return append(cache,
		bson.E{Key: "countIncrementalRefreshesStarted", Value: s.Incremental},
		bson.E{Key: "numActiveFullRefreshes", Value: int64(0)}, bson.E{Key: "countFullRefreshesStarted", Value: s.Full},
		bson.E{Key: "countFailedRefreshes", Value: s.Failed})
}

func transactionStatus() bson.D {
	doc := call.ZeroLongs("currentOpen", "currentActive", "currentInactive", "totalStarted", "totalCommitted",
		"totalAborted")
	doc = append(doc, bson.E{Key: "abortCause", Value: bson.D{}})
	doc = append(
		doc,
		call.ZeroLongs("totalContactedParticipants", "totalParticipantsAtCommit", "totalRequestsTargeted")...)
	types := bson.D{}
	for _, name := range []string{"noShards", "singleShard", "singleWriteShard", "readOnly", "twoPhaseCommit",
		"recoverWithToken"} {
		types = append(types, bson.E{Key: name, Value: call.ZeroLongs("initiated", "successful", "successfulDurationMicros")})
	}
	return append(doc, bson.E{Key: "commitTypes", Value: types})
}

// MemoryStatus returns the memory use of the process.
func MemoryStatus() bson.D {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	megabytes := int32(m.Sys >> 20)
	return bson.D{
		{Key: "bits", Value: int32(64)}, {Key: "resident", Value: megabytes}, {Key: "virtual", Value: megabytes},
		{Key: "supported", Value: true}, {Key: "secureAllocByteCount", Value: int32(0)}, {Key: "secureAllocBytesInPages",
			Value: int32(0)},
	}
}

// analyzersStatus returns the counters of query sampling.
func analyzersStatus(c *call.Call) any {
	c.Cluster.Workloads().CatchUp()
	var active, reads, writes int64
	for _, a := range c.Node.Analyzers {
		if a.PerSecond > 0 {
			active++
		}
		for _, sample := range a.Samples {
			if sample.IsWrite() {
				writes++
			} else {
				reads++
			}
		}
	}
	return bson.D{
		{Key: "activeCollections", Value: active}, {Key: "totalCollections", Value: int64(len(c.Node.Analyzers))},
		{Key: "totalSampledReadsCount", Value: reads}, {Key: "totalSampledWritesCount", Value: writes},
	}
}
