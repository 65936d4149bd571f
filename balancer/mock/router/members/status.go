package members

import (
	"cmp"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/collections"
	"shardsh/balancer/mock/router/servers"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/store/document"
)

// memberSections returns the sections of a member's serverStatus in the server's order: by name, except
// mem. Sections that do not apply to a mock are missing; docs/boundary.md lists them.
func memberSections(id catalog.ShardID) []call.Section {
	// A member has its own globalLock section (below) and no health section.
	ofRouters := func(s call.Section) bool { return s.Name == "health" || s.Name == "globalLock" }
	sections := slices.DeleteFunc(append(servers.UnmeasuredSections(), servers.SharedSections()...), ofRouters)
	sections = append(sections, []call.Section{
		{Name: "catalogStats", Generate: catalogCounts},
		{Name: "featureCompatibilityVersion", Generate: compatibilityStatus},
		{Name: "globalLock", Generate: globalLock},
		{Name: "metrics", Generate: killedByDeletions},
		{Name: "opcountersRepl", Generate: func(*call.Call) any {
			return call.ZeroLongs("insert", "query", "update", "delete", "getmore", "command")
		}},
		{Name: "repl", Generate: func(c *call.Call) any { return replicationStatus(c) }},
		{Name: "sharding", Generate: memberSharding},
		{Name: "shardingStatistics", Generate: memberShardingStatistics},
		{Name: "storageEngine", Generate: func(*call.Call) any {
			return bson.D{{Key: "name", Value: "mock"}, {Key: "supportsCommittedReads", Value: true},
				{Key: "readOnly", Value: false}, {Key: "persistent", Value: false}}
		}},
	}...)
	if id == catalog.ConfigServerID {
		sections = append(sections, call.Section{Name: "defaultRWConcern", Generate: servers.ConcernStatus},
			call.Section{Name: "shardedIndexConsistency", Generate: indexConsistency})
	}
	slices.SortFunc(sections, func(a, b call.Section) int { return cmp.Compare(a.Name, b.Name) })
	return append(sections, call.Section{Name: "mem", Generate: func(*call.Call) any { return servers.MemoryStatus() }})
}

// catalogCounts counts the collections of the member by kind.
func catalogCounts(c *call.Call) any {
	count, capped := int32(0), int32(0)
	for _, ns := range c.Cluster.Statistics().MemberNamespaces(c.Node.Member.Shard) {
		s, _ := c.Cluster.Statistics().MemberCollection(c.Node.Member.Shard, ns)
		if count++; s.Capped {
			capped++
		}
	}
	return bson.D{
		{Key: "collections", Value: count}, {Key: "capped", Value: capped}, {Key: "clustered", Value: int32(0)},
		{Key: "timeseries", Value: int32(0)}, {Key: "views", Value: int32(0)},
		{Key: "internalCollections", Value: int32(len(internalCollections(c)))}, {Key: "internalViews", Value: int32(0)},
	}
}

// indexConsistency counts the sharded collections whose shards have different indexes.
func indexConsistency(c *call.Call) any {
	colls, _ := c.Cluster.ConfigDB().ShardedCollections() // none if the catalog is inconsistent
	differ := int64(0)
	for _, coll := range colls {
		if collections.IndexesDiffer(c.Cluster.Statistics().Collection(coll.Namespace)) {
			differ++
		}
	}
	return bson.D{{Key: "numShardedCollectionsWithInconsistentIndexes", Value: differ}}
}

func compatibilityStatus(c *call.Call) any {
	var major, minor int32
	_, _ = fmt.Sscanf(c.Node.Release().String(), "%d.%d", &major, &minor) // a release always has this form
	return bson.D{{Key: "major", Value: major}, {Key: "minor", Value: minor}, {Key: "transitioning", Value: int32(0)}}
}

func globalLock(c *call.Call) any {
	queue := func(active int32) bson.D {
		return bson.D{{Key: "total", Value: active}, {Key: "readers", Value: int32(0)}, {Key: "writers", Value: int32(0)}}
	}
	return bson.D{
		{Key: "totalTime", Value: c.Node.Uptime().Microseconds()},
		{Key: "currentQueue", Value: queue(c.Cluster.Faults().Slowness(c.Node.Member.Shard).Queue)},
		{Key: "activeClients", Value: queue(int32(c.Node.Counters.Active.Load()))},
	}
}

// replicationStatus returns the repl section of serverStatus, which has the fields of hello.
func replicationStatus(c *call.Call) bson.D {
	status := append(bson.D{c.Node.TopologyVersion()}, helloWithLag(c, "isWritablePrimary", secondaryLag(c))...)
	services := bson.D{}
	names := []string{"MultiUpdateCoordinatorService", "RenameCollectionParticipantService", "ReshardingDonorService",
		"ReshardingRecipientService", "ShardingDDLCoordinator"}
	if c.Node.Member.Shard == catalog.ConfigServerID {
		names = append(names, "ConfigsvrCoordinatorService", "ReshardingCoordinatorService")
	}
	for _, name := range names {
		services = append(services, bson.E{Key: name,
			Value: bson.D{{Key: "state", Value: "running"}, {Key: "numInstances", Value: int32(0)}}})
	}
	return append(status, bson.E{Key: "primaryOnlyServices", Value: services}, bson.E{Key: "rbid", Value: int32(1)},
		bson.E{Key: "userWriteBlockMode", Value: int32(1)})
}

func memberSharding(c *call.Call) any {
	sharding := bson.D{
		{Key: "configsvrConnectionString", Value: c.Cluster.Addresses().ConfigServer()},
		{Key: "lastSeenConfigServerOpTime", Value: call.OpTime(c.Cluster.IDs().ClusterTime(), c.Cluster.Term())},
	}
	if migration := c.Cluster.Migrations().StatusSection(c.Node.Member.Shard); migration != nil {
		sharding = append(sharding, bson.E{Key: "migrations", Value: migration})
	}
	return sharding
}

func memberShardingStatistics(c *call.Call) any {
	id := c.Node.Member.Shard
	stats := append(c.Cluster.Statistics().MigrationCounters(id),
		call.ZeroLongs("countTransitionToDedicatedConfigServerStarted",
			"countTransitionToDedicatedConfigServerCompleted", "countTransitionFromDedicatedConfigServerCompleted")...)
	databases, _ := databasesCacheDocs(c) // reads the config server's own documents
	stats = append(stats, bson.E{Key: "catalogCache",
		Value: servers.CatalogCacheStatus(routing.Stats{
			Databases: int64(len(databases)), Collections: int64(len(cachedCollections(c))),
		})})
	if id == catalog.ConfigServerID {
		stats = append(stats,
			bson.E{Key: "catalogCache::ConfigServerRoutingInfo", Value: servers.CatalogCacheStatus(routing.Stats{})})
		if c.Node.Release().FindsMaxKeyZones() {
			stats = append(stats, zoneScanCounts(c)...)
		}
	}
	if c.Node.Release().ShowsCriticalSections() {
		stats = append(stats, criticalSections(c)...)
	}
	stats = append(stats,
		bson.E{Key: "rangeDeleterTasks", Value: document.SmallestInt(int64(c.Cluster.Statistics().RangeDeletionCount(id)))},
		bson.E{Key: "configServerInShardCache", Value: slices.Contains(c.Cluster.ShardIDs(), catalog.ConfigServerID)})
	return append(stats, reshardingStatistics(c)...)
}

// criticalSections returns the critical sections that the shard is in. Collections have one during a
// migration. Databases never have one, because movePrimary takes no time. The number of waiters is
// always 0, because waiting commands run only afterwards.
func criticalSections(c *call.Call) bson.D {
	section := func(catchup, millis int64) bson.D {
		return bson.D{
			{Key: "activeWaitersCount", Value: int64(0)}, {Key: "activeCatchupCount", Value: catchup},
			{Key: "activeCommitCount", Value: int64(0)}, {Key: "totalTimeWaiting", Value: int64(0)},
			{Key: "totalTimeActiveCatchupMillis", Value: millis}, {Key: "totalTimeActiveCommitMillis", Value: int64(0)},
		}
	}
	active := int64(0)
	lasts, held := c.Cluster.Migrations().CriticalSection(c.Node.Member.Shard)
	if held {
		active = 1
	}
	return bson.D{{Key: "databaseCriticalSectionStatistics", Value: section(0, 0)},
		{Key: "collectionCriticalSectionStatistics", Value: section(active, lasts.Milliseconds())}}
}

// killedByDeletions returns the number of reads that a range deletion has killed. It is 0, because no
// read in the mock lasts that long. The counter and its section exist since 8.2.
func killedByDeletions(c *call.Call) any {
	if !c.Node.Release().EndsReadsOfOrphans() {
		return nil
	}
	return bson.D{{Key: "operation", Value: call.ZeroLongs("killedDueToRangeDeletion")}}
}

// zoneScanCounts returns the counters of zone searches that ended early.
func zoneScanCounts(c *call.Call) bson.D {
	scan := c.Cluster.Balancer().ZoneScan()
	counts := bson.D{}
	for _, n := range []struct {
		name string
		set  bool
	}{
		{"maxKeyZoneScanComplete", scan.Complete}, {"maxKeyZoneScanFoundBuggyZone", scan.Found},
		{"maxKeyZoneScanAlertEmitted", scan.Found}, {"maxKeyZoneScanErrors", scan.Failed},
	} {
		value := int64(0)
		if n.set {
			value = 1
		}
		counts = append(counts, bson.E{Key: n.name, Value: value})
	}
	return counts
}
