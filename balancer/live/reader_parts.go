package live

// Part is a part of a Snapshot that a Reader can read. Parts are combined with |.
type Part uint64

// These are the parts. Each costs one command, unless its comment says otherwise. Only the cost of
// Chunks grows with the number of chunks.
const (
	Identity           Part = 1 << iota // release, time and id of the cluster: hello, buildInfo, config.version
	ConfigVersion                       // with Identity: the document of config.version
	Settings                            // config.settings
	Balancer                            // balancerStatus
	WindowClock                         // with Settings, if there are windows: their clock; at most two commands
	Shards                              // config.shards
	ShardSizes                          // with Shards: the sizes of shards with a maxSize, before 6.0
	Disks                               // with Shards: their volumes, with one dbStats
	ReusableSpace                       // with Sizes: files and their free space; a $collStats for each sharded collection
	Reachability                        // with Shards: which shards the mongos can't reach, with connPoolStats
	Drains                              // with Shards, from 8.3: a shardDrainingStatus for each draining shard
	Databases                           // config.databases
	Collections                         // the sharded collections in config.collections
	Unsharded                           // with Collections: also the unsharded collections, with the same command
	ChunkCounts                         // with Collections: their numbers of chunks on each shard, counted by the server
	Chunks                              // with Collections: their routing tables; several commands per collection
	ChunkFlags                          // with Chunks and ReadSince: changes without a new version (jumbo, measured sizes)
	Zones                               // config.tags
	Routers                             // config.mongos
	Sizes                               // $shardedDataDistribution, from 6.0.3
	LegacySizes                         // with Sizes: before 6.0.3, a $collStats for each collection
	CollectionSizes                     // with Sizes: a $collStats for each unsharded collection; all if a shard is down
	Rounds                              // the newest rounds in config.actionlog
	BalancerSwitches                    // when the balancer was last switched on or off, in config.actionlog
	MigrationOutcomes                   // migrations in config.changelog, counted by the server: two commands
	RecentMoves                         // the newest migrations in config.changelog
	ConfigLogs                          // the last day of config.changelog and config.actionlog, instead of the four above
	RunningMigrations                   // $currentOp, and before 5.0 config.migrations and config.locks
	RunningReshardings                  // $currentOp, config.reshardingOperations
	BalanceStatuses                     // a balancerCollectionStatus for each sharded collection
	Leases                              // shardsh.leases
	ExplanationData                     // with Chunks: data for explanations; several commands per collection and database
	Compatibility                       // with Identity: the feature compatibility version
	KeySamples                          // with Sizes and Chunks: the distribution of keys; a $sample per large collection
	MemberVersions                      // with Shards: the versions of members, read from them, beside other parts
)

// AllParts contains all parts, for Required.
const AllParts = ^Part(0)

// DefaultParts contains all parts that can be read without expensive work on the cluster. It does not
// contain BalanceStatuses, Drains, ExplanationData, ReusableSpace and KeySamples, and the parts for which
// the server counts or selects what other parts contain.
const DefaultParts = Identity | Compatibility | ConfigVersion | Settings | Balancer | WindowClock | Shards |
	ShardSizes | Disks |
	Reachability | Databases | Collections | Unsharded | Chunks | ChunkFlags | Zones | Routers | Sizes | LegacySizes |
	CollectionSizes | BalancerSwitches |
	ConfigLogs | RunningMigrations | RunningReshardings | Leases | MemberVersions

// DefaultPartsAndStatus is DefaultParts with the server's reports about balance and draining.
const DefaultPartsAndStatus = DefaultParts | BalanceStatuses | Drains

// BalancerParts is DefaultParts without logs and volumes: the data that the balancer uses.
const BalancerParts = DefaultParts &^ (ConfigLogs | BalancerSwitches | Disks)

// MapParts contains what a map of chunks shows.
const MapParts = Identity | Compatibility | Settings | Shards | Reachability | Databases | Collections | Unsharded |
	Chunks | Zones | Sizes | LegacySizes | CollectionSizes
