package mock

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// decision is the outcome of a migration, as the coordinator document
// has it (rules/02-migration-and-metadata §5.4).
type decision uint8

const (
	undecided decision = iota
	committed
	aborted
)

// recoveryPoll is how often a donor tries to end a migration that it could not.
const recoveryPoll = time.Second

// byDonor lists the migrations under way in a fixed order.
func (ms *Migrations) byDonor() []*migration {
	list := make([]*migration, 0, len(ms.active))
	for m := range ms.active {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *migration) int { return cmp.Compare(a.donor.id, b.donor.id) })
	return list
}

// abortIfSeparated ends a migration whose shards have lost each other.
func (m *migration) abortIfSeparated() {
	switch err := m.ms.faults.checkReachable(m.donor.id, m.recipient.id); {
	case m.donor.down:
		m.abandon(m.ms.faults.checkReachable(configShard, m.donor.id))
	case err == nil || m.decision == committed || !m.cloning:
		// Before the clone the donor finds out by itself, after the commit the
		// other shard learns of it later.
	default:
		m.fail(err)
	}
}

// abandon ends a migration whose donor can't decide or report: it is
// down, or the config server is.
func (m *migration) abandon(err error) {
	if m.recipient.migration == m && m.decision == undecided {
		m.ms.log.writeSteps(m.recipient.id, "moveChunk.to", &m.req, m.steps.recipient, recipientSteps, "aborted")
	}
	m.queueRecovery()
	m.finish(err)
}

// carryOutDecision carries the decision out, or schedules a recovery that does; then is
// called when the donor's orphans are gone, if it could be done at once.
func (m *migration) carryOutDecision(then func()) {
	if !m.applyDecision(then) {
		m.queueRecovery()
	}
}

// queueRecovery queues a migration whose decision is not known to both shards for
// the donor's recovery. One whose donor has written nothing needs none.
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

// recover is the donor's recovery of an unfinished migration (rules/02-migration-and-metadata §5.6).
func (m *migration) recover() {
	if m.decisionApplied || m.decideFromCatalog() && m.applyDecision(nil) {
		m.ms.unfinished = slices.DeleteFunc(m.ms.unfinished, func(u *migration) bool { return u == m })
	}
}

// decideFromCatalog finds out what became of the range: it is committed if the donor does
// not own it any more. False while nobody can be asked.
func (m *migration) decideFromCatalog() bool {
	if m.decision != undecided {
		return true
	}
	if m.ms.faults.isDown(configShard) ||
		m.ms.shards.has(m.donor) && m.ms.faults.checkReachable(m.donor.id, configShard) != nil {
		return false
	}
	coll, ok, err := m.ms.config.Tracked(m.req.Namespace)
	if err != nil {
		return false
	}
	if !ok || !coll.UUID.Equal(m.coll.UUID) {
		m.decision = aborted // and the tasks are gone with the collection
		return true
	}
	chunk := m.ms.config.table(m.req.Namespace).Find(m.donorTask.min)
	m.decision = committed
	if chunk.Shard == m.donor.id {
		m.decision = aborted
		m.ms.config.fence(m.req.Namespace, m.donorTask.min, m.donorTask.max, m.initialVersion)
	}
	return true
}

// fence gives a whole chunk that was to move a new version, so that a commit
// still on its way fails (_configsvrEnsureChunkVersionIsGreaterThan).
func (cfg *ConfigDB) fence(ns string, min, max catalog.Key, version catalog.ChunkVersion) {
	chunk := cfg.table(ns).Find(min)
	if !chunk.Min.Equal(min) || !chunk.Max.Equal(max) || version.Compare(chunk.Version) < 0 {
		return
	}
	chunk.Version = catalog.ChunkVersion{Major: cfg.table(ns).Version().Major + 1}
	if err := cfg.putChunks(ns, chunk); err != nil {
		cfg.logger.Warn("chunk version not raised", "ns", ns, "error", err)
	}
}

// applyDecision carries the decision out on both shards (rules/02-migration-and-metadata §5.6); false when
// one of them can't be reached. A shard that left the cluster counts as told.
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
			return true // its deletion was dropped: what would begin it is not found, and nobody is told
		}
		m.donorTask.ready = true
		m.ms.deleter.afterReaders(m.req.Namespace, m.donor.id, func() {
			if then != nil {
				m.ms.deleter.delete(m.donor, m.donorTask, 0, then)
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

// checkRecovered refuses a new donation while an older one is unfinished
// (rules/02-migration-and-metadata §5.3 #6).
func (ms *Migrations) checkRecovered(donor *shard) error {
	for _, m := range ms.unfinished {
		if m.donor == donor {
			return mongoerr.New(mongoerr.HostUnreachable,
				"shard %s has not recovered its migration of %s to %s yet, which can't be reached",
				donor.id, m.req.Namespace, m.recipient.id)
		}
	}
	return nil
}

// abortForIndexes is abort for a change of indexes, unless that goes unnoticed.
func (ms *Migrations) abortForIndexes(ns string) {
	if !ms.bugs.StaleRecipientIndexes {
		ms.abort(ns)
	}
}

// abort ends the migrations of a collection that copy documents just
// now: an index that is made or dropped meanwhile would be missed on the
// recipient, and disallowing migrations goes the same way (rules/02-migration-and-metadata §8,
// countDonorMoveChunkAbortConflictingIndexOperation).
// One that is committed stays so.
func (ms *Migrations) abort(ns string) {
	for _, m := range ms.byDonor() {
		if m.req.Namespace == ns && m.cloning {
			m.donor.counters.donorAbortedByIndex++
			m.fail(mongoerr.New(mongoerr.Interrupted, "operation was interrupted: the collection's indexes change, or its "+
				"migrations are not allowed any more"))
		}
	}
}

// checkManualMove returns what config servers up to 5.0 refuse to do by hand:
// to move a chunk where the balancer would not (rules/01-rounds-and-settings §1.9).
func (ms *Migrations) checkManualMove(req MoveRequest) error {
	if ms.release.BalancesBySize() {
		return ms.checkMovedRange(req)
	}
	coll, ok, err := ms.config.Tracked(req.Namespace)
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

// checkMovedRange returns the error of config servers from 9.0 on for invalid bounds, or bounds not
// of one chunk.
func (ms *Migrations) checkMovedRange(req MoveRequest) error {
	if !ms.installed.configRelease().ChecksMovedRanges() {
		return nil
	}
	coll, ok, err := ms.config.Tracked(req.Namespace)
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
		if keys[bound.name], err = coll.Pattern.Key(bound.doc); err != nil {
			return mongoerr.New(mongoerr.InvalidOptions, "The '%s' bound %s is not valid for shard key pattern %s", bound.name,
				bound.doc, coll.Pattern.Doc())
		}
	}
	if req.Min == nil || req.Max == nil {
		return nil
	}
	if chunk := ms.config.tables[req.Namespace].Place(keys["min"]); chunk.Max.Less(keys["max"]) {
		return mongoerr.New(mongoerr.RangeOfChunks, "Range with bounds [%s, %s) is not contained within a single chunk.",
			req.Min, req.Max)
	}
	return nil
}

func (ms *Migrations) zoneOf(coll catalog.Collection, req MoveRequest) (string, error) {
	zones, err := ms.zones.ranges(coll)
	if err != nil {
		return catalog.NoZone, err
	}
	at, err := coll.Pattern.Key(req.Min)
	if err != nil {
		return catalog.NoZone, err
	}
	chunk := ms.config.tables[req.Namespace].Find(at)
	return zones.ZoneOf(chunk.Min, chunk.Max), nil
}

// Move runs a manual migration to its end. The caller holds the lock.
func (ms *Migrations) Move(ctx context.Context, req MoveRequest, deadline time.Time) error {
	if err := ms.checkManualMove(req); err != nil {
		return err
	}
	if err := ms.balancer.awaitScheduler(ctx, deadline); err != nil {
		return err
	}
	if req.From == req.To && ms.config.shardsOwnMetadata() {
		return nil // by the donor
	}
	var result error
	ended := false
	ms.Start(req, func(err error) { result, ended = err, true })
	if err := ms.clock.Await(ctx, deadline, func() bool { return ended }); err != nil {
		return err
	}
	return ms.reconcileOutcome(req, result)
}

// reconcileOutcome turns a failure into a success if the range is on the recipient all
// the same (rules/02-defragmentation-and-merging §4.6). Where shards own the metadata it stays
// a failure: the command is to be repeated.
func (ms *Migrations) reconcileOutcome(req MoveRequest, err error) error {
	table := ms.config.table(req.Namespace)
	if err == nil || table == nil || ms.config.shardsOwnMetadata() || mongoerr.Is(err, mongoerr.BalancerInterrupted) {
		return err
	}
	bound, find := req.Min, table.Find
	if bound == nil {
		bound, find = req.Max, func(k catalog.Key) catalog.Chunk { return ChunkEndingAt(table, k) }
	}
	if key, keyErr := table.Pattern().Key(bound); keyErr == nil && find(key).Shard == req.To {
		return nil
	}
	return err
}

// IsDonating reports whether a shard gives away a part of the collection just now.
func (ms *Migrations) IsDonating(ns string, id catalog.ShardID) bool {
	s := ms.shards[id]
	return s != nil && s.migration != nil && s.migration.donor == s && s.migration.req.Namespace == ns
}

// AwaitDonation blocks until the shard gives nothing of the collection away:
// splits and merges wait for that (rules/02-migration-and-metadata §5.2).
func (ms *Migrations) AwaitDonation(ctx context.Context, deadline time.Time, ns string, id catalog.ShardID) error {
	return ms.clock.Await(ctx, deadline, func() bool { return !ms.IsDonating(ns, id) })
}

// sourceErrorPrefix is how the config server begins what it reports of a donor.
const sourceErrorPrefix = "Command request failed on source shard. :: caused by :: "

// Kill ends an operation of a shard that belongs to a migration, as 8.0.10 was seen to:
//
//   - the donor's command: who sent it hears so at once, and the migration goes on,
//   - the donor's worker: the migration ends, unless it is committed,
//   - the recipient's worker: the recipient fails, and with it the migration.
func (ms *Migrations) Kill(id catalog.ShardID, op int32) {
	for m := range ms.active {
		switch from := m.req.From == id; {
		case from && op == m.op:
			m.killCommand()
		case from && op == m.op+1:
			m.kill()
		case m.req.To == id && op == m.op+2 && m.cloning && !m.killed:
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

// kill ends the donor's worker. It has to tell the recipient first.
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

// awaitsRecipient reports whether the donor's worker waits for the recipient: once it has
// begun to copy, until it has caught up.
func (m *migration) awaitsRecipient() bool {
	const caughtUp = 5 // of the recipient's
	return m.cloning && len(m.steps.donor) == donorStepsBeforeCloning && len(m.steps.recipient) < caughtUp
}

// donorStepsBeforeCloning is the donor's step after which it waits for the recipient.
const donorStepsBeforeCloning = 3
