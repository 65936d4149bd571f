package sim

import (
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Config configures a simulation.
type Config struct {
	// Location is the time zone windows are read in; it must be set.
	Location *time.Location
	// Rand is the engine's source of chance; nil keeps catalog order.
	Rand *rand.Rand
	// Parameters are the server parameters; nil means the defaults.
	Parameters func() balancer.Parameters
	// IgnoreMode lets the balancer work as if its mode were full.
	IgnoreMode bool
	// Reasons are what chunks may move for, of drains, zones and imbalance; nil
	// means all.
	Reasons []policy.Reason
	// Contents is the model of what chunks hold; nil means Even.
	Contents ContentsModel
	// Costs are what things take; the zero value means SnapshotCosts.
	Costs Costs
	// Link tells what is different between two shards; nil means nothing. It is
	// asked once for each two.
	Link func(from, to catalog.ShardID) Link
	// Seed is that of the chance by which Links spread.
	Seed uint64
	// DiskLimit is the share of its volume that no shard may fill by what it receives; 0
	// does not ask. What a donor gave away takes its place until it is deleted, and in its
	// files for good: catalog.Volumes.
	DiskLimit float64
	// Resume makes the engine continue from the state in the snapshot: when the migrations
	// under way have ended, as the round does that they are of, and with the
	// auto-merger's rounds an hour apart. Else it starts over.
	Resume bool
	// OnDecisions is called at the end of each round with what the round chose and
	// what it did not, in order. Nil costs nothing.
	OnDecisions func(at time.Time, decisions []policy.Decision)
	// ChosenOnly has OnDecisions told of what rounds choose alone.
	ChosenOnly bool
	// Logger gets the engine's log events; nil discards them.
	Logger *slog.Logger
	// Watch is called periodically and may stop the run; nil = no limit.
	Watch Watch
}

// Run is a cluster that goes on from a Snapshot. It is not safe for concurrent
// use.
type Run struct {
	loop       *balancer.Loop
	driver     *balancer.EventDriver
	cluster    *cluster
	cfg        Config
	eventCount int
	pieces     int64 // that can be moved
	err        error // of the Watch, or a NotConvergingError
}

// New starts a run at the time of the snapshot, which it does not change. It
// fails for a snapshot that lacks the routing table of a sharded collection.
// Close frees it.
func New(s *catalog.Snapshot, cfg Config) (*Run, error) {
	if cfg.Location == nil {
		return nil, errors.New("sim: Config.Location is not set")
	}
	if cfg.Contents == nil {
		cfg.Contents = Even
	}
	if cfg.Costs == (Costs{}) {
		cfg.Costs = SnapshotCosts(s)
	}
	c, err := newCluster(s, cfg)
	if err != nil {
		return nil, err
	}
	var merged time.Time
	if cfg.Resume {
		merged = lastAutoMergeRound(s.Parts().Changes)
	}
	loop := balancer.NewLoop(balancer.Config{
		LastAutoMergeRound: merged,
		Version:            s.Release(), Parameters: cfg.Parameters, Rand: cfg.Rand,
		Logger: cfg.Logger, Location: cfg.Location, IgnoreMode: cfg.IgnoreMode, Reasons: cfg.Reasons,
		OnDecisions: cfg.OnDecisions, ChosenOnly: cfg.ChosenOnly, Revision: c.revision, FixedZones: true, Fits: c.fitsFunc(),
	})
	r := &Run{loop: loop, driver: balancer.NewEventDriver(c.queue, loop, c), cluster: c, cfg: cfg, pieces: c.countPieces()}
	if !cfg.Resume {
		r.driver.Start()
	} else if ended := c.adoptMigrations(s); ended.After(s.Time()) {
		c.queue.At(ended, r.driver.Start)
	} else {
		r.driver.Start()
	}
	return r, nil
}

// Close ends the run.
func (r *Run) Close() { r.driver.Stop() }

// Now returns the run's time.
func (r *Run) Now() time.Time { return r.cluster.queue.Now() }

// Advance runs what is due until a time and leaves the run there.
func (r *Run) Advance(until time.Time) {
	for range r.Events(until) { // nobody looks
	}
}

// Events runs until a time and yields what happens, as it happens. Whoever stops
// early can go on with another call.
func (r *Run) Events(until time.Time) iter.Seq[Event] {
	return r.events(until, func() bool { return false })
}

// EventsToRest is Events that ends as soon as the balancer has nothing more to
// do. Whether it came to rest before the limit tells AtRest. One that moves without an end
// has a NotConvergingError.
func (r *Run) EventsToRest(limit time.Time) iter.Seq[Event] {
	return r.events(limit, func() bool { return r.checkConvergence() || r.AtRest() })
}

func (r *Run) events(until time.Time, over func() bool) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		c := r.cluster
		for r.checkWatch() && !over() {
			due, ok := c.queue.NextDue()
			if !ok || due.After(until) {
				c.queue.Advance(until)
				return
			}
			c.queue.RunNext()
			if !c.drainEvents(yield) {
				return
			}
		}
	}
}

// restRounds is how many idle rounds in a row make a rest. A throttled merge may
// be one round away. Where lots are drawn it takes more: one that falls otherwise
// may have shards move a chunk that are tied with others.
const (
	restRounds         = 3
	restRoundsWithTies = 40
)

// AtRest reports whether the balancer has nothing more to do: some rounds have
// chosen nothing, and nothing is under way. A balancer that is off is at rest; one
// whose window is shut is not, as long as it would go on.
func (r *Run) AtRest() bool {
	c := r.cluster
	if c.activeOps > 0 || c.awaitsSpace() {
		return false
	}
	settings := c.settings
	if r.cfg.IgnoreMode {
		settings.Mode = catalog.ModeFull
	}
	rounds := r.loop.Status().Rounds
	switch {
	case settings.Mode == catalog.ModeOff:
		return rounds > 0
	case c.sawActivity, !settings.ShouldBalance(r.Now().In(r.cfg.Location)):
		c.sawActivity, c.idleSinceRound = false, rounds
		return false
	}
	enough := int64(restRounds)
	if r.cfg.Rand != nil {
		enough = restRoundsWithTies
	}
	return rounds >= c.idleSinceRound+enough && !c.defragmenting()
}

// Snapshot returns the cluster as it is now. It shares with the first Snapshot
// what has not changed.
func (r *Run) Snapshot() *catalog.Snapshot { return r.cluster.snapshot() }

// Chunks returns how many chunks a shard has of some collections, of all where
// none is named.
func (r *Run) Chunks(shard catalog.ShardID, namespaces ...string) (n int) {
	for _, coll := range r.cluster.order {
		if len(namespaces) == 0 || slices.Contains(namespaces, coll.entry.Namespace) {
			n += coll.count(shard)
		}
	}
	return n
}

// Defragmenting reports whether one of some collections, of all where none is
// named, is being defragmented.
func (r *Run) Defragmenting(namespaces ...string) bool {
	return slices.ContainsFunc(r.cluster.order, func(coll *collection) bool {
		return coll.entry.Defragment && (len(namespaces) == 0 || slices.Contains(namespaces, coll.entry.Namespace))
	})
}
