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
	// DrainWarningInterval is the minimum time between two drain warnings.
	DrainWarningInterval = 10 * time.Minute
)

// errTerminated ends a round when the loop is asked to stop.
var errTerminated = errors.New("the balancer is terminating")

// Parameters are the server parameters that the loop uses, with the meaning given in
// rules/01-rounds-and-settings §1.8.
type Parameters struct {
	// MigrationsThrottling is the minimum time between the end of one batch of migrations and the start
	// of the next (balancerMigrationsThrottlingMs).
	MigrationsThrottling time.Duration
	// SelectionTimeout limits the time of one selection once the selection has a candidate
	// (balancerChunksSelectionTimeoutMs).
	SelectionTimeout time.Duration
	// DefragmentationThrottling is the minimum time before a merge of a defragmentation
	// (chunkDefragmentationThrottlingMS). AutoMergerThrottling is the minimum time before the
	// auto-merger proceeds to another shard (autoMergerThrottlingMS). Both are counted from the same
	// last action.
	DefragmentationThrottling, AutoMergerThrottling time.Duration
	// AutoMergerInterval is the minimum time between the starts of two rounds of the auto-merger
	// (autoMergerIntervalSecs).
	AutoMergerInterval time.Duration
	// SessionsChunks is the number of chunks into which releases up to 7.0 cut
	// the sessions collection (minNumChunksForSessionsCollection).
	SessionsChunks int
	// RandomMigrations is the fail point balancerShouldReturnRandomMigrations, which the server's own
	// tests use: chunks and unsharded collections move at random (rules/01-selection §6.10 and §8).
	RandomMigrations bool
	// MinReshardingDuration is the minimum duration of a resharding
	// (reshardingMinimumOperationDurationMillis).
	MinReshardingDuration time.Duration
}

// DefaultMinReshardingDuration is the server's default of MinReshardingDuration.
const DefaultMinReshardingDuration = 5 * time.Minute

// DefaultParameters returns the server's defaults.
func DefaultParameters() Parameters {
	return Parameters{
		MigrationsThrottling: time.Second, SelectionTimeout: 5 * time.Second,
		DefragmentationThrottling: time.Second, AutoMergerThrottling: 15 * time.Second, AutoMergerInterval: time.Hour,
		SessionsChunks: 1024, MinReshardingDuration: DefaultMinReshardingDuration,
	}
}

// Config configures a Loop.
type Config struct {
	// Release is the release whose balancer the loop implements; zero is the current release.
	Release catalog.Release
	// Parameters returns the server parameters. The loop calls it at every use, since the parameters
	// change at run time. Nil means the defaults.
	Parameters func() Parameters
	// Rand is the only source of randomness: the order of shards and collections. Nil keeps catalog
	// order (rules/01-selection §6.9, the unshuffled mode).
	Rand *rand.Rand
	// Logger gets the log events of the spec, with their id as an attribute.
	Logger *slog.Logger
	// Location is the time zone of balancer windows. A balancer that replaces the cluster's own uses
	// the time zone of the config server's primary. Location is mandatory, because a wrong time zone
	// would silently move data at the wrong hours.
	Location *time.Location
	// IgnoreMode lets the engine work while config.settings says that the cluster's own balancer is
	// off, which is required while an engine of ours works. Windows and the auto-merger's own switch
	// still apply.
	IgnoreMode bool
	// SleepUntilWindow sleeps until the window opens, for simulations, in which settings don't change.
	SleepUntilWindow bool
	// NoPauses starts the next round immediately after a round with candidates, for callers that limit
	// the pace themselves.
	NoPauses bool
	// Reasons restricts the reasons for moving chunks (drain, zone, imbalance); nil means all. A
	// cluster's own balancer has no such setting.
	Reasons []policy.Reason
	// Fits reports whether a shard has disk space for the part of a chunk that would move; nil
	// disables the check, as in a cluster's own balancer.
	Fits func(ns string, to catalog.ShardID, c catalog.Chunk) bool
	// OnDecisions is called, without locks held, at the end of each round with the decisions of the
	// round in order, including the decisions not to move. With nil, decisions are not collected.
	OnDecisions func(at time.Time, decisions []policy.Decision)
	// ChosenOnly passes only the chosen migrations to OnDecisions.
	ChosenOnly bool
	// Revision returns a counter of a collection that changes whenever anything changes that rounds
	// read: the collection's entry, chunks, zones and sizes, the shards and the settings. With
	// Revision, rounds skip collections in which nothing can be chosen, unless OnDecisions or the
	// Logger need the decisions about such collections. With nil, rounds read everything.
	Revision func(ns string) *uint64
	// FixedZones says that zones do not change while the engine works, so that rounds check a
	// collection without zones only once.
	FixedZones bool
	// LastAutoMergeRound is the start of the last finished round of the auto-merger: the
	// next one starts AutoMergerInterval later. Zero starts one at once.
	LastAutoMergeRound time.Time
	// OnRoundChange is called, without locks held, when a round begins or ends, so that a caller that
	// waits for a round can read Status again.
	OnRoundChange func()
}

// Status is the state of the loop that balancerStatus reports.
type Status struct {
	InRound bool
	// Rounds is the number of finished rounds, including skipped and failed rounds.
	Rounds int64
}

// Loop is the balancer's main thread as a state machine. One driver at a time calls Resume. Status,
// Settings, SetSettings and Terminate may be called from any goroutine.
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

	// mu is the one mutex of the engine. It guards the fields below, the random source, and the fields
	// of both threads and of the streams whose comments say so. While mu is held, nothing may be called
	// that may wait or take another lock: no method of a Cluster, and none of OnRoundChange, Parameters
	// and OnWake.
	mu               sync.Mutex
	settings         currentSettings
	status           roundStatus
	defragmentations defragmentations
	merger           policy.AutoMerger
}

// NewLoop returns a loop that begins with the start-up sequence (rules/01-rounds-and-settings §1.2). It
// panics if cfg has no Location, which is a programming error.
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
	l.settings = currentSettings{mu: &l.mu, value: catalog.DefaultSettingsOf(cfg.Release)}
	l.status = roundStatus{mu: &l.mu, onChange: cfg.OnRoundChange}
	l.rand = randomSource{&l.mu, cfg.Rand}
	l.decisions.cfg = &l.cfg
	l.thread.logger = cfg.Logger
	l.begin(l.main)
	l.streams = newStreams(l)
	return l
}

// withRestrictions adds the engine's restrictions (Reasons, Fits) to a situation.
func (l *Loop) withRestrictions(s policy.Situation) policy.Situation {
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
	l.streams.callOnWake()
}

// Close frees the loop and its streams. The caller must not resume either of them afterwards.
func (l *Loop) Close() {
	l.thread.Close()
	l.streams.Close()
}

// Streams returns the secondary thread of the loop. A separate driver runs it beside the loop.
func (l *Loop) Streams() *Streams { return l.streams }

// Status returns whether a round is in progress and how many rounds have ended.
func (l *Loop) Status() Status { return l.status.get() }

// Settings returns the settings last read or set, as stored in the cluster.
func (l *Loop) Settings() catalog.Settings {
	s, _ := l.settings.get()
	return s
}

// SetSettings applies settings that a command has just read, so that a round in progress sees
// balancerStop immediately (rules/01-rounds-and-settings §1.6).
func (l *Loop) SetSettings(s catalog.Settings) { l.settings.set(s) }

// mayBalance reports whether a round may work: the mode is full, the time is inside the window, and no
// termination was requested.
func (l *Loop) mayBalance() bool {
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

// main runs the main thread (rules/01-rounds-and-settings §1.2).
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
		l.sleep(l.runRound())
	}
}

// refreshSettings reads the three documents of config.settings in order. If reading fails, the settings
// that were parsed before the failure stay in effect (rules/01-rounds-and-settings §2.1).
func (l *Loop) refreshSettings() error { return l.refreshSettingsOn(&l.thread) }

func (l *Loop) refreshSettingsOn(t *thread) error {
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

// logSettings logs an unknown mode, ignored windows, and a new chunk size (rules/01-rounds-and-settings
// §2.2 and §2.6).
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
