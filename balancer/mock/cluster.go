package mock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/parameters"
	"shardsh/balancer/mock/store/filter"
)

// Config configures a Cluster. The zero value means three empty shards, virtual time from now on, and
// seed 0.
type Config struct {
	// Topology is the initial content of the cluster; nil means three empty shards.
	Topology *Topology
	// RealTime makes the cluster use real time instead of virtual time.
	RealTime bool
	// ClockSpeed makes virtual time advance on its own, by that factor faster than real time. With 0, time
	// advances only with commands and waits.
	ClockSpeed float64
	// Start is the start of virtual time; zero means now.
	Start time.Time
	// Release is the release that the cluster emulates; zero means the current one.
	Release catalog.Release
	// FCV is the feature compatibility version, such as "8.0"; empty means that of Release.
	FCV string
	// Seed is the seed of the cluster's only random generator.
	Seed uint64
	// ServerBugs selects known server bugs to reproduce.
	ServerBugs ServerBugs
	// Parameters are server parameters by name.
	Parameters map[string]any
	// ConfigServer is the host:port of the config server's only member; the default is
	// DefaultConfigServer.
	ConfigServer string
	// Location is the time zone of the config servers; nil means that of Start. A Topology may override
	// it.
	Location *time.Location
	// Logger logs the engine's events; nil discards them.
	Logger *slog.Logger
	// DBPath is the directory that stores the cluster; empty stores nothing. A cluster stored there is
	// continued; together with a Topology or a Snapshot this fails with ErrHoldsCluster.
	DBPath string
	// OnUnlock, if not nil, is called with the duration for which the lock was held.
	OnUnlock func(time.Duration)
	// Snapshot is a file made by Save that is loaded instead of a Topology.
	Snapshot string
	// Metadata is another alternative to a Topology: the metadata of a cluster, which is loaded with
	// virtual data of the cluster's sizes. Virtual time begins at the time of the metadata; Start has no
	// effect.
	Metadata *catalog.Snapshot
}

// Cluster is a mock sharded cluster.
type Cluster struct {
	*clusterSettings
	clock *clock.Clock
	ids   *ids.Source

	seed       uint64
	ctx        context.Context // ends when the cluster is closed
	cancel     context.CancelFunc
	background sync.WaitGroup

	config       *ConfigDB
	configChunks *ConfigChunks
	zones        *Zones
	routers      *Routers
	shards       shardSet
	addresses    *Addresses
	locator      *locator

	machineIDs        *MachineIDs
	membership        *ShardMembership
	clusterParameters *ClusterParameters
	databases         *Databases
	collections       *Collections
	indexes           *Indexes
	chunks            *Chunks
	migrations        *Migrations
	deleter           *RangeDeleter
	reshardings       *Reshardings
	balancer          *Balancer
	stats             *Statistics
	faults            *Faults
	failPoints        *FailPoints
	log               *configLogs
	changes           *ChangeFeed
	ttl               *ttlMonitor
	workloads         *Workloads
	env               *environment

	storage *Storage
	// onStateReplaced functions are called with the lock held when the whole state was replaced.
	onStateReplaced []func()
	// onClose functions are called with the lock held when the cluster is closed.
	onClose []func()
}

// clusterSettings is shared by all nodes of a cluster: the release, the current server parameters, the log.
type clusterSettings struct {
	release    catalog.Release
	parameters *parameters.Set
	logger     *slog.Logger
	bugs       ServerBugs
	// location is the time zone of the config server's primary.
	location *time.Location
	// installed are the releases of members and routers that differ from the cluster's.
	installed *InstalledReleases
}

// New creates a cluster and starts its balancer. Close stops it.
func New(cfg Config) (*Cluster, error) {
	c := newCluster(cfg)
	if err := setAtStart(c.parameters, cfg.Parameters); err != nil {
		return nil, err
	}
	if err := c.initialize(cfg); err != nil {
		return nil, err
	}
	if cfg.FCV != "" {
		if err := c.clusterParameters.SetFCV(cfg.FCV); err != nil {
			c.storage.close()
			return nil, fmt.Errorf("feature compatibility version: %w", err)
		}
	}
	c.start(cfg.ClockSpeed)
	return c, nil
}

// newCluster creates an empty cluster that is not running.
func newCluster(cfg Config) *Cluster {
	start := cfg.Start
	if cfg.RealTime || start.IsZero() {
		start = time.Now()
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	release := cfg.Release
	if release == (catalog.Release{}) {
		release = catalog.Release80
	}
	c := &Cluster{
		clock: clock.New(start, cfg.RealTime, logger),
		clusterSettings: &clusterSettings{
			release: release, parameters: parameters.New(release), logger: logger, bugs: cfg.ServerBugs,
			location: cmp.Or(cfg.Location, start.Location()),
		},
		seed: cfg.Seed,
	}
	c.installed = &InstalledReleases{defaults: c.clusterSettings}
	c.clock.OnUnlock = cfg.OnUnlock
	c.ids = ids.New(c.clock, cfg.Seed)
	c.makeParts(cmp.Or(cfg.ConfigServer, DefaultConfigServer))
	c.storage = &Storage{c: c, users: map[string][]byte{}}
	c.clock.OnEventsRun = c.storage.QueueChanges
	c.clock.WaitMayNeverEnd = func() bool { return c.faults.hasUnavailableNodes() || c.failPoints.hasWaiting() }
	return c
}

// Documents returns the documents of a namespace as a router returns them: each from the shard that owns
// it, without orphans. A nil filter matches all documents. It contacts no node.
func (c *Cluster) Documents(ns string, filter *filter.Filter) iter.Seq[bson.Raw] {
	return c.locator.documents(ns, filter)
}

// applyOverrides replaces the stored version and parameters by those of cfg.
func (c *Cluster) applyOverrides(cfg Config) error {
	if cfg.Release != (catalog.Release{}) {
		c.release = cfg.Release
		c.installed.clear() // all servers start with this version
	}
	return setAtStart(c.parameters, cfg.Parameters)
}

func setAtStart(p *parameters.Set, values map[string]any) error {
	for name, value := range values {
		if err := p.SetAtStart(name, value); err != nil {
			return err
		}
	}
	return nil
}

// initialize loads the initial state into the empty cluster.
func (c *Cluster) initialize(cfg Config) error {
	if cfg.Topology != nil && cfg.hasInitialState() {
		return errors.New("a topology and a snapshot cannot be combined")
	}
	if cfg.DBPath != "" {
		return c.storage.open(cfg)
	}
	return c.loadInitialState(cfg)
}

// hasInitialState reports whether the cluster starts from a snapshot or metadata.
func (c Config) hasInitialState() bool { return c.Snapshot != "" || c.Metadata != nil }

// loadInitialState fills an empty cluster from its snapshot, metadata or topology.
func (c *Cluster) loadInitialState(cfg Config) error {
	switch {
	case cfg.Snapshot != "":
		return c.openSnapshot(cfg)
	case cfg.Metadata != nil:
		return c.loadMetadata(cfg)
	}
	return c.buildFromTopology(cfg)
}

func (c *Cluster) buildFromTopology(cfg Config) error {
	topology := cfg.Topology
	if topology == nil {
		topology = DefaultTopology(3)
	}
	if topology.TimeZone != "" {
		zone, err := catalog.ParseTimeZone(topology.TimeZone)
		if err != nil {
			return fmt.Errorf("topology: timeZone: %w", err)
		}
		c.location = zone
	}
	if err := (topologyBuilder{c}).build(topology); err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	return nil
}

// Parameters returns the current server parameters.
func (c *Cluster) Parameters() *parameters.Set { return c.parameters }

// start starts the background work: events on real time or at a pace, pings, and the balancer.
func (c *Cluster) start(pace float64) {
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.balancer.ctx = c.ctx
	c.clock.Every(pingInterval, c.routers.ping)
	c.clock.Every(sessionsInterval, c.collections.ensureSessionsCollection)
	c.ttl.schedule()
	c.balancer.startEngine() // before events run concurrently: the lock is not held here
	if runs := c.clock.BackgroundRunner(pace); runs != nil {
		c.background.Go(func() { runs(c.ctx) })
	}
}

func (b *Balancer) engineParameters() balancer.Parameters {
	return balancer.Parameters{
		MigrationsThrottling: b.parameters.Milliseconds("balancerMigrationsThrottlingMs"),
		SelectionTimeout:     b.parameters.Milliseconds("balancerChunksSelectionTimeoutMs"),

		DefragmentationThrottling: b.parameters.Milliseconds("chunkDefragmentationThrottlingMS"),
		AutoMergerThrottling:      b.parameters.Milliseconds("autoMergerThrottlingMS"),
		AutoMergerInterval:        b.parameters.Seconds("autoMergerIntervalSecs"),

		SessionsChunks:        int(b.parameters.Int("minNumChunksForSessionsCollection")),
		RandomMigrations:      b.parameters.Int(parameters.RandomMigrations) != 0,
		MinReshardingDuration: b.parameters.Milliseconds("reshardingMinimumOperationDurationMillis"),
	}
}

// Close stops the balancer and waits for the cluster's goroutines.
func (c *Cluster) Close() {
	c.cancel()
	c.clock.WithLock(func() {
		c.clock.Close()
		c.balancer.stopLoop()
		for _, let := range c.onClose {
			let()
		}
	})
	c.background.Wait()
	c.storage.close()
}

// OnClose registers a function that is called when the cluster closes. The caller holds
// the lock.
func (c *Cluster) OnClose(f func()) { c.onClose = append(c.onClose, f) }

// Term returns the replication term of the config server.
func (c *Cluster) Term() int64 { return c.balancer.term }

// Status returns the status of the engine.
func (b *Balancer) Status() balancer.Status { return b.loop.Status() }

// minWire is the lowest wire version that current drivers support. Releases before 4.4 report it instead
// of their own, because otherwise no driver could connect.
const minWire = 9

// versions are the versions that the mock reports as a mongos of each release.
var versions = map[catalog.Release]struct {
	text string
	wire int32
}{
	catalog.Release24: {"2.4.14", minWire},
	catalog.Release34: {"3.4.24", minWire},
	catalog.Release36: {"3.6.23", minWire},
	catalog.Release40: {"4.0.28", minWire},
	catalog.Release42: {"4.2.25", minWire},
	catalog.Release44: {"4.4.6", 9},
	catalog.Release50: {"5.0.7", 13},
	catalog.Release60: {"6.0.19", 17},
	catalog.Release70: {"7.0.15", 21},
	catalog.Release80: {"8.0.10", 25},
	catalog.Release81: {"8.1.2", 26},
	catalog.Release82: {"8.2.1", 27},
	catalog.Release83: {"8.3.0", 28},
	catalog.Release90: {"9.0.2", 29},
}

// FullVersion returns the version that a release reports, such as "8.0.10".
func FullVersion(r catalog.Release) string {
	if _, known := r.Patch(); known {
		return r.String()
	}
	return versions[r.Line()].text
}

// Release returns the release that the cluster emulates.
func (c *Cluster) Release() catalog.Release { return c.release }

// Version returns the full version, such as "8.0.10".
func (c *Cluster) Version() string { return FullVersion(c.release) }

// VersionArray returns the version of a release as four numbers.
func VersionArray(r catalog.Release) bson.A {
	var numbers bson.A
	for part := range strings.SplitSeq(FullVersion(r), ".") {
		n, _ := strconv.ParseInt(part, 10, 32) // no error: the table has valid versions
		numbers = append(numbers, int32(n))
	}
	return append(numbers, int32(0))
}

// MaxWireVersion returns the maxWireVersion of hello in a release.
func MaxWireVersion(r catalog.Release) int32 { return versions[r.Line()].wire }
