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

// Config makes a Cluster. The zero value is three empty shards on virtual
// time that starts now, with seed 0.
type Config struct {
	// Topology is what the cluster holds at the start; nil means three shards.
	Topology *Topology
	// RealTime lets time pass as on the wall; otherwise it is virtual.
	RealTime bool
	// Pace lets virtual time go by on its own, so many times as fast as real
	// time; 0 = it moves with commands and waits only.
	Pace float64
	// Start is where virtual time begins; zero means the wall clock's now.
	Start time.Time
	// Version is the release that the cluster emulates; zero is the current
	// one.
	Version catalog.Release
	// FCV is the feature compatibility version, such as "8.0"; empty is that of Version.
	FCV string
	// Seed feeds the one source of chance.
	Seed uint64
	// ServerBugs selects known server bugs to reproduce.
	ServerBugs ServerBugs
	// Parameters are server parameters under their own names.
	Parameters map[string]any
	// ConfigServer is host:port of the config server's only member;
	// DefaultConfigServer by default.
	ConfigServer string
	// Location is the time zone of the config servers; nil is that of Start. A Topology may
	// have one of its own.
	Location *time.Location
	// Logger gets the engine's log events; nil discards them.
	Logger *slog.Logger
	// DBPath is the directory that stores the cluster; empty stores nothing. An
	// existing cluster is continued: with a Topology or a Snapshot
	// it fails with ErrHoldsCluster.
	DBPath string
	// OnUnlock, if not nil, is called with the time that the lock was held.
	OnUnlock func(time.Duration)
	// Snapshot is a file, made by Save, to begin with instead of a Topology.
	Snapshot string
	// Metadata is a cluster to play, another thing to begin with instead of a
	// Topology: its metadata, and virtual data of its sizes. Virtual time begins at
	// its time, whatever Start says.
	Metadata *catalog.Snapshot
}

// Cluster is a mock sharded cluster.
type Cluster struct {
	*setup
	clock *clock.Clock
	ids   *ids.Source

	seed       uint64
	ctx        context.Context // ends with the cluster
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
	membership        *Membership
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
	log               *changeLog
	changes           *ChangeFeed
	ttl               *ttlMonitor
	workloads         *Workloads
	env               *environment

	storage *Storage
	// onReplaced is called with the lock held when another state took the place
	// of the whole one.
	onReplaced []func()
	// onClose is called with the lock held when the cluster closes.
	onClose []func()
}

// setup is what every node of a cluster has: a release, the server parameters
// in force, a log.
type setup struct {
	release    catalog.Release
	parameters *parameters.Set
	logger     *slog.Logger
	bugs       ServerBugs
	// location is the time zone of the config server's primary.
	location *time.Location
	// installed are the versions of members and routers that have one of their own.
	installed *Installed
}

// New makes a cluster and starts its balancer. Close ends it.
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
			return nil, fmt.Errorf("feature compatibility version: %w", err)
		}
	}
	c.start(cfg.Pace)
	return c, nil
}

// newCluster makes a cluster that holds nothing and does not run.
func newCluster(cfg Config) *Cluster {
	start := cfg.Start
	if cfg.RealTime || start.IsZero() {
		start = time.Now()
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	release := cfg.Version
	if release == (catalog.Release{}) {
		release = catalog.Release80
	}
	c := &Cluster{
		clock: clock.New(start, cfg.RealTime, logger),
		setup: &setup{
			release: release, parameters: parameters.New(release), logger: logger, bugs: cfg.ServerBugs,
			location: cmp.Or(cfg.Location, start.Location()),
		},
		seed: cfg.Seed,
	}
	c.installed = &Installed{defaults: c.setup}
	c.clock.OnUnlock = cfg.OnUnlock
	c.ids = ids.New(c.clock, cfg.Seed)
	c.makeParts(cmp.Or(cfg.ConfigServer, DefaultConfigServer))
	c.storage = &Storage{c: c, users: map[string][]byte{}}
	c.clock.OnEventsRun = c.storage.queueChanges
	c.clock.AnyNodeAway = func() bool { return c.faults.nodesAway() || c.failPoints.hasWaiting() }
	return c
}

// Documents yields the documents of a namespace that a router returns, as they
// are now: each from the shard that owns it, orphans never. A nil filter gives
// all. No node is asked for them.
func (c *Cluster) Documents(ns string, filter *filter.Filter) iter.Seq[bson.Raw] {
	return c.locator.documents(ns, filter)
}

// applyOverrides applies the version and parameters of cfg over the stored ones.
func (c *Cluster) applyOverrides(cfg Config) error {
	if cfg.Version != (catalog.Release{}) {
		c.release = cfg.Version
		c.installed.clear() // it is what all servers start with
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

// initialize fills the empty cluster with its initial state.
func (c *Cluster) initialize(cfg Config) error {
	if cfg.Topology != nil && cfg.hasInitialState() {
		return errors.New("a topology and a snapshot exclude each other")
	}
	if cfg.DBPath != "" {
		return c.storage.open(cfg)
	}
	return c.loadInitialState(cfg)
}

// hasInitialState reports whether the cluster starts from a snapshot or metadata.
func (cfg Config) hasInitialState() bool { return cfg.Snapshot != "" || cfg.Metadata != nil }

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

// Parameters returns the server parameters in force.
func (c *Cluster) Parameters() *parameters.Set { return c.parameters }

// start starts the background work: events on real time or at a pace,
// pings, the balancer.
func (c *Cluster) start(pace float64) {
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.balancer.ctx = c.ctx
	c.clock.Every(pingInterval, c.routers.ping)
	c.clock.Every(sessionsInterval, c.collections.ensureSessions)
	c.ttl.schedule()
	c.balancer.startEngine() // before events run beside it: nobody holds the lock here
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

		SessionsChunks:     int(b.parameters.Int("minNumChunksForSessionsCollection")),
		RandomMigrations:   b.parameters.Int(parameters.RandomMigrations) != 0,
		ReshardingDuration: b.parameters.Milliseconds("reshardingMinimumOperationDurationMillis"),
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
func (c *Cluster) OnClose(let func()) { c.onClose = append(c.onClose, let) }

// Term returns the replication term of the config server.
func (c *Cluster) Term() int64 { return c.balancer.term }

// Status returns what the engine reports of itself.
func (b *Balancer) Status() balancer.Status { return b.loop.Status() }

// minWire is the oldest wire version that drivers of today talk to. Releases
// before 4.4 show it instead of their own: nobody could connect otherwise.
const minWire = 9

// versions are what the mock shows of itself, as a mongos of each release.
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

// fullVersion returns what a release shows of itself.
func fullVersion(r catalog.Release) string {
	if _, known := r.Patch(); known {
		return r.String()
	}
	return versions[r.Line()].text
}

// Release returns the release the cluster behaves like.
func (c *Cluster) Release() catalog.Release { return c.release }

// Version returns the full version, as "8.0.10".
func (c *Cluster) Version() string { return fullVersion(c.release) }

// VersionArray returns the version of a release in four numbers.
func VersionArray(r catalog.Release) bson.A {
	var numbers bson.A
	for part := range strings.SplitSeq(fullVersion(r), ".") {
		n, _ := strconv.ParseInt(part, 10, 32) // a table of our own
		numbers = append(numbers, int32(n))
	}
	return append(numbers, int32(0))
}

// MaxWireVersion returns what hello announces in a release.
func MaxWireVersion(r catalog.Release) int32 { return versions[r.Line()].wire }
