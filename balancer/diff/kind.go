package diff

// Kind is the kind of a change.
type Kind string

// Group is the kind of object that a change is about.
type Group string

// The groups, in the order in which they are reported.
const (
	Cluster     Group = "Cluster"
	Shards      Group = "Shards"
	Settings    Group = "Balancer and settings"
	Zones       Group = "Zones"
	Databases   Group = "Databases"
	Collections Group = "Collections"
	Chunks      Group = "Chunks"
	Runs        Group = "Runs of shardsh"
)

// Groups returns the groups in their order.
func Groups() []Group {
	return []Group{Cluster, Shards, Settings, Zones, Databases, Collections, Chunks, Runs}
}

// The kinds of change.
const (
	OtherCluster      Kind = "other-cluster"
	Version           Kind = "version"
	FCV               Kind = "fcv"
	MemberAdded       Kind = "member-added"
	MemberRemoved     Kind = "member-removed"
	MemberVersion     Kind = "member-version"
	MemberDown        Kind = "member-down"
	MemberUp          Kind = "member-up"
	ReplicaSetPrimary Kind = "primary"
	RouterAdded       Kind = "router-added"
	RouterRemoved     Kind = "router-removed"
	RouterVersion     Kind = "router-version"

	ShardAdded      Kind = "shard-added"
	ShardRemoved    Kind = "shard-removed"
	DrainingStarted Kind = "draining-started"
	DrainingStopped Kind = "draining-stopped"
	ShardHost       Kind = "shard-host"
	ShardLimit      Kind = "shard-limit"
	ShardDown       Kind = "shard-down"
	ShardUp         Kind = "shard-up"

	Balancer        Kind = "balancer"
	Window          Kind = "window"
	DayWindows      Kind = "day-windows"
	ChunkSize       Kind = "chunk-size"
	AutoMerge       Kind = "auto-merge"
	AutoSplit       Kind = "auto-split"
	Throttle        Kind = "throttle"
	WaitForDelete   Kind = "wait-for-delete"
	AttemptJumbo    Kind = "attempt-jumbo"
	SettingsProblem Kind = "settings-problem"

	ZoneShardAdded   Kind = "zone-shard-added"
	ZoneShardRemoved Kind = "zone-shard-removed"
	RangeAdded       Kind = "zone-range-added"
	RangeRemoved     Kind = "zone-range-removed"
	RangeZone        Kind = "zone-range-changed"

	DatabaseAdded        Kind = "database-added"
	DatabaseDropped      Kind = "database-dropped"
	DatabasePrimaryMoved Kind = "primary-moved"

	Sharded             Kind = "sharded"
	Tracked             Kind = "tracked"
	Dropped             Kind = "dropped"
	Untracked           Kind = "untracked"
	Unsharded           Kind = "unsharded"
	CollectionMoved     Kind = "collection-moved"
	Renamed             Kind = "renamed"
	KeyRefined          Kind = "key-refined"
	Resharded           Kind = "resharded"
	Recreated           Kind = "recreated"
	Unique              Kind = "unique"
	CollectionChunkSize Kind = "collection-chunk-size"
	BalancingOff        Kind = "balancing-off"
	BalancingOn         Kind = "balancing-on"
	DefragmentStarted   Kind = "defragmentation-started"
	DefragmentEnded     Kind = "defragmentation-ended"
	CollectionAutoMerge Kind = "collection-auto-merge"
	MigrationsBlocked   Kind = "migrations-blocked"
	MigrationsAllowed   Kind = "migrations-allowed"
	ReshardingStarted   Kind = "resharding-started"
	ReshardingEnded     Kind = "resharding-ended"
	IndexMissing        Kind = "index-missing"
	IndexBuilt          Kind = "index-built"

	ChunksMoved  Kind = "chunks-moved"
	ChunksSplit  Kind = "chunks-split"
	ChunksMerged Kind = "chunks-merged"
	JumboSet     Kind = "jumbo-set"
	JumboCleared Kind = "jumbo-cleared"

	RunStarted Kind = "run-started"
	RunEnded   Kind = "run-ended"
	PauseSet   Kind = "pause-set"
	PauseEnded Kind = "pause-ended"
)

// KindInfo describes a kind.
type KindInfo struct {
	Kind  Kind
	Group Group
	About string
	// logEvents are the names (what) of the log entries that record the change.
	logEvents []string
}

// Kinds returns all kinds in the order in which they are reported.
func Kinds() []KindInfo {
	configured := []string{"configureCollectionBalancing"}
	resharded := []string{"resharding.coordinator.transition"}
	return []KindInfo{
		{OtherCluster, Cluster, "the snapshots are of different clusters", nil},
		{Version, Cluster, "the version of the router that was asked", nil},
		{FCV, Cluster, "the feature compatibility version", nil},
		{MemberAdded, Cluster, "a member of a shard or of the config servers is new", nil},
		{MemberRemoved, Cluster, "a member is gone", nil},
		{MemberVersion, Cluster, "the version of a member", nil},
		{MemberDown, Cluster, "a member does not answer any more", nil},
		{MemberUp, Cluster, "a member answers again", nil},
		{ReplicaSetPrimary, Cluster, "a replica set has another primary", nil},
		{RouterAdded, Cluster, "a mongos is new", nil},
		{RouterRemoved, Cluster, "a mongos is gone", nil},
		{RouterVersion, Cluster, "the version of a mongos", nil},
		{ShardAdded, Shards, "a shard is new", []string{"addShard"}},
		{ShardRemoved, Shards, "a shard is gone", []string{"removeShard"}},
		{DrainingStarted, Shards, "a shard is draining", []string{"removeShard.start"}},
		{DrainingStopped, Shards, "a shard is not draining any more", []string{"removeShard.stopShardDraining"}},
		{ShardHost, Shards, "the replica set of a shard", nil},
		{ShardLimit, Shards, "maxSize of a shard, up to 5.0", nil},
		{ShardDown, Shards, "a shard can't be reached any more", nil},
		{ShardUp, Shards, "a shard can be reached again", nil},
		{Balancer, Settings, "the mode of the balancer: full, autoSplitOnly, off",
			[]string{"balancer.start", "balancer.stop"}},
		{Window, Settings, "the window of the balancer", nil},
		{DayWindows, Settings, "the windows of weekdays, from 8.3", nil},
		{ChunkSize, Settings, "the chunk size of the cluster", nil},
		{AutoMerge, Settings, "whether chunks are merged", nil},
		{AutoSplit, Settings, "whether chunks are split, up to 5.0", nil},
		{Throttle, Settings, "what migrations wait for on secondaries", nil},
		{WaitForDelete, Settings, "whether migrations wait for deletions", nil},
		{AttemptJumbo, Settings, "whether jumbo chunks are moved", nil},
		{SettingsProblem, Settings, "settings that the balancer can't read", nil},
		{ZoneShardAdded, Zones, "a zone has one shard more", nil},
		{ZoneShardRemoved, Zones, "a zone has one shard fewer", nil},
		{RangeAdded, Zones, "a range of keys was assigned to a zone", nil},
		{RangeRemoved, Zones, "a range of keys belongs to no zone any more", nil},
		{RangeZone, Zones, "a range of keys belongs to another zone", nil},
		{DatabaseAdded, Databases, "a database is new", []string{"createDatabase"}},
		{DatabaseDropped, Databases, "a database is gone", []string{"dropDatabase"}},
		{DatabasePrimaryMoved, Databases, "a database has another primary shard", []string{"movePrimary.commit"}},
		{Sharded, Collections, "a collection was sharded", []string{"shardCollection.end"}},
		{Tracked, Collections, "an unsharded collection is in the catalog", []string{"createCollection.end"}},
		{Dropped, Collections, "a sharded collection was dropped", []string{"dropCollection"}},
		{Untracked, Collections, "an unsharded collection is not in the catalog any more",
			[]string{"untrackCollection.end", "dropCollection"}},
		{Unsharded, Collections, "a collection is not sharded any more", resharded},
		{CollectionMoved, Collections, "an unsharded collection is on another shard", resharded},
		{Renamed, Collections, "a collection has another name", []string{"renameCollection.end"}},
		{KeyRefined, Collections, "a shard key has more fields", []string{"refineCollectionShardKey.end"}},
		{Resharded, Collections, "a collection was resharded", resharded},
		{Recreated, Collections, "a collection was dropped and sharded again", []string{"shardCollection.end"}},
		{Unique, Collections, "whether a shard key is unique", nil},
		{CollectionChunkSize, Collections, "the chunk size of a collection", configured},
		{BalancingOff, Collections, "a collection is not balanced any more", nil},
		{BalancingOn, Collections, "a collection is balanced again", nil},
		{DefragmentStarted, Collections, "a collection is defragmented", configured},
		{DefragmentEnded, Collections, "a collection is not defragmented any more", nil},
		{CollectionAutoMerge, Collections, "whether chunks of a collection are merged", configured},
		{MigrationsBlocked, Collections, "chunks of a collection may not move", []string{"setPermitMigrations"}},
		{MigrationsAllowed, Collections, "chunks of a collection may move again", []string{"setPermitMigrations"}},
		{ReshardingStarted, Collections, "a resharding is under way", resharded},
		{ReshardingEnded, Collections, "a resharding is not under way any more", resharded},
		{IndexMissing, Collections, "a shard has chunks and no index for the shard key", nil},
		{IndexBuilt, Collections, "a shard has that index", nil},
		{ChunksMoved, Chunks, "chunks are on another shard", []string{"moveChunk.commit"}},
		{ChunksSplit, Chunks, "chunks were split", []string{"split", "multi-split"}},
		{ChunksMerged, Chunks, "chunks were merged", []string{"merge", "autoMerge"}},
		{JumboSet, Chunks, "chunks were flagged jumbo", nil},
		{JumboCleared, Chunks, "chunks are not flagged jumbo any more", nil},
		{RunStarted, Runs, "a run has the lease", nil},
		{RunEnded, Runs, "the lease of a run has ended", nil},
		{PauseSet, Runs, "a user has paused all runs", nil},
		{PauseEnded, Runs, "runs are not paused any more", nil},
	}
}
