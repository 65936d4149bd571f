package balancer

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Timings of the main thread (rules/01-rounds-and-settings §1.8).
const (
	// RoundInterval is the sleep after an idle, skipped or failed round and
	// the back-off when settings can't be read.
	RoundInterval = 10 * time.Second
	// DrainWarningInterval is the least time between two drain warnings.
	DrainWarningInterval = 10 * time.Minute
)

// errTerminated unwinds a round when the loop is asked to stop.
var errTerminated = errors.New("the balancer is terminating")

// Parameters are the server parameters the loop obeys, under the meaning of
// rules/01-rounds-and-settings §1.8.
type Parameters struct {
	// MigrationsThrottling is the least gap between the end of one batch of
	// migrations and the start of the next (balancerMigrationsThrottlingMs).
	MigrationsThrottling time.Duration
	// SelectionTimeout bounds one selection once it has a candidate
	// (balancerChunksSelectionTimeoutMs).
	SelectionTimeout time.Duration
	// DefragmentationThrottling is the least gap before a merge of a
	// defragmentation (chunkDefragmentationThrottlingMS), AutoMergerThrottling
	// that before the auto-merger goes on to another shard
	// (autoMergerThrottlingMS). Both count from the same last action.
	DefragmentationThrottling, AutoMergerThrottling time.Duration
	// AutoMergerInterval is the least time between the beginnings of two rounds
	// of the auto-merger (autoMergerIntervalSecs).
	AutoMergerInterval time.Duration
	// SessionsChunks is the number of chunks into which releases up to 7.0 cut
	// the sessions collection (minNumChunksForSessionsCollection).
	SessionsChunks int
	// RandomMigrations is the server's fail point for tests of itself
	// (balancerShouldReturnRandomMigrations): chunks and unsharded collections
	// move at random (rules/01-selection §6.10 and §8).
	RandomMigrations bool
	// ReshardingDuration is the least time a resharding takes
	// (reshardingMinimumOperationDurationMillis).
	ReshardingDuration time.Duration
}

// DefaultParameters returns the server's defaults.
func DefaultParameters() Parameters {
	return Parameters{
		MigrationsThrottling: time.Second, SelectionTimeout: 5 * time.Second,
		DefragmentationThrottling: time.Second, AutoMergerThrottling: 15 * time.Second, AutoMergerInterval: time.Hour,
		SessionsChunks: 1024, ReshardingDuration: 5 * time.Minute,
	}
}

// Config configures a Loop.
type Config struct {
	// Version is the release whose balancer this is; zero is the present one.
	Version catalog.Release
	// Parameters is asked at every use, since they change at run time. Nil
	// means the defaults.
	Parameters func() Parameters
	// Rand is the one source of chance: the order of shards and collections.
	// Nil keeps catalog order (rules/01-selection §6.9, the unshuffled mode).
	Rand *rand.Rand
	// Logger gets the log events of the spec, with their id as attribute.
	Logger *slog.Logger
	// Location is the time zone windows are read in: that of the config server's
	// primary for a balancer that stands for the cluster's own. It is mandatory,
	// since a wrong one moves data at the wrong hours without a word.
	Location *time.Location
	// IgnoreMode lets the engine work while config.settings says that the
	// cluster's own balancer is off, as it has to be beside an engine of ours.
	// Windows and the auto-merger's own switch count all the same.
	IgnoreMode bool
	// NoPauses starts the next round at once after a round with candidates, for callers
	// that pace the loop themselves.
	NoPauses bool
	// Reasons restricts the reasons for moving chunks (drain, zone, imbalance); nil means all. A
	// cluster's own balancer has no such setting.
	Reasons []policy.Reason
	// Fits reports whether a shard has disk space for the part of a chunk that would move; nil
	// disables the check, as in a cluster's own balancer.
	Fits func(ns string, to catalog.ShardID, c catalog.Chunk) bool
	// OnDecisions is called, without locks held, at the end of each round with what
	// the round chose and what it did not, in order. Nil costs nothing.
	OnDecisions func(at time.Time, decisions []policy.Decision)
	// ChosenOnly has OnDecisions told of what rounds choose alone.
	ChosenOnly bool
	// Revision returns a counter of a collection that changes whenever anything
	// does that rounds look at: its entry, chunks, zones and sizes, the shards and
	// the settings. With it, rounds pass over collections in which nothing can be
	// chosen, unless OnDecisions or the Logger are to be told of those. Nil has rounds
	// look at everything.
	Revision func(ns string) *uint64
	// FixedZones says that zones stay as they are for as long as the engine works, so
	// that rounds look only once at what has none.
	FixedZones bool
	// LastAutoMergeRound is the start of the last finished round of the auto-merger: the
	// next one starts AutoMergerInterval later. Zero starts one at once.
	LastAutoMergeRound time.Time
	// OnRoundChange is called, without locks held, when a round begins or ends, so
	// that whoever waits for a round can look at Status again.
	OnRoundChange func()
}

// Status is what balancerStatus reports of the loop.
type Status struct {
	InRound bool
	// Rounds counts finished rounds, skipped and failed ones included.
	Rounds int64
}

// Loop is the balancer's main thread as a state machine. Turn it with Resume
// from one driver at a time; Status, Settings, SetSettings and Terminate may
// be called from anywhere.
type Loop struct {
	thread
	cfg Config

	cache        imbalancedCache
	idle         idleCollections
	available    *policy.AvailableShards // of the last round
	shardShuffle struct {                // the shards in the order drawn last
		places []int
		list   []catalog.Shard
	}
	lastMigration  time.Time
	movedLastRound bool // the last round moved something: for older releases
	lastDrainCheck time.Time
	decisions      roundDecisions
	rand           randomSource

	streams *Streams

	// mu is the one mutex of the engine. It guards what follows, the random source, and
	// what both threads and the streams say that it guards. Nothing is called
	// with it held that may wait or take another lock: no method of a Cluster,
	// no OnRoundChange, Parameters or OnWake.
	mu               sync.Mutex
	settings         currentSettings
	status           roundStatus
	defragmentations defragmentations
	merger           policy.AutoMerger
}

// NewLoop returns a loop that begins with the start-up sequence (rules/01-rounds-and-settings §1.2).
// It panics without a Location, which is a mistake of the program.
func NewLoop(cfg Config) *Loop {
	if cfg.Location == nil {
		panic("balancer: Config.Location is missing")
	}
	if cfg.Parameters == nil {
		cfg.Parameters = DefaultParameters
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Loop{cfg: cfg, idle: newIdleCollections(cfg.Revision)}
	l.thread.mu, l.defragmentations.mu = &l.mu, &l.mu
	l.settings = currentSettings{mu: &l.mu, value: catalog.DefaultSettingsOf(cfg.Version)}
	l.status = roundStatus{mu: &l.mu, onChange: cfg.OnRoundChange}
	l.rand = randomSource{&l.mu, cfg.Rand}
	l.decisions.cfg = &l.cfg
	l.thread.logger = cfg.Logger
	l.begin(l.main)
	l.streams = newStreams(l)
	return l
}

// withLimits adds the engine's restrictions (Reasons, Fits) to a situation.
func (l *Loop) withLimits(s policy.Situation) policy.Situation {
	s.Reasons = l.cfg.Reasons
	if fits, ns := l.cfg.Fits, s.Namespace; fits != nil {
		s.Fits = func(to catalog.ShardID, c catalog.Chunk) bool { return fits(ns, to, c) }
	}
	return s
}

// Terminate asks the loop and its streams to stop.
func (l *Loop) Terminate() {
	l.thread.Terminate()
	l.streams.Terminate()
	l.streams.notify()
}

// Close frees the loop, and its streams, when neither will be resumed again.
func (l *Loop) Close() {
	l.thread.Close()
	l.streams.Close()
}

// Streams returns the secondary thread of the loop. It is turned by a driver of
// its own, beside the loop.
func (l *Loop) Streams() *Streams { return l.streams }

// Status reports whether a round is in progress and how many ended.
func (l *Loop) Status() Status { return l.status.get() }

// Settings returns the settings last read or set, as stored in the cluster.
func (l *Loop) Settings() catalog.Settings {
	s, _ := l.settings.get()
	return s
}

// SetSettings makes settings that a command has just read take effect, so
// that a round in progress sees balancerStop at once (rules/01-rounds-and-settings §1.6).
func (l *Loop) SetSettings(s catalog.Settings) { l.settings.set(s) }

// enabled is the enabled check of a round: mode full, inside the window, no
// termination asked for.
func (l *Loop) enabled() bool {
	s := l.effectiveSettings()
	return !l.isTerminating() && s.ShouldBalance(l.now.In(l.cfg.Location))
}

// effectiveSettings returns the settings in effect for this engine (see IgnoreMode).
func (l *Loop) effectiveSettings() catalog.Settings {
	s := l.Settings()
	if l.cfg.IgnoreMode {
		s.Mode = catalog.ModeFull
	}
	return s
}

// main is the body of the main thread (rules/01-rounds-and-settings §1.2).
func (l *Loop) main() {
	for !l.isTerminating() {
		if err := l.refreshSettings(); err == nil {
			break
		} else if !l.isTerminating() {
			l.cfg.Logger.Warn("settings can't be read, trying again", "id", 21876, "error", err)
			l.sleep(RoundInterval)
		}
	}
	for !l.isTerminating() {
		l.sleep(l.round())
	}
}

// refreshSettings reads the three documents in order. What parsed before a
// failure stays in effect (rules/01-rounds-and-settings §2.1).
func (l *Loop) refreshSettings() error { return l.refreshSettingsBy(&l.thread) }

func (l *Loop) refreshSettingsBy(t *thread) error {
	for {
		known, set := l.settings.get()
		loaded, err := call(t, "settings", func(ctx context.Context, c Cluster) (catalog.Settings, error) {
			return LoadSettings(ctx, c, known)
		})
		if errors.Is(err, errTerminated) {
			return err
		}
		if l.settings.setIfRevision(set, loaded) {
			l.logSettings(known, loaded)
			return err
		}
	}
}

// logSettings tells of a mode nobody knows, of windows that are ignored, and of a new chunk size
// (rules/01-rounds-and-settings §2.2 and §2.6).
func (l *Loop) logSettings(before, now catalog.Settings) {
	if now.UnknownMode != "" {
		l.cfg.Logger.Warn("unknown balancer mode, taken for off", "id", 7575700,
			"mode", now.UnknownMode, "supported", []catalog.Mode{catalog.ModeFull, catalog.ModeOff})
	}
	if now.DaysIgnored {
		l.cfg.Logger.Warn("the windows of weekdays need the feature compatibility version 8.3: they are ignored",
			"id", 8248700)
	}
	if before.MaxChunkSizeBytes != now.MaxChunkSizeBytes {
		l.cfg.Logger.Info("the chunk size has changed", "id", 22640,
			"oldMB", before.MaxChunkSizeBytes>>20, "newMB", now.MaxChunkSizeBytes>>20)
	}
}
