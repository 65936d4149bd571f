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
	// Location is the time zone of the balancing window; it must be set.
	Location *time.Location
	// Rand is the engine's random generator; nil uses catalog order.
	Rand *rand.Rand
	// Parameters are the server parameters; nil means the defaults.
	Parameters func() balancer.Parameters
	// IgnoreMode makes the balancer work as if its mode were full.
	IgnoreMode bool
	// Reasons are the allowed reasons for migrations among drain, zone and imbalance; nil allows all.
	Reasons []policy.Reason
	// Contents is the model of the contents of chunks; nil means Even.
	Contents ContentsModel
	// Costs are the durations of operations; the zero value means SnapshotCosts.
	Costs Costs
	// Link returns the differences of a pair of shards from Costs; nil means none. It is called once for
	// each pair.
	Link func(from, to catalog.ShardID) Link
	// Seed is the seed of the random selections of Links.
	Seed uint64
	// DiskLimit is the share of its volume up to which a shard may be filled by migrations; 0 means no
	// limit. Donated data takes space until it is deleted, and in the donor's files forever (see
	// catalog.Volumes).
	DiskLimit float64
	// Resume makes the engine continue from the state in the snapshot: it waits for the end of the
	// migrations in progress, as their round would, and keeps the auto-merger's rounds an hour apart.
	// Otherwise the engine starts anew.
	Resume bool
	// OnDecisions is called at the end of each round with the round's decisions in order, including
	// rejected candidates; it may be nil.
	OnDecisions func(at time.Time, decisions []policy.Decision)
	// ChosenOnly omits rejected candidates from OnDecisions.
	ChosenOnly bool
	// Logger logs the engine's events; nil discards them.
	Logger *slog.Logger
	// OnProgress is called periodically and may stop the run; nil means no limit.
	OnProgress ProgressFunc
}

// Run is a simulated cluster that starts from a Snapshot. It is not safe for concurrent use.
type Run struct {
	loop          *balancer.Loop
	driver        *balancer.EventDriver
	cluster       *cluster
	cfg           Config
	eventCount    int
	movablePieces int64
	err           error // of Watch, or a NotConvergingError
}

// New starts a run at the time of the snapshot, which it does not change. It fails if the snapshot lacks
// the routing table of a sharded collection. Close releases the run.
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
		Release:            s.Release(), Parameters: cfg.Parameters, Rand: cfg.Rand,
		Logger: cfg.Logger, Location: cfg.Location, IgnoreMode: cfg.IgnoreMode, Reasons: cfg.Reasons,
		OnDecisions: cfg.OnDecisions, ChosenOnly: cfg.ChosenOnly, Revision: c.revision, FixedZones: true, Fits: c.fitsFunc(),
		SleepUntilWindow: true,
	})
	r := &Run{loop: loop, driver: balancer.NewEventDriver(c.queue, loop, c), cluster: c, cfg: cfg,
		movablePieces: c.countPieces()}
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

// Now returns the simulated time.
func (r *Run) Now() time.Time { return r.cluster.queue.Now() }

// Advance runs all events until a time and stops there.
func (r *Run) Advance(until time.Time) {
	for range r.Events(until) { // the events are not needed
	}
}

// Events runs until a time and yields the events as they happen. After an early stop, another call
// continues.
func (r *Run) Events(until time.Time) iter.Seq[Event] {
	return r.events(until, func() bool { return false })
}

// EventsToRest is like Events but ends as soon as the balancer has nothing more to do. AtRest reports
// whether this was before limit. If the balancer does not converge, Err returns a NotConvergingError.
func (r *Run) EventsToRest(limit time.Time) iter.Seq[Event] {
	return r.events(limit, func() bool { return r.failIfNotConverging() || r.AtRest() })
}

func (r *Run) events(until time.Time, isOver func() bool) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		c := r.cluster
		for r.mayContinue() && !isOver() {
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

// restRounds is the number of consecutive idle rounds after which the balancer is at rest; a throttled
// merge may follow one idle round. With random selection more rounds are needed, because another random
// choice may move a chunk between shards that are tied.
const (
	restRounds         = 3
	restRoundsWithTies = 40
)

// AtRest reports whether the balancer has nothing more to do: several rounds have chosen nothing, and no
// operation is in progress. A balancer that is off is at rest. A balancer outside of its window is not
// at rest if it would continue inside the window.
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
	case c.sawActivity:
		c.sawActivity, c.idleSinceRound = false, rounds
		return false
	case !settings.ShouldBalance(r.Now().In(r.cfg.Location)):
		return false
	}
	enough := int64(restRounds)
	if r.cfg.Rand != nil {
		enough = restRoundsWithTies
	}
	return rounds >= c.idleSinceRound+enough && !c.isDefragmenting()
}

// Snapshot returns the current state of the cluster. It shares unchanged data with the initial Snapshot.
func (r *Run) Snapshot() *catalog.Snapshot { return r.cluster.snapshot() }

// ChunkCount returns the number of a shard's chunks of the given collections, or of all if none is given.
func (r *Run) ChunkCount(shard catalog.ShardID, namespaces ...string) (n int) {
	for _, coll := range r.cluster.orderedCollections {
		if len(namespaces) == 0 || slices.Contains(namespaces, coll.entry.Namespace) {
			n += coll.chunkCount(shard)
		}
	}
	return n
}

// IsDefragmenting reports whether one of the given collections, or of all if none is given, is being
// defragmented.
func (r *Run) IsDefragmenting(namespaces ...string) bool {
	return slices.ContainsFunc(r.cluster.orderedCollections, func(coll *collection) bool {
		return coll.entry.Defragment && (len(namespaces) == 0 || slices.Contains(namespaces, coll.entry.Namespace))
	})
}
