package balancer

import (
	"errors"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// runRound runs one round and returns the sleep that follows it. The steps are numbered like the table of
// rules/01-rounds-and-settings §1.3.
func (l *Loop) runRound() time.Duration {
	details := roundDetails{started: l.now}
	l.status.begin()
	defer l.status.end()
	l.decisions.begin()

	var logged bool
	var sleep time.Duration
	err := mongoerr.CatchPanic(l.logger, "the round", func() (err error) {
		logged, sleep, err = l.runSteps(&details)
		return err
	})
	if errors.Is(err, errTerminated) || l.isTerminating() {
		return 0
	}
	l.decisions.end(l.now)
	if err != nil {
		l.cfg.Logger.Error("round failed", "id", 21865, "error", err)
		l.logRound(details.failureDoc(l.now, err, l.cfg.Release))
		return pausesFor(l.cfg.Release).failed
	}
	if logged {
		l.logRound(details.successDoc(l.now, l.cfg.Release))
	}
	return sleep
}

// runSteps runs the steps of a round. It reports whether the action log gets an entry for the round,
// and returns the sleep after the round.
func (l *Loop) runSteps(details *roundDetails) (logged bool, sleep time.Duration, err error) {
	pause := pausesFor(l.cfg.Release)
	if l.cfg.NoPauses {
		pause.moved, pause.nothingMoved, pause.throttled = 0, 0, false
	}
	shards, err := l.readShuffledShards() // step 2
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
		return false, pause.failed, onlyTermination(err)
	}
	if l.cfg.Release.FCVAtLeast(catalog.Release60) {
		if err := l.warnDraining(); err != nil { // step 5
			return false, 0, err
		}
	}
	if !l.mayBalance() { // step 6
		l.reportDisabled()
		l.disableAutoMerger()
		return false, l.disabledPause(pause.disabled), nil
	}
	locked, unlock, err := l.lockRound()
	if err != nil {
		return false, 0, err
	}
	if !locked {
		l.decisions.Add(policy.Decision{Code: policy.RoundLocked})
		return false, pause.disabled, nil
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
	candidates = slices.Concat(unsharded, candidates)
	if len(candidates) == 0 { // step 14
		l.movedLastRound = false
		return false, pause.idle, nil
	}

	// Step 15. The throttle may be negative, and since is very long if there was no migration yet.
	throttle, since := l.cfg.Parameters().MigrationsThrottling, l.now.Sub(l.lastMigration)
	if since < throttle && pause.throttled {
		details.throttle = throttle - since
		l.decisions.Add(policy.Decision{Code: policy.Throttled, Wait: details.throttle})
		l.sleep(details.throttle)
	}

	migrating := l.now
	if err := l.migrate(candidates, details); err != nil { // step 16
		return false, 0, err
	}
	l.lastMigration = l.now
	l.movedLastRound = details.moved > 0
	details.migration = l.now.Sub(migrating)
	details.cachedCollections = l.cache.len()
	if !l.movedLastRound { // steps 17 and 18
		return true, pause.nothingMoved, nil
	}
	return true, pause.moved, nil
}

// disabledPause returns the sleep after a round that may not work.
func (l *Loop) disabledPause(pause time.Duration) time.Duration {
	if l.cfg.SleepUntilWindow {
		s := l.effectiveSettings()
		if at, ever := s.NextOpen(l.now.In(l.cfg.Location)); ever {
			return max(pause, at.Sub(l.now))
		}
	}
	return pause
}

// prepareStreams queues the work of the secondary thread.
func (l *Loop) prepareStreams() error {
	if l.mayAutoMerge() { // step 7
		l.enableAutoMerger()
	}
	if l.cfg.Release.Defragments() {
		if err := l.startDefragmentations(); err != nil { // step 8
			return err
		}
	}
	l.startDueAutoMergeRound(&l.thread) // step 9
	l.streams.wake()                    // step 10
	return nil
}

// selectAll asks the policies for migrations in their order: unsharded collections, defragmentation,
// chunks. The policies share the available shards. The order of the result is the order of the
// migrations.
func (l *Loop) selectAll() (unsharded, chunks []policy.Migration, err error) {
	shards, err := l.readShuffledShards()
	if err != nil {
		return nil, nil, err
	}
	if !l.cfg.Release.BalancesBySize() {
		chunks, err = l.selectByCount(shards)
		return nil, chunks, err
	}
	available := l.available.ForNextRound(shards)
	l.available = available
	if unsharded, err = l.selectUnsharded(shards, available); err != nil {
		return nil, nil, err
	}
	defragmenting := l.defragmentationMoves(available)
	if chunks, err = l.selectMigrations(shards, available); err != nil {
		return nil, nil, err
	}
	return unsharded, append(chunks, defragmenting...), nil
}

// onlyTermination returns an error that ends the loop, and nil for others, which only end the round.
func onlyTermination(err error) error {
	if errors.Is(err, errTerminated) {
		return err
	}
	return nil
}
