package mock

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// decision is what becomes of a migration's range, as the coordinator document
// has it (spec 02 §5.4).
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
	list := make([]*migration, 0, len(ms.underWay))
	for m := range ms.underWay {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *migration) int { return cmp.Compare(a.donor.id, b.donor.id) })
	return list
}

// checkParties ends a migration whose shards have lost each other.
func (m *migration) checkParties() {
	switch err := m.c.faults.reach(m.donor.id, m.receiver.id); {
	case m.donor.down:
		m.breakOff(m.c.faults.reach(configShard, m.donor.id))
	case err == nil || m.decision == committed || !m.cloning:
		// Before the clone the donor finds out by itself, after the commit the
		// other shard learns of it later.
	default:
		m.fail(err)
	}
}

// breakOff ends a migration whose donor can't decide, or can't tell: it is
// gone, or the config server is.
func (m *migration) breakOff(err error) {
	if m.receiver.busy == m && m.decision == undecided {
		m.logReceiver("aborted")
	}
	m.leave()
	m.finish(err)
}

// settle carries the decision out, or sees to it that it will be; then is
// called when the donor's orphans are gone, if it could be done at once.
func (m *migration) settle(then func()) {
	if !m.deliver(then) {
		m.leave()
	}
}

// leave keeps a migration that both shards don't know the decision of, for
// the donor's recovery. One whose donor has written nothing needs none.
func (m *migration) leave() {
	if m.delivered || m.donorTask == nil || slices.Contains(m.c.migrations.unfinished, m) {
		return
	}
	m.c.migrations.unfinished = append(m.c.migrations.unfinished, m)
	m.c.every(recoveryPoll, m.keepRecovering)
}

func (m *migration) keepRecovering() (again bool) {
	m.recover()
	return slices.Contains(m.c.migrations.unfinished, m)
}

// recover is the donor's recovery of an unfinished migration (spec 02 §5.6).
func (m *migration) recover() {
	if m.delivered || m.decide() && m.deliver(nil) {
		m.c.migrations.unfinished = slices.DeleteFunc(m.c.migrations.unfinished, func(u *migration) bool { return u == m })
	}
}

// belongs reports whether a shard still belongs to the cluster.
func (c *Cluster) belongs(s *shard) bool { return c.shards[s.id] == s }

// decide finds out what became of the range: it is committed if the donor does
// not own it any more. False while nobody can be asked.
func (m *migration) decide() bool {
	if m.decision != undecided {
		return true
	}
	if m.c.faults.isDown(configShard) || m.c.belongs(m.donor) && m.c.faults.reach(m.donor.id, configShard) != nil {
		return false
	}
	coll, ok, err := m.c.config.Tracked(m.req.Namespace)
	if err != nil {
		return false
	}
	if !ok || !coll.UUID.Equal(m.coll.UUID) {
		m.decision = aborted // and the tasks are gone with the collection
		return true
	}
	chunk := m.c.config.table(m.req.Namespace).Find(m.donorTask.min)
	m.decision = committed
	if chunk.Shard == m.donor.id {
		m.decision = aborted
		m.c.config.fence(m.req.Namespace, m.donorTask.min, m.donorTask.max, m.before)
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

// deliver carries the decision out on both shards (spec 02 §5.6); false when
// one of them can't be reached. A shard that left the cluster counts as told.
func (m *migration) deliver(then func()) bool {
	donor, receiver := m.c.belongs(m.donor), m.c.belongs(m.receiver)
	switch {
	case m.donorTask == nil:
	case donor && m.donor.down, receiver && m.receiver.down:
		return false
	case donor && receiver && m.c.faults.reach(m.donor.id, m.receiver.id) != nil:
		return false
	}
	m.delivered = true
	if m.decision == committed {
		m.donorTask.orphans = m.recvTask.orphans
		m.receiver.removeDeletion(m.recvTask)
		if then != nil {
			m.c.RangeDeleter().delete(m.donor, m.donorTask, 0, then)
		} else {
			m.c.RangeDeleter().schedule(m.donor, m.donorTask)
		}
		return true
	}
	if m.donorTask != nil {
		m.donor.removeDeletion(m.donorTask)
	}
	if m.recvTask != nil {
		m.c.RangeDeleter().schedule(m.receiver, m.recvTask)
	}
	return true
}

// checkRecovered refuses a new donation while an older one is unfinished
// (spec 02 §5.3 #6).
func (ms *Migrations) checkRecovered(donor *shard) error {
	for _, m := range ms.unfinished {
		if m.donor == donor {
			return mongoerr.New(mongoerr.HostUnreachable,
				"shard %s has not recovered its migration of %s to %s yet, which can't be reached",
				donor.id, m.req.Namespace, m.receiver.id)
		}
	}
	return nil
}

// abort ends the migrations of a collection that copy documents just
// now: an index that is made or dropped meanwhile would be missed on the
// recipient, and disallowing migrations goes the same way (spec 02 §8,
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
