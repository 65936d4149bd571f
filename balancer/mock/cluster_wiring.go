package mock

import (
	"time"

	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
)

// makeParts creates the components of an empty cluster and connects them.
func (c *Cluster) makeParts(configServer string) {
	c.config = newConfigDB(c.clock, c.ids, c.clusterSettings)
	c.zones = &Zones{clusterSettings: c.clusterSettings, config: c.config, ids: c.ids}
	c.configChunks = &ConfigChunks{clusterSettings: c.clusterSettings, config: c.config}
	c.shards = shardSet{}
	c.addresses = &Addresses{config: c.config, shards: c.shards, configHost: configServer}
	c.locator = &locator{config: c.config, configChunks: c.configChunks, shards: c.shards, addresses: c.addresses}
	c.machineIDs = &MachineIDs{ids: c.ids, config: c.config, shards: c.shards, addresses: c.addresses}
	c.log = &configLogs{}
	c.changes = &ChangeFeed{}
	c.faults = &Faults{}
	c.failPoints = newFailPoints(c.clock, c.ids)
	c.routers = &Routers{
		clusterSettings: c.clusterSettings, clock: c.clock, config: c.config, faults: c.faults,
		list: []RouterEntry{firstRouter()},
	}
	c.databases = &Databases{}
	c.collections = &Collections{}
	c.indexes = &Indexes{}
	c.ttl = &ttlMonitor{}
	c.workloads = &Workloads{}
	c.chunks = &Chunks{}
	c.deleter = &RangeDeleter{}
	c.migrations = &Migrations{}
	c.reshardings = &Reshardings{}
	c.clusterParameters = &ClusterParameters{}
	c.membership = &ShardMembership{}
	c.stats = &Statistics{}
	c.balancer = &Balancer{}
	c.env = &environment{}

	c.installed.addresses, c.installed.routers = c.addresses, c.routers
	c.installed.parameters, c.installed.balancer = c.clusterParameters, c.balancer
	*c.log = configLogs{
		clusterSettings: c.clusterSettings, clock: c.clock, config: c.config, faults: c.faults, ids: c.ids,
		changelogLimitBytes: changelogKeptBytes,
		actionlogLimitBytes: actionlogKeptBytes, placementLimitRows: maxPlacements,
	}
	*c.changes = ChangeFeed{
		clock: c.clock, config: c.config, ids: c.ids, locator: c.locator,
	}
	*c.faults = Faults{
		addresses: c.addresses, clock: c.clock, ids: c.ids, locator: c.locator, shards: c.shards,
		listener: faultEffects{c.balancer, c.migrations}, routers: c.routers,
	}
	*c.databases = Databases{
		changes: c.changes, collections: c.collections, config: c.config, faults: c.faults, ids: c.ids, log: c.log,
		membership: c.membership, shards: c.shards, zones: c.zones,
	}
	*c.collections = Collections{
		clusterSettings: c.clusterSettings, changes: c.changes, clock: c.clock, config: c.config, ids: c.ids,
		locator: c.locator, log: c.log, migrations: c.migrations, reshardings: c.reshardings, shards: c.shards,
		stats: c.stats, zones: c.zones,
	}
	*c.indexes = Indexes{
		clusterSettings: c.clusterSettings, addresses: c.addresses, changes: c.changes, config: c.config, ids: c.ids,
		migrations: c.migrations, shards: c.shards, stats: c.stats, ttl: c.ttl,
		configChunks: c.configChunks,
	}
	*c.ttl = ttlMonitor{
		clusterSettings: c.clusterSettings, clock: c.clock, env: c.env, locator: c.locator, shards: c.shards,
	}
	*c.workloads = Workloads{
		clusterSettings: c.clusterSettings, clock: c.clock, config: c.config, ids: c.ids, migrations: c.migrations,
		shards: c.shards,
	}
	*c.chunks = Chunks{
		clusterSettings: c.clusterSettings, balancer: c.balancer, clock: c.clock, collections: c.collections,
		config: c.config,
		faults: c.faults, ids: c.ids, log: c.log, migrations: c.migrations, shards: c.shards, zones: c.zones,
		configChunks: c.configChunks,
	}
	*c.deleter = RangeDeleter{
		clusterSettings: c.clusterSettings, clock: c.clock, faults: c.faults, failPoints: c.failPoints, shards: c.shards,
	}
	*c.migrations = Migrations{
		clusterSettings: c.clusterSettings, balancer: c.balancer, chunks: c.chunks, clock: c.clock, config: c.config,
		deleter: c.deleter, faults: c.faults, ids: c.ids, log: c.log, membership: c.membership, shards: c.shards,
		stats:  c.stats,
		active: map[*migration]bool{}, failPoints: c.failPoints, zones: c.zones,
	}
	*c.reshardings = Reshardings{
		clusterSettings: c.clusterSettings, changes: c.changes, clock: c.clock, collections: c.collections, config: c.config,
		databases: c.databases, faults: c.faults, ids: c.ids, locator: c.locator, log: c.log,
		membership: c.membership, migrations: c.migrations, shards: c.shards, stats: c.stats,
		failPoints: c.failPoints, zones: c.zones,
	}
	c.reshardings.reset()
	*c.clusterParameters = ClusterParameters{
		clusterSettings: c.clusterSettings, clock: c.clock, config: c.config, ids: c.ids, log: c.log,
		migrations: c.migrations, reshardings: c.reshardings,
	}
	*c.membership = ShardMembership{
		clusterSettings: c.clusterSettings, addresses: c.addresses, clusterParameters: c.clusterParameters, config: c.config,
		faults: c.faults, ids: c.ids, log: c.log, reshardings: c.reshardings, shards: c.shards,
		removed: map[string]*shard{}, zones: c.zones,
	}
	*c.stats = Statistics{
		clusterSettings: c.clusterSettings, addresses: c.addresses, clock: c.clock, collections: c.collections,
		config:    c.config,
		databases: c.databases, ids: c.ids, indexes: c.indexes, locator: c.locator, shards: c.shards,
		configChunks: c.configChunks,
	}
	*c.balancer = Balancer{
		clusterSettings: c.clusterSettings, background: &c.background, chunks: c.chunks, clock: c.clock, config: c.config,
		faults: c.faults, log: c.log, machineIDs: c.machineIDs, migrations: c.migrations, reshardings: c.reshardings,
		seed: c.seed, shards: c.shards, stats: c.stats, term: 1, zones: c.zones,
	}
	*c.env = environment{
		clusterSettings: c.clusterSettings, addresses: c.addresses, changes: c.changes, chunks: c.chunks, clock: c.clock,
		collections: c.collections, config: c.config, databases: c.databases, faults: c.faults, ids: c.ids,
		indexes: c.indexes, locator: c.locator, log: c.log, migrations: c.migrations, shards: c.shards,
		stats: c.stats, ttl: c.ttl, zones: c.zones,
		configChunks: c.configChunks,
	}
}

// Clock gives scripts access to a cluster's time. Its methods take the lock.
type Clock = clock.SharedClock

// Clock returns the clock of the cluster.
func (c *Cluster) Clock() Clock { return c.clock.Shared() }

// ClockUnderLock returns the cluster's clock for callers that hold the lock: waits, jumps, events.
func (c *Cluster) ClockUnderLock() *clock.Clock { return c.clock }

// Lock takes the cluster's lock.
func (c *Cluster) Lock() { c.clock.Lock() }

// Unlock releases the cluster's lock.
func (c *Cluster) Unlock() { c.clock.Unlock() }

// Now returns the cluster's time, for a caller that holds the lock.
func (c *Cluster) Now() time.Time { return c.clock.Now() }

// IDs returns the source of ObjectIds, UUIDs and logical times.
func (c *Cluster) IDs() *ids.Source { return c.ids }

// After schedules run in d, which is called with the lock held. Tests use it for faults at arbitrary
// times. The caller holds the lock.
func (c *Cluster) After(d time.Duration, run func()) { c.clock.After(d, run) }
