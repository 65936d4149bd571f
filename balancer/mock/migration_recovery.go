package mock

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// decision is the decision about a migration in its coordinator document
// (rules/02-migration-and-metadata §5.4).
type decision uint8

const (
	undecided decision = iota
	committed
	aborted
)

// recoveryPoll is the interval at which a donor retries to end an unfinished migration.
const recoveryPoll = time.Second

// activeByDonor returns the active migrations sorted by donor.
func (ms *Migrations) activeByDonor() []*migration {
	byDonor := func(a, b *migration) int { return cmp.Compare(a.donor.id, b.donor.id) }
	return slices.SortedFunc(maps.Keys(ms.active), byDonor)
}

// abortIfPartitioned ends a migration whose shards cannot reach each other.
func (m *migration) abortIfPartitioned() {
	switch err := m.ms.faults.checkReachable(m.donor.id, m.recipient.id); {
	case m.donor.down:
		m.abandon(m.ms.faults.checkReachable(configShard, m.donor.id))
	case err == nil || m.decision == committed || !m.cloning:
		// Before the clone the donor's next step finds the error; after the commit the unreachable shard
		// learns the decision later.
	default:
		m.fail(err)
	}
}

// abandon ends a migration whose donor can neither decide nor report, because the donor or the config
// server is down.
func (m *migration) abandon(err error) {
	if m.recipient.migration == m && m.decision == undecided {
		m.ms.log.writeSteps(m.recipient.id, "moveChunk.to", &m.req, m.steps.recipient, recipientSteps, "aborted")
	}
	m.queueRecovery()
	m.finish(err)
}

// carryOutDecision applies the decision, or schedules a recovery that does so. If the decision could be
// applied at once, then is called when the donor's orphans are deleted.
func (m *migration) carryOutDecision(then func()) {
	if !m.applyDecision(then) {
		m.queueRecovery()
	}
}

// queueRecovery queues a migration for the donor's recovery unless both shards know its decision. A
// migration whose donor has written nothing needs no recovery.
func (m *migration) queueRecovery() {
	if m.decisionApplied || m.donorTask == nil || slices.Contains(m.ms.unfinished, m) {
		return
	}
	m.ms.unfinished = append(m.ms.unfinished, m)
	m.ms.clock.Every(recoveryPoll, m.retryRecovery)
}

func (m *migration) retryRecovery() (again bool) {
	m.recover()
	return slices.Contains(m.ms.unfinished, m)
}

// recover executes the donor's recovery of an unfinished migration (rules/02-migration-and-metadata
// §5.6).
func (m *migration) recover() {
	if m.decisionApplied || m.decideFromCatalog() && m.applyDecision(nil) {
		m.ms.unfinished = slices.DeleteFunc(m.ms.unfinished, func(u *migration) bool { return u == m })
	}
}

// decideFromCatalog decides by the catalog: the migration is committed if the donor no longer owns the
// range. It returns false if the catalog is unavailable.
func (m *migration) decideFromCatalog() bool {
	if m.decision != undecided {
		return true
	}
	if m.ms.faults.IsDown(configShard) ||
		m.ms.shards.has(m.donor) && m.ms.faults.checkReachable(m.donor.id, configShard) != nil {
		return false
	}
	coll, ok, err := m.ms.config.TrackedEntry(m.req.Namespace)
	if err != nil {
		return false
	}
	if !ok || !coll.UUID.Equal(m.coll.UUID) {
		m.decision = aborted // the range deletions were dropped with the collection
		return true
	}
	chunk := m.ms.config.Table(m.req.Namespace).Find(m.donorTask.min)
	m.decision = committed
	if chunk.Shard == m.donor.id {
		m.decision = aborted
		m.ms.config.fence(m.req.Namespace, m.donorTask.min, m.donorTask.max, m.initialVersion)
	}
	return true
}

// fence increases the version of a whole migrating chunk, so that a commit that is still in flight fails
// (_configsvrEnsureChunkVersionIsGreaterThan).
func (c *ConfigDB) fence(ns string, min, max catalog.Key, version catalog.ChunkVersion) {
	chunk := c.Table(ns).Find(min)
	if !chunk.Min.Equal(min) || !chunk.Max.Equal(max) || version.Compare(chunk.Version) < 0 {
		return
	}
	chunk.Version = catalog.ChunkVersion{Major: c.Table(ns).Version().Major + 1}
	if err := c.putChunks(ns, chunk); err != nil {
		c.logger.Warn("chunk version not raised", "ns", ns, "error", err)
	}
}

// applyDecision applies the decision on both shards (rules/02-migration-and-metadata §5.6). It returns
// false if one of them is unreachable. A removed shard counts as informed.
func (m *migration) applyDecision(then func()) bool {
	donor, receiver := m.ms.shards.has(m.donor), m.ms.shards.has(m.recipient)
	switch {
	case m.donorTask == nil:
	case donor && m.donor.down, receiver && m.recipient.down:
		return false
	case donor && receiver && m.ms.faults.checkReachable(m.donor.id, m.recipient.id) != nil:
		return false
	}
	m.decisionApplied = true
	if m.decision == committed {
		m.donor.addOrphans(m.donorTask, m.recipientTask.orphans)
		m.recipient.removeDeletion(m.recipientTask)
		if m.ms.bugs.DropsUnreadyDeletions && m.donor.id == configShard && !donor {
			return true // its range deletion was dropped, so nothing is left to do
		}
		m.donorTask.ready = true
		m.ms.deleter.runAfterCursors(m.req.Namespace, m.donor.id, func() {
			if then != nil {
				m.ms.deleter.scheduleDeletion(m.donor, m.donorTask, 0, then)
			} else {
				m.ms.deleter.schedule(m.donor, m.donorTask)
			}
		})
		return true
	}
	if m.ms.bugs.KeepsAbortedDeletions {
		return true
	}
	if m.donorTask != nil {
		m.donor.removeDeletion(m.donorTask)
	}
	if m.recipientTask != nil {
		m.ms.deleter.schedule(m.recipient, m.recipientTask)
	}
	return true
}

// checkRecovered rejects a migration while an earlier one of the donor is unfinished
// (rules/02-migration-and-metadata §5.3 #6).
func (ms *Migrations) checkRecovered(donor *shard) error {
	for _, m := range ms.unfinished {
		if m.donor == donor {
			return mongoerr.New(mongoerr.HostUnreachable,
				"shard %s has not yet recovered its migration of %s, because shard %s can't be reached",
				donor.id, m.req.Namespace, m.recipient.id)
		}
	}
	return nil
}

// abortForIndexes aborts migrations because of an index change, unless the mock reproduces the bug
// StaleRecipientIndexes.
func (ms *Migrations) abortForIndexes(ns string) {
	if !ms.bugs.StaleRecipientIndexes {
		ms.abort(ns)
	}
}

// abort ends the migrations of a collection that are copying documents. It is called when an index is
// created or dropped, because the recipient would miss the change, and when migrations are disallowed
// (rules/02-migration-and-metadata §8, countDonorMoveChunkAbortConflictingIndexOperation). Committed
// migrations stay committed.
func (ms *Migrations) abort(ns string) {
	for _, m := range ms.activeByDonor() {
		if m.req.Namespace == ns && m.cloning {
			m.donor.counters.donorAbortedByIndex++
			m.fail(mongoerr.New(mongoerr.Interrupted, "operation was interrupted: the collection's indexes change, or its "+
				"migrations are not allowed any more"))
		}
	}
}

// checkManualMove returns the error for a manual migration that config servers up to 5.0 reject because
// the balancer would not make it (rules/01-rounds-and-settings §1.9).
func (ms *Migrations) checkManualMove(req MoveRequest) error {
	if ms.release.BalancesBySize() {
		return ms.checkMovedRange(req)
	}
	coll, ok, err := ms.config.TrackedEntry(req.Namespace)
	if err != nil || !ok {
		return err
	}
	to, err := ms.config.ShardByID(string(req.To))
	if err != nil {
		return err
	}
	zone, err := ms.zoneOf(coll, req)
	if err != nil {
		return err
	}
	target := []catalog.Shard{to}
	ms.stats.fillShardSizes(target)
	switch {
	case target[0].Full():
		return mongoerr.New(mongoerr.IllegalOperation, "shard %s has reached its maximum size", to.ID)
	case to.Draining:
		return mongoerr.New(mongoerr.IllegalOperation, "shard %s is draining", to.ID)
	case zone != catalog.NoZone && !to.HasZone(zone):
		return mongoerr.New(mongoerr.IllegalOperation, "shard %s is not in zone %s of the chunk", to.ID, zone)
	}
	return nil
}

// checkMovedRange returns the error of config servers since 9.0 for invalid bounds, or for bounds that
// are not in one chunk.
func (ms *Migrations) checkMovedRange(req MoveRequest) error {
	if !ms.installed.configRelease().ChecksMovedRanges() {
		return nil
	}
	coll, ok, err := ms.config.TrackedEntry(req.Namespace)
	if err != nil || !ok {
		return err
	}
	keys := map[string]catalog.Key{}
	for _, bound := range []struct {
		name string
		doc  bson.Raw
	}{{"min", req.Min}, {"max", req.Max}} {
		if bound.doc == nil {
			continue
		}
		if keys[bound.name], err = coll.Pattern.ParseKey(bound.doc); err != nil {
			return mongoerr.New(mongoerr.InvalidOptions, "The '%s' bound %s is not valid for shard key pattern %s", bound.name,
				bound.doc, coll.Pattern.Doc())
		}
	}
	if req.Min == nil || req.Max == nil {
		return nil
	}
	if chunk := ms.config.tables[req.Namespace].FindWithoutHistory(keys["min"]); chunk.Max.Less(keys["max"]) {
		return mongoerr.New(mongoerr.RangeNotInOneChunk, "Range with bounds [%s, %s) is not contained within a single chunk.",
			req.Min, req.Max)
	}
	return nil
}

func (ms *Migrations) zoneOf(coll catalog.Collection, req MoveRequest) (string, error) {
	zones, err := ms.zones.ranges(coll)
	if err != nil {
		return catalog.NoZone, err
	}
	at, err := coll.Pattern.ParseKey(req.Min)
	if err != nil {
		return catalog.NoZone, err
	}
	chunk := ms.config.tables[req.Namespace].Find(at)
	return zones.ZoneOf(chunk.Min, chunk.Max), nil
}

// Move runs a manual migration and waits for its end. The caller holds the lock.
func (ms *Migrations) Move(ctx context.Context, req MoveRequest, deadline time.Time) error {
	if err := ms.checkManualMove(req); err != nil {
		return err
	}
	if err := ms.balancer.awaitScheduler(ctx, deadline); err != nil {
		return err
	}
	if req.From == req.To && ms.config.shardsOwnMetadata() {
		return nil // the donor returns the error
	}
	var result error
	ended := false
	ms.Start(req, func(err error) { result, ended = err, true })
	if err := ms.clock.Await(ctx, deadline, func() bool { return ended }); err != nil {
		return err
	}
	return ms.reconcileOutcome(req, result)
}

// reconcileOutcome turns a failure into a success if the range is on the recipient nevertheless
// (rules/02-defragmentation-and-merging §4.6). If shards own the metadata, it stays a failure, and the
// client must repeat the command.
func (ms *Migrations) reconcileOutcome(req MoveRequest, err error) error {
	table := ms.config.Table(req.Namespace)
	if err == nil || table == nil || ms.config.shardsOwnMetadata() || mongoerr.Is(err, mongoerr.BalancerInterrupted) {
		return err
	}
	bound, find := req.Min, table.Find
	if bound == nil {
		bound, find = req.Max, func(k catalog.Key) catalog.Chunk { return ChunkEndingAt(table, k) }
	}
	if key, keyErr := table.Pattern().ParseKey(bound); keyErr == nil && find(key).Shard == req.To {
		return nil
	}
	return err
}

// IsDonating reports whether a shard is the donor of a running migration of the collection.
func (ms *Migrations) IsDonating(ns string, id catalog.ShardID) bool {
	s := ms.shards[id]
	return s != nil && s.migration != nil && s.migration.donor == s && s.migration.req.Namespace == ns
}

// AwaitDonationEnd blocks until the shard is not donating chunks of the collection. Splits and merges wait
// for this (rules/02-migration-and-metadata §5.2).
func (ms *Migrations) AwaitDonationEnd(ctx context.Context, deadline time.Time, ns string, id catalog.ShardID) error {
	return ms.clock.Await(ctx, deadline, func() bool { return !ms.IsDonating(ns, id) })
}

// sourceErrorPrefix is the prefix with which the config server reports errors of a donor.
const sourceErrorPrefix = "Command request failed on source shard. :: caused by :: "

// Kill kills an operation of a shard that belongs to a migration, as observed on 8.0.10:
//   - the donor's command: its sender gets an error at once, and the migration continues,
//   - the donor's worker: the migration ends, unless it is committed,
//   - the recipient's worker: the recipient and thus the migration fails.
func (ms *Migrations) Kill(id catalog.ShardID, op int32) {
	for m := range ms.active {
		switch from := m.req.From == id; {
		case from && op == m.opID:
			m.killCommand()
		case from && op == m.opID+1:
			m.kill()
		case m.req.To == id && op == m.opID+2 && m.cloning && !m.killed:
			m.fail(recipientError("Interrupted: operation was interrupted"))
		}
	}
}

// killCommand fails the waiters of the donor's command with Interrupted.
func (m *migration) killCommand() {
	waiting := m.waiters
	m.waiters = nil
	m.ms.clock.After(0, func() {
		for _, done := range waiting {
			done(mongoerr.New(mongoerr.Interrupted, sourceErrorPrefix+"operation was interrupted"))
		}
	})
}

// kill kills the donor's worker, which must inform the recipient first.
func (m *migration) kill() {
	if m.killed || m.decision != undecided {
		return
	}
	err := mongoerr.New(mongoerr.Interrupted, sourceErrorPrefix+"operation was interrupted")
	if m.cloning && len(m.steps.donor) == donorStepsBeforeCloning {
		err = mongoerr.New(mongoerr.Interrupted, sourceErrorPrefix+
			"Failed to contact recipient shard to monitor data transfer :: caused by :: operation was interrupted")
	}
	m.killed = true
	m.after(batchTime+m.extraLatency(), func(m *migration) {
		switch {
		case m.ended || m.decision != undecided:
		case m.cloning:
			m.fail(err)
		default:
			m.finish(err)
		}
	})
}

// awaitsRecipient reports whether the donor's worker waits for the recipient to copy and catch up.
func (m *migration) awaitsRecipient() bool {
	const caughtUp = 5 // the recipient's step of that state
	return m.cloning && len(m.steps.donor) == donorStepsBeforeCloning && len(m.steps.recipient) < caughtUp
}

// donorStepsBeforeCloning is the number of donor steps before the donor waits for the recipient.
const donorStepsBeforeCloning = 3
