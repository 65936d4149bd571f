package mock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
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
	// Version is the release whose ways the cluster has; zero is the present
	// one.
	Version catalog.Release
	// Seed feeds the one source of chance.
	Seed uint64
	// Parameters are server parameters under their own names.
	Parameters map[string]any
	// ConfigServer is host:port of the config server's only member;
	// DefaultConfigServer by default.
	ConfigServer string
	// Logger gets the engine's log events; nil discards them.
	Logger *slog.Logger
	// DBPath is the directory that keeps the cluster; empty keeps nothing. A
	// cluster that is there goes on where it was: with a Topology or a Snapshot
	// it fails with ErrHoldsCluster.
	DBPath string
	// Snapshot is a file, made by Save, to begin with instead of a Topology.
	Snapshot string
}

// Cluster is a mock sharded cluster.
type Cluster struct {
	*clock
	*ids
	*setup

	seed       uint64
	ctx        context.Context // ends with the cluster
	cancel     context.CancelFunc
	background sync.WaitGroup

	configHost string
	// addresses are where members listen, as far as they do.
	addresses map[catalog.ShardID]string
	// term is the replication term of the config server.
	term int64

	config      *ConfigDB
	shards      map[catalog.ShardID]*shard
	membership  *Membership
	collections *Collections
	migrations  *Migrations
	reshardings *Reshardings
	balancer    *Balancer
	faults      *Faults
	log         *changeLog
	changes     *ChangeFeed
	ttl         *ttlMonitor

	// users are those of the router, by database and name.
	users map[string][]byte

	disk *keeper // nil keeps nothing
	// writes were kept by a router before the cluster was opened.
	writes []KeptWrite
	// onReplaced is called with the lock held when another state took the place
	// of the whole one.
	onReplaced []func()
}

// setup is what every node of a cluster has: a release, the server parameters
// in force, a log.
type setup struct {
	release    catalog.Release
	parameters *Parameters
	logger     *slog.Logger
}

// New makes a cluster and starts its balancer. Close ends it.
func New(cfg Config) (*Cluster, error) {
	c := newCluster(cfg)
	if err := c.setParameters(cfg); err != nil {
		return nil, err
	}
	if err := c.furnish(cfg); err != nil {
		return nil, err
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
		clock:      newClock(start, cfg.RealTime),
		setup:      &setup{release: release, parameters: NewParameters(), logger: logger},
		configHost: cmp.Or(cfg.ConfigServer, DefaultConfigServer),
		seed:       cfg.Seed,
		term:       1,
	}
	c.ids = newIDs(c.clock, cfg.Seed)
	c.config = newConfigDB(c.clock, c.ids, c.setup)
	c.shards = map[catalog.ShardID]*shard{}
	c.membership = &Membership{c: c, removed: map[string]*shard{}}
	c.collections = &Collections{c: c}
	c.migrations, c.reshardings = newMigrations(c), newReshardings(c)
	c.balancer = &Balancer{c: c}
	c.faults = &Faults{c: c}
	c.log, c.changes, c.ttl = &changeLog{c}, &ChangeFeed{c: c}, &ttlMonitor{c: c}
	c.users = map[string][]byte{}
	c.ran, c.away = c.persist, c.faults.nodesAway
	return c
}

// adjust lets what was asked for now take the place of what was kept.
func (c *Cluster) adjust(cfg Config) error {
	if cfg.Version != (catalog.Release{}) {
		c.release = cfg.Version
	}
	return c.setParameters(cfg)
}

func (c *Cluster) setParameters(cfg Config) error {
	for name, value := range cfg.Parameters {
		if err := c.parameters.SetAtStart(name, value); err != nil {
			return err
		}
	}
	return nil
}

// furnish gives the empty cluster what it holds at the start.
func (c *Cluster) furnish(cfg Config) error {
	switch {
	case cfg.Topology != nil && cfg.Snapshot != "":
		return errors.New("a topology and a snapshot exclude each other")
	case cfg.DBPath != "":
		return c.openDisk(cfg)
	case cfg.Snapshot != "":
		return c.openSnapshot(cfg)
	}
	return c.buildNew(cfg)
}

func (c *Cluster) buildNew(cfg Config) error {
	topology := cfg.Topology
	if topology == nil {
		topology = DefaultTopology(3)
	}
	if err := c.builder().build(topology); err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	return nil
}

// Lock takes the cluster's lock.
func (k *clock) Lock() {
	k.mu.Lock()
	k.keepUp()
}

// Unlock gives the lock back.
func (k *clock) Unlock() {
	k.rouse()
	k.mu.Unlock()
}

// Parameters are the server parameters in force.
func (c *Cluster) Parameters() *Parameters { return c.parameters }

// start begins what goes on by itself: events on real time or at a pace,
// pings, the balancer.
func (c *Cluster) start(pace float64) {
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.after(pingInterval, c.ping)
	c.after(sessionsInterval, c.collections.watchSessions)
	c.ttl.watch()
	c.balancer.begin() // before events run beside it: nobody holds the lock here
	if c.realTime {
		c.background.Go(func() { c.pump(c.ctx) })
	} else if pace > 0 {
		c.pacing = pacing{speed: pace, upTo: time.Now()}
		c.background.Go(func() { c.keepPace(c.ctx) })
	}
}

func (b *Balancer) parameters() balancer.Parameters {
	return balancer.Parameters{
		MigrationsThrottling: b.c.parameters.Milliseconds("balancerMigrationsThrottlingMs"),
		SelectionTimeout:     b.c.parameters.Milliseconds("balancerChunksSelectionTimeoutMs"),

		DefragmentationThrottling: b.c.parameters.Milliseconds("chunkDefragmentationThrottlingMS"),
		AutoMergerThrottling:      b.c.parameters.Milliseconds("autoMergerThrottlingMS"),
		AutoMergerInterval:        b.c.parameters.Seconds("autoMergerIntervalSecs"),

		SessionsChunks:     int(b.c.parameters.Int("minNumChunksForSessionsCollection")),
		RandomMigrations:   b.c.parameters.Int(randomMigrations) != 0,
		ReshardingDuration: b.c.parameters.Milliseconds("reshardingMinimumOperationDurationMillis"),
	}
}

// Close stops the balancer and waits for the cluster's goroutines.
func (c *Cluster) Close() {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	c.balancer.end()
	c.cond.Broadcast()
	c.mu.Unlock()
	c.background.Wait()
	c.closeDisk()
}

// Term is the replication term of the config server.
func (c *Cluster) Term() int64 { return c.term }

// Status is what the engine reports of itself.
func (b *Balancer) Status() balancer.Status { return b.loop.Status() }
