package balancer

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// roundDetails is the record of one round (spec 01 §1.7).
type roundDetails struct {
	started    time.Time
	candidates int
	moved      int
	unsharded  struct{ candidates, moved int }
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
		l.logRound(details.failed(l.now, err, l.cfg.Version))
		return pausesOf(l.cfg.Version).failed
	}
	if logged {
		l.logRound(details.done(l.now, l.cfg.Version))
	}
	return sleep
}

// steps is the body of a round. It tells whether the round goes into the
// action log, and the sleep after it.
func (l *Loop) steps(details *roundDetails) (logged bool, sleep time.Duration, err error) {
	pause := pausesOf(l.cfg.Version)
	shards, err := l.shards() // step 2
	if err != nil {
		return false, 0, err
	}
	if err := l.checkMachineIDs(shards); err != nil { // step 3
		return false, 0, err
	}
	if err := l.refreshSettings(); err != nil { // step 4
		if !errors.Is(err, errTerminated) {
			l.cfg.Logger.Warn("round skipped, settings can't be read", "id", 21877, "error", err)
		}
		return false, pause.failed, l.onlyTermination(err)
	}
	if l.cfg.Version.AtLeast(catalog.Release60) {
		if err := l.warnDraining(); err != nil { // step 5
			return false, 0, err
		}
	}
	if !l.enabled() { // step 6
		l.disableAutoMerger()
		return false, pause.disabled, nil
	}
	locked, unlock, err := l.lockRound()
	if err != nil || !locked {
		return false, pause.disabled, err
	}
	defer unlock()
	if err := l.prepareStreams(); err != nil { // steps 7 to 10
		return false, 0, err
	}
	if err := l.splitAtZones(); err != nil { // step 11
		return false, 0, err
	}

	selecting := l.now
	unsharded, candidates, err := l.selectAll() // steps 12 and 13
	if err != nil {
		return false, 0, err
	}
	details.selection = l.now.Sub(selecting)
	details.unsharded.candidates, details.candidates = len(unsharded), len(candidates)
	candidates = append(unsharded, candidates...)
	if len(candidates) == 0 { // step 14
		l.movedLast = false
		return false, pause.idle, nil
	}

	// Step 15. The throttle may be negative, and no migration infinitely long ago.
	if throttle, since := l.cfg.Parameters().MigrationsThrottling, l.now.Sub(l.lastMigration); since < throttle && pause.throttled {
		details.throttle = throttle - since
		l.sleep(details.throttle)
	}

	migrating := l.now
	if err := l.migrate(candidates, details); err != nil { // step 16
		return false, 0, err
	}
	l.lastMigration = l.now
	l.movedLast = details.moved > 0
	details.migration = l.now.Sub(migrating)
	details.cached = l.cache.len()
	if !l.movedLast { // steps 17 and 18
		return true, pause.nothingMoved, nil
	}
	return true, pause.moved, nil
}

// prepareStreams gives the secondary thread what there is to do.
func (l *Loop) prepareStreams() error {
	if l.mayAutoMerge() { // step 7
		l.enableAutoMerger()
	}
	if l.cfg.Version.Defragments() {
		if err := l.startDefragmentations(); err != nil { // step 8
			return err
		}
	}
	l.checkAutoMergeRound(&l.thread) // step 9
	l.streams.wake()                 // step 10
	return nil
}

// selectAll asks the policies in their order, which share the shards: whole
// collections, defragmentation, chunks. The order of the result is that of the
// migrations.
func (l *Loop) selectAll() (unsharded, chunks []policy.Migration, err error) {
	shards, err := l.shards()
	if err != nil {
		return nil, nil, err
	}
	if !l.cfg.Version.BalancesBySize() {
		chunks, err = l.selectByCount(shards)
		return nil, chunks, err
	}
	available := policy.NewAvailable(shards)
	if unsharded, err = l.selectUnsharded(shards, available); err != nil {
		return nil, nil, err
	}
	defragmenting := l.defragmentationMoves(available)
	if chunks, err = l.selectMigrations(shards, available); err != nil {
		return nil, nil, err
	}
	return unsharded, append(chunks, defragmenting...), nil
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

// migrate runs the chosen migrations side by side, in releases of old one
// after the other, and counts those that moved something (spec 01 §1.6).
func (l *Loop) migrate(candidates []policy.Migration, details *roundDetails) error {
	batch := len(candidates)
	if !l.cfg.Version.HasModes() {
		batch = 1
	}
	for chosen := range slices.Chunk(candidates, batch) {
		if !l.enabled() {
			l.notSent(chosen)
			return nil
		}
		results, ok := l.yield(Moves{Migrations: chosen}).([]error)
		if !ok {
			return errTerminated
		}
		for i, moveErr := range results {
			if err := l.migrated(chosen[i], moveErr, details); err != nil {
				return err
			}
		}
	}
	return nil
}

// notSent gives migrations back to the defragmentations that chose them. They
// would wait for their ends for ever otherwise, after the balancer is on again.
func (l *Loop) notSent(chosen []policy.Migration) {
	for _, m := range chosen {
		if m.Reason == policy.ReasonDefragmentation {
			l.defragmentations.migrationDone(m, mongoerr.New(mongoerr.InterruptedAtShutdown, "the balancer was switched off before the migration was sent"))
		}
	}
}

// migrated deals with the end of one migration.
func (l *Loop) migrated(m policy.Migration, moveErr error, details *roundDetails) error {
	if m.Reason == policy.ReasonDefragmentation {
		l.defragmentations.migrationDone(m, moveErr)
		l.streams.wake()
	}
	switch {
	case moveErr == nil && m.Reason == policy.ReasonUnsharded:
		details.unsharded.moved++
	case moveErr == nil:
		details.moved++
	case m.Reason == policy.ReasonDefragmentation:
		// The phase decides what becomes of it.
		l.cache.remove(m.Namespace)
	case m.Reason != policy.ReasonUnsharded && policy.TooBig(moveErr):
		// Handled counts as moved whatever became of it (spec 01 §10.1).
		l.cfg.Logger.Info("too much to move, the chunk is split or flagged", "id", 21871, "ns", m.Namespace, "from", m.From, "to", m.To, "error", moveErr)
		if err := l.handleTooBig(m); err != nil {
			return err
		}
		details.moved++
	case m.Reason != policy.ReasonUnsharded && mongoerr.Is(moveErr, mongoerr.IndexNotFound) && l.lostHashedIndex(m):
		l.cache.remove(m.Namespace)
	default:
		l.cfg.Logger.Info("migration failed", "id", 21872, "ns", m.Namespace, "from", m.From, "to", m.To, "error", moveErr)
		l.cache.remove(m.Namespace)
	}
	return nil
}

func (l *Loop) logRound(details bson.D) {
	if !l.cfg.Version.HasModes() {
		return // there is no action log yet
	}
	err := run(&l.thread, "actionlog", func(ctx context.Context, c Cluster) error {
		return c.LogAction(ctx, "balancer.round", details)
	})
	if err != nil && !errors.Is(err, errTerminated) {
		l.cfg.Logger.Warn("action log entry not written", "error", err)
	}
}

// errorOccurred is the name of the field, which had one r less up to 6.0.
func errorOccurred(r catalog.Release) string {
	if r.AtLeast(catalog.Release70) {
		return "errorOccurred"
	}
	return "errorOccured"
}

func (d roundDetails) done(now time.Time, r catalog.Release) bson.D {
	doc := bson.D{
		{Key: "executionTimeMillis", Value: int32(now.Sub(d.started).Milliseconds())},
		{Key: errorOccurred(r), Value: false},
		{Key: "candidateChunks", Value: int32(d.candidates)},
		{Key: "chunksMoved", Value: int32(d.moved)},
	}
	if !r.AtLeast(catalog.Release80) {
		return doc
	}
	return append(doc,
		bson.E{Key: "candidateUnshardedCollections", Value: int32(d.unsharded.candidates)},
		bson.E{Key: "unshardedCollectionsMoved", Value: int32(d.unsharded.moved)},
		bson.E{Key: "imbalancedCachedCollections", Value: int32(d.cached)},
		bson.E{Key: "times", Value: bson.D{
			{Key: "selectionTimeMillis", Value: d.selection.Milliseconds()},
			{Key: "throttleTimeMillis", Value: d.throttle.Milliseconds()},
			{Key: "migrationTimeMillis", Value: d.migration.Milliseconds()},
		}},
	)
}

func (d roundDetails) failed(now time.Time, err error, r catalog.Release) bson.D {
	return bson.D{
		{Key: "executionTimeMillis", Value: int32(now.Sub(d.started).Milliseconds())},
		{Key: errorOccurred(r), Value: true},
		{Key: "errmsg", Value: err.Error()},
	}
}
