package balancer

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// roundDetails is the record of one round (spec 01 §1.7).
type roundDetails struct {
	started    time.Time
	candidates int
	moved      int
	cached     int
	selection  time.Duration
	throttle   time.Duration
	migration  time.Duration
}

// round runs one round and gives the sleep that follows it. Its steps are
// numbered as the table of spec 01 §1.3.
func (l *Loop) round() time.Duration {
	details := roundDetails{started: l.now}
	l.beginRound()
	defer l.endRound()

	logged, sleep, err := l.steps(&details)
	if errors.Is(err, errTerminated) || l.terminated() {
		return 0
	}
	if err != nil {
		l.cfg.Logger.Error("round failed", "id", 21865, "error", err)
		l.logRound(details.failed(l.now, err))
		return RoundInterval
	}
	if logged {
		l.logRound(details.done(l.now))
	}
	return sleep
}

// steps is the body of a round. It tells whether the round goes into the
// action log, and the sleep after it.
func (l *Loop) steps(details *roundDetails) (logged bool, sleep time.Duration, err error) {
	if _, err := l.shards(); err != nil { // step 2
		return false, 0, err
	}
	if err := l.refreshSettings(); err != nil { // step 4
		if !errors.Is(err, errTerminated) {
			l.cfg.Logger.Warn("round skipped, settings can't be read", "id", 21877, "error", err)
		}
		return false, RoundInterval, l.onlyTermination(err)
	}
	if err := l.warnDraining(); err != nil { // step 5
		return false, 0, err
	}
	if !l.enabled() { // step 6
		l.disableAutoMerger()
		return false, RoundInterval, nil
	}
	if l.mayAutoMerge() { // step 7
		l.enableAutoMerger()
	}
	if err := l.startDefragmentations(); err != nil { // step 8
		return false, 0, err
	}
	l.checkAutoMergeRound()                  // step 9
	l.streams.wake()                         // step 10
	if err := l.splitAtZones(); err != nil { // step 11
		return false, 0, err
	}

	selecting := l.now
	shards, err := l.shards() // step 12
	if err != nil {
		return false, 0, err
	}
	available := policy.NewAvailable(shards)
	defragmenting := l.defragmentationMoves(available) // step 13
	candidates, err := l.selectMigrations(shards, available)
	if err != nil {
		return false, 0, err
	}
	candidates = append(candidates, defragmenting...)
	details.selection = l.now.Sub(selecting)
	if len(candidates) == 0 { // step 14
		return false, RoundInterval, nil
	}
	details.candidates = len(candidates)

	if wait := l.cfg.Parameters().MigrationsThrottling - l.now.Sub(l.lastMigration); wait > 0 { // step 15
		details.throttle = wait
		l.sleep(wait)
	}

	migrating := l.now
	details.moved, err = l.migrate(candidates) // step 16
	if err != nil {
		return false, 0, err
	}
	l.lastMigration = l.now
	details.migration = l.now.Sub(migrating)
	details.cached = l.cache.len()
	return true, 0, nil // steps 17 and 18
}

func (l *Loop) onlyTermination(err error) error {
	if errors.Is(err, errTerminated) {
		return err
	}
	return nil
}

// shards reads and shuffles config.shards: each call draws a new order
// (spec 01 §3.1).
func (l *Loop) shards() ([]catalog.Shard, error) {
	shards, err := readShards(&l.thread)
	if err != nil {
		return nil, err
	}
	l.shuffle(len(shards), func(i, j int) { shards[i], shards[j] = shards[j], shards[i] })
	return shards, nil
}

func readShards(t *thread) ([]catalog.Shard, error) {
	return call(t, "shards", func(ctx context.Context, c Cluster) ([]catalog.Shard, error) { return c.Shards(ctx) })
}

func readSizes(t *thread, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	return call(t, "sizes", func(ctx context.Context, c Cluster) (map[string]map[catalog.ShardID]int64, error) {
		return c.DataSizes(ctx, colls)
	})
}

func (l *Loop) collections() ([]catalog.Collection, error) {
	return call(&l.thread, "collections", func(ctx context.Context, c Cluster) ([]catalog.Collection, error) {
		return c.Collections(ctx)
	})
}

func (l *Loop) routing(ns string) (Routing, error) { return readRouting(&l.thread, ns) }

func readRouting(t *thread, ns string) (Routing, error) {
	return call(t, "routing", func(ctx context.Context, c Cluster) (Routing, error) {
		return c.Routing(ctx, ns)
	})
}

// migrate runs the chosen migrations side by side and counts those that
// moved something (spec 01 §1.6).
func (l *Loop) migrate(candidates []policy.Migration) (moved int, err error) {
	if !l.enabled() {
		return 0, nil
	}
	results, ok := l.yield(Moves{Migrations: candidates}).([]error)
	if !ok {
		return 0, errTerminated
	}
	for i, moveErr := range results {
		m := candidates[i]
		if m.Reason == policy.ReasonDefragmentation {
			l.defragmentations.migrationDone(m, moveErr)
		}
		switch {
		case moveErr == nil:
			moved++
		case m.Reason == policy.ReasonDefragmentation:
			// The phase decides what becomes of it.
		case policy.TooBig(moveErr):
			// Handled counts as moved whatever became of it (spec 01 §10.1).
			if err := l.handleTooBig(m); err != nil {
				return moved, err
			}
			moved++
		default:
			l.cfg.Logger.Info("migration failed", "id", 21872, "ns", m.Namespace, "from", m.From, "to", m.To, "error", moveErr)
			l.cache.remove(m.Namespace)
		}
	}
	return moved, nil
}

func (l *Loop) logRound(details bson.D) {
	err := run(&l.thread, "actionlog", func(ctx context.Context, c Cluster) error {
		return c.LogAction(ctx, "balancer.round", details)
	})
	if err != nil && !errors.Is(err, errTerminated) {
		l.cfg.Logger.Warn("action log entry not written", "error", err)
	}
}

func (d roundDetails) done(now time.Time) bson.D {
	return bson.D{
		{Key: "executionTimeMillis", Value: int32(now.Sub(d.started).Milliseconds())},
		{Key: "errorOccurred", Value: false},
		{Key: "candidateChunks", Value: int32(d.candidates)},
		{Key: "chunksMoved", Value: int32(d.moved)},
		{Key: "candidateUnshardedCollections", Value: int32(0)},
		{Key: "unshardedCollectionsMoved", Value: int32(0)},
		{Key: "imbalancedCachedCollections", Value: int32(d.cached)},
		{Key: "times", Value: bson.D{
			{Key: "selectionTimeMillis", Value: d.selection.Milliseconds()},
			{Key: "throttleTimeMillis", Value: d.throttle.Milliseconds()},
			{Key: "migrationTimeMillis", Value: d.migration.Milliseconds()},
		}},
	}
}

func (d roundDetails) failed(now time.Time, err error) bson.D {
	return bson.D{
		{Key: "executionTimeMillis", Value: int32(now.Sub(d.started).Milliseconds())},
		{Key: "errorOccurred", Value: true},
		{Key: "errmsg", Value: err.Error()},
	}
}
