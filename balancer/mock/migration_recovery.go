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

// pendingByDonor lists the migrations under way in a fixed order.
func (c *Cluster) pendingByDonor() []*migration {
	list := make([]*migration, 0, len(c.pending))
	for m := range c.pending {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *migration) int { return cmp.Compare(a.donor.id, b.donor.id) })
	return list
}

// checkParties ends a migration whose shards have lost each other.
func (c *Cluster) checkParties(m *migration) {
	switch err := c.reach(m.donor.id, m.receiver.id); {
	case m.donor.down:
		c.breakOff(m, c.reach(configShard, m.donor.id))
	case err == nil || m.decision == committed || !m.cloning:
		// Before the clone the donor finds out by itself, after the commit the
		// other shard learns of it later.
	default:
		c.fail(m, err)
	}
}

// breakOff ends a migration whose donor can't decide, or can't tell: it is
// gone, or the config server is.
func (c *Cluster) breakOff(m *migration, err error) {
	if m.receiver.busy == m && m.decision == undecided {
		c.logChange(m.receiver.id, "moveChunk.to", m.req.Namespace, stepsDoc(m.recvTime, recvSteps, m, "aborted"))
	}
	c.leave(m)
	c.finish(m, err)
}

// settle carries the decision out, or sees to it that it will be; then is
// called when the donor's orphans are gone, if it could be done at once.
func (c *Cluster) settle(m *migration, then func()) {
	if !c.deliver(m, then) {
		c.leave(m)
	}
}

// leave keeps a migration that both shards don't know the decision of, for
// the donor's recovery. One whose donor has written nothing needs none.
func (c *Cluster) leave(m *migration) {
	if m.delivered || m.donorTask == nil || slices.Contains(c.unfinished, m) {
		return
	}
	c.unfinished = append(c.unfinished, m)
	c.after(recoveryPoll, func() { c.keepRecovering(m) })
}

func (c *Cluster) keepRecovering(m *migration) {
	if c.recover(m); slices.Contains(c.unfinished, m) {
		c.after(recoveryPoll, func() { c.keepRecovering(m) })
	}
}

// recover is the donor's recovery of an unfinished migration (spec 02 §5.6).
func (c *Cluster) recover(m *migration) {
	if m.delivered || c.decide(m) && c.deliver(m, nil) {
		c.unfinished = slices.DeleteFunc(c.unfinished, func(u *migration) bool { return u == m })
	}
}

// belongs tells whether a shard still belongs to the cluster.
func (c *Cluster) belongs(s *shard) bool { return c.shards[s.id] == s }

// decide finds out what became of the range: it is committed if the donor does
// not own it any more. False while nobody can be asked.
func (c *Cluster) decide(m *migration) bool {
	if m.decision != undecided {
		return true
	}
	if c.isDown(configShard) || c.belongs(m.donor) && c.reach(m.donor.id, configShard) != nil {
		return false
	}
	coll, ok, err := c.config.Tracked(m.req.Namespace)
	if err != nil {
		return false
	}
	if !ok || !coll.UUID.Equal(m.coll.UUID) {
		m.decision = aborted // and the tasks are gone with the collection
		return true
	}
	chunk := c.config.tables[m.req.Namespace].Find(m.donorTask.min)
	m.decision = committed
	if chunk.Shard == m.donor.id {
		m.decision = aborted
		c.fence(m.req.Namespace, m.donorTask.min, m.donorTask.max, m.before)
	}
	return true
}

// fence gives a whole chunk that was to move a new version, so that a commit
// still on its way fails (_configsvrEnsureChunkVersionIsGreaterThan).
func (c *Cluster) fence(ns string, min, max catalog.Key, version catalog.ChunkVersion) {
	chunk := c.config.tables[ns].Find(min)
	if !chunk.Min.Equal(min) || !chunk.Max.Equal(max) || version.Compare(chunk.Version) < 0 {
		return
	}
	chunk.Version = catalog.ChunkVersion{Major: c.config.tables[ns].Version().Major + 1}
	if err := c.config.putChunks(ns, chunk); err != nil {
		c.logger.Warn("chunk version not raised", "ns", ns, "error", err)
	}
}

// deliver carries the decision out on both shards (spec 02 §5.6); false when
// one of them can't be reached. A shard that left the cluster counts as told.
func (c *Cluster) deliver(m *migration, then func()) bool {
	donor, receiver := c.belongs(m.donor), c.belongs(m.receiver)
	switch {
	case m.donorTask == nil:
	case donor && m.donor.down, receiver && m.receiver.down:
		return false
	case donor && receiver && c.reach(m.donor.id, m.receiver.id) != nil:
		return false
	}
	m.delivered = true
	if m.decision == committed {
		m.donorTask.orphans = m.recvTask.orphans
		m.receiver.removeDeletion(m.recvTask)
		if then != nil {
			c.deleteRange(m.donor, m.donorTask, 0, then)
		} else {
			c.scheduleDeletion(m.donor, m.donorTask)
		}
		return true
	}
	if m.donorTask != nil {
		m.donor.removeDeletion(m.donorTask)
	}
	if m.recvTask != nil {
		c.scheduleDeletion(m.receiver, m.recvTask)
	}
	return true
}

// checkRecovered refuses a new donation while an older one is unfinished
// (spec 02 §5.3 #6).
func (c *Cluster) checkRecovered(donor *shard) error {
	for _, m := range c.unfinished {
		if m.donor == donor {
			return mongoerr.New(mongoerr.HostUnreachable,
				"shard %s has not recovered its migration of %s to %s yet, which can't be reached", donor.id, m.req.Namespace, m.receiver.id)
		}
	}
	return nil
}
