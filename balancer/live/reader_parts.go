package live

// Part is something that a Reader can read. Parts are combined with |.
type Part uint64

// The parts. Each costs one command, unless it says otherwise. None of them but
// Chunks grows with the number of chunks.
const (
	Identity        Part = 1 << iota // release, time and id of the cluster: hello, buildInfo, config.version
	Version                          // with Identity: the document of config.version
	Settings                         // config.settings
	Balancer                         // balancerStatus
	Clock                            // with Settings, if there are windows: by which clock; two commands at most
	Shards                           // config.shards
	Limits                           // with Shards: how full those with a maxSize are, before 6.0
	Disks                            // with Shards: their volumes, by a dbStats
	Reusable                         // with Sizes: files and their free space; a $collStats for each sharded collection
	Reachability                     // with Shards: which of them the mongos can't reach, by connPoolStats
	Drains                           // with Shards, from 8.3: a shardDrainingStatus for each draining shard
	Databases                        // config.databases
	Collections                      // config.collections, the sharded ones
	Unsharded                        // with Collections: the unsharded ones, too, with the same command
	Counts                           // with Collections: their chunks on each shard, counted by the server
	Chunks                           // with Collections: their routing tables; several commands a collection
	Flags                            // with Chunks and ReadSince: changes without a new version (jumbo, measured sizes)
	Zones                            // config.tags
	Routers                          // config.mongos
	Sizes                            // $shardedDataDistribution, from 6.0.3
	LegacySizes                      // with Sizes: before 6.0.3, a $collStats for each collection
	CollectionSizes                  // with Sizes: a $collStats for each unsharded collection; all if a shard is down
	Rounds                           // the newest rounds in config.actionlog
	Switches                         // when the balancer was last switched on or off, in config.actionlog
	Outcomes                         // migrations in config.changelog, counted by the server: two commands
	Moves                            // the newest migrations in config.changelog
	Logs                             // the last day of config.changelog and config.actionlog, in place of the four above
	Migrations                       // $currentOp, and before 5.0 config.migrations and config.locks
	Reshardings                      // $currentOp, config.reshardingOperations
	Statuses                         // a balancerCollectionStatus for each sharded collection
	Deletions                        // with Shards: range deletions, from the shards themselves
	Leases                           // shardsh.leases
	Causes                           // with Chunks: what explanations need; several commands a collection and database
	Compatibility                    // with Identity: the feature compatibility version
	Samples                          // with Sizes and Chunks: where keys lie; a $sample for each collection of some size
	MemberVersions                   // with Shards: what runs on members, from themselves, beside the other parts
)

// AllParts are all parts, for Required.
const AllParts = ^Part(0)

// DefaultParts is everything that can be read without asking the cluster to work out
// something: all parts but Statuses, Drains, Causes, Reusable and Samples, and but those that have the
// server count or select what the other parts contain.
const DefaultParts = Identity | Compatibility | Version | Settings | Balancer | Clock | Shards | Limits | Disks |
	Reachability | Databases | Collections | Unsharded | Chunks | Flags | Zones | Routers | Sizes | LegacySizes |
	CollectionSizes | Switches |
	Logs | Migrations | Reshardings | Deletions | Leases | MemberVersions

// DefaultPartsAndStatus is DefaultParts and what the server says about balance and draining.
const DefaultPartsAndStatus = DefaultParts | Statuses | Drains

// BalancerParts is DefaultParts without the logs and volumes: the cluster as the balancer sees it.
const BalancerParts = DefaultParts &^ (Logs | Switches | Disks)
