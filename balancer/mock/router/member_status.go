package router

import (
	"cmp"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/routing"
)

// memberSections returns the parts of a member's serverStatus in the server's
// order: by name, but for mem. Those that a mock has nothing to say on are
// missing; docs/boundary.md lists them.
func memberSections(id catalog.ShardID) []section {
	ofRouters := func(s section) bool { return s.name == "health" || s.name == "globalLock" } // the latter has more below
	sections := slices.DeleteFunc(append(idleSections(), sharedSections()...), ofRouters)
	sections = append(sections, []section{
		{"catalogStats", catalogCounts},
		{"featureCompatibilityVersion", compatibilityStatus},
		{"globalLock", globalLock},
		{"opcountersRepl", func(*call) any { return longs("insert", "query", "update", "delete", "getmore", "command") }},
		{"repl", func(c *call) any { return replicationStatus(c) }},
		{"sharding", memberSharding},
		{"shardingStatistics", memberShardingStatistics},
		{"storageEngine", func(*call) any {
			return bson.D{{Key: "name", Value: "mock"}, {Key: "supportsCommittedReads", Value: true},
				{Key: "readOnly", Value: false}, {Key: "persistent", Value: false}}
		}},
	}...)
	if id == mock.ConfigServerID {
		sections = append(sections, section{"defaultRWConcern", concernStatus},
			section{"shardedIndexConsistency", indexConsistency})
	}
	slices.SortFunc(sections, func(a, b section) int { return cmp.Compare(a.name, b.name) })
	return append(sections, section{"mem", func(*call) any { return memoryStatus() }})
}

// catalogCounts counts the collections of the member, by kind.
func catalogCounts(c *call) any {
	count, capped := int32(0), int32(0)
	for _, ns := range c.cluster.Statistics().MemberNamespaces(c.node.member.ID) {
		s, _ := c.cluster.Statistics().OnMember(c.node.member.ID, ns)
		if count++; s.Capped {
			capped++
		}
	}
	return bson.D{
		{Key: "collections", Value: count}, {Key: "capped", Value: capped}, {Key: "clustered", Value: int32(0)},
		{Key: "timeseries", Value: int32(0)}, {Key: "views", Value: int32(0)},
		{Key: "internalCollections", Value: int32(len(ownCollections(c)))}, {Key: "internalViews", Value: int32(0)},
	}
}

// indexConsistency counts the sharded collections whose shards have other indexes
// than one another.
func indexConsistency(c *call) any {
	colls, _ := c.cluster.ConfigDB().ShardedCollections() // none where the catalog makes no sense
	differ := int64(0)
	for _, coll := range colls {
		if indexesDiffer(c.cluster.Statistics().Collection(coll.Namespace)) {
			differ++
		}
	}
	return bson.D{{Key: "numShardedCollectionsWithInconsistentIndexes", Value: differ}}
}

func compatibilityStatus(c *call) any {
	var major, minor int32
	_, _ = fmt.Sscanf(c.cluster.Release().String(), "%d.%d", &major, &minor) // always has this form
	return bson.D{{Key: "major", Value: major}, {Key: "minor", Value: minor}, {Key: "transitioning", Value: int32(0)}}
}

func globalLock(c *call) any {
	queue := func(active int32) bson.D {
		return bson.D{{Key: "total", Value: active}, {Key: "readers", Value: int32(0)}, {Key: "writers", Value: int32(0)}}
	}
	return bson.D{
		{Key: "totalTime", Value: c.node.up().Microseconds()},
		{Key: "currentQueue", Value: queue(c.cluster.Faults().Slowness(c.node.member.ID).Queue)},
		{Key: "activeClients", Value: queue(int32(c.node.counters.active.Load()))},
	}
}

// replicationStatus is hello as serverStatus shows it.
func replicationStatus(c *call) bson.D {
	status := append(bson.D{c.node.topologyVersion()}, helloBehind(c, "isWritablePrimary", c.lag())...)
	services := bson.D{}
	names := []string{"MultiUpdateCoordinatorService", "RenameCollectionParticipantService", "ReshardingDonorService",
		"ReshardingRecipientService", "ShardingDDLCoordinator"}
	if c.node.member.ID == mock.ConfigServerID {
		names = append(names, "ConfigsvrCoordinatorService", "ReshardingCoordinatorService")
	}
	for _, name := range names {
		services = append(services, bson.E{Key: name,
			Value: bson.D{{Key: "state", Value: "running"}, {Key: "numInstances", Value: int32(0)}}})
	}
	return append(status, bson.E{Key: "primaryOnlyServices", Value: services}, bson.E{Key: "rbid", Value: int32(1)},
		bson.E{Key: "userWriteBlockMode", Value: int32(1)})
}

func memberSharding(c *call) any {
	sharding := bson.D{
		{Key: "configsvrConnectionString", Value: c.cluster.ConfigServer()},
		{Key: "lastSeenConfigServerOpTime", Value: opTime(c.cluster.GossipTime(), c.cluster.Term())},
	}
	if migration := c.cluster.Migrations().Section(c.node.member.ID); migration != nil {
		sharding = append(sharding, bson.E{Key: "migrations", Value: migration})
	}
	return sharding
}

func memberShardingStatistics(c *call) any {
	id := c.node.member.ID
	stats := append(c.cluster.Statistics().Migrations(id), longs("countTransitionToDedicatedConfigServerStarted",
		"countTransitionToDedicatedConfigServerCompleted", "countTransitionFromDedicatedConfigServerCompleted")...)
	databases, _ := cacheDatabases(c) // of the config server's own documents
	stats = append(stats, bson.E{Key: "catalogCache",
		Value: catalogCache(routing.Stats{
			Databases: int64(len(databases)), Collections: int64(len(cachedCollections(c))),
		})})
	if id == mock.ConfigServerID {
		stats = append(stats, bson.E{Key: "catalogCache::ConfigServerRoutingInfo", Value: catalogCache(routing.Stats{})})
	}
	stats = append(stats,
		bson.E{Key: "rangeDeleterTasks", Value: smallest(int64(c.cluster.Statistics().RangeDeletions(id)))},
		bson.E{Key: "configServerInShardCache", Value: slices.Contains(c.cluster.ShardIDs(), mock.ConfigServerID)})
	return append(stats, reshardingStatistics(c)...)
}
