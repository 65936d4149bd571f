package mock

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// noteWrite tells the migration that a shard gives away what was written:
// before and after are the document before and after, nil where there is none.
func (ms *Migrations) noteWrite(s *shard, ns string, before, after bson.Raw) {
	if local := s.colls[ns]; local != nil {
		local.writes++
	}
	m := s.busy
	if m == nil || !m.cloning || m.donor != s || m.req.Namespace != ns || m.local(s) == nil {
		return
	}
	was := before != nil && m.holds(before)
	is := after != nil && m.holds(after)
	switch {
	case is:
		note(&m.mods.upserts, m.mods.deletes, after)
		m.tracked += trackedBytes(after)
	case was:
		note(&m.mods.deletes, m.mods.upserts, before)
		m.tracked += trackedBytes(before)
	}
}

// maxTracked is the memory that tracked modifications may take, over the whole
// clone; a migration that blocks writes has no such limit (rules/02-migration-and-metadata §5.5).
const maxTracked = 500 << 20

func trackedBytes(doc bson.Raw) int64 { return int64(len(doc.Lookup("_id").Value)) + 5 }

// note puts a document's _id on one list and takes it off the other.
func note(on *map[string]bson.RawValue, off map[string]bson.RawValue, doc bson.Raw) {
	if *on == nil {
		*on = map[string]bson.RawValue{}
	}
	id := doc.Lookup("_id")
	key := string(append([]byte{byte(id.Type)}, id.Value...))
	(*on)[key] = id
	delete(off, key)
}

// catchUp pulls the donor's modifications until none are left, then enters
// the critical section.
func (m *migration) catchUp() {
	m.reached("catchUp")
	if !m.cloning {
		return
	}
	if m.tracked > maxTracked && m.req.Force != policy.ForceManual {
		m.fail(mongoerr.New(mongoerr.ExceededMemoryLimit, "the modifications of the range take more than %d bytes to track",
			maxTracked))
		return
	}
	if !m.mods.empty() {
		if err := m.transferMods(); err != nil {
			m.fail(err)
			return
		}
		m.after(batchTime+m.lag(), (*migration).catchUp)
		return
	}
	m.steps.endRecipients(m.ms.clock.Now(), 5)
	m.recvPause(5, (*migration).caughtUp)
}

// caughtUp waits for the recipient's members, and then enters the critical section.
func (m *migration) caughtUp() {
	behind := m.ms.faults.behind(m.receiver.id)
	m.after(catchUpTime+m.lag()+min(behind, maxBehindAtCommit), func(m *migration) {
		if !m.cloning {
			return
		}
		if behind > maxBehindAtCommit {
			m.fail(recipientError("WriteConcernFailed: waiting for replication timed out"))
			return
		}
		m.steps.endRecipients(m.ms.clock.Now(), 6)
		m.steps.endDonors(m.ms.clock.Now()) // step 4: caught up
		m.recvPause(6, func(m *migration) {
			m.donorPause(4, func(m *migration) { m.after(commitTime+m.lag(), (*migration).commit) })
		})
	})
}

// maxBehindAtCommit is how long a recipient waits until a majority of its nodes has
// everything (rules/02-migration-and-metadata §5.4, step 5).
const maxBehindAtCommit = time.Minute

// transferMods brings the recipient up to date: deletes first, then upserts.
func (m *migration) transferMods() error {
	from, to := m.local(m.donor), m.local(m.receiver)
	if from == nil || to == nil {
		return recipientError(errDropped().Error())
	}
	mods := m.mods
	m.mods = modifications{}
	for _, key := range sortedKeys(mods.deletes) {
		record, doc, ok := to.docs.ByID(mods.deletes[key])
		if ok && m.holds(doc) {
			to.docs.Delete(record)
			m.receiver.addOrphans(m.recvTask, -1)
		}
	}
	for _, key := range sortedKeys(mods.upserts) {
		_, doc, ok := from.docs.ByID(mods.upserts[key])
		if !ok || !m.holds(doc) {
			continue
		}
		if err := m.upsert(to, mods.upserts[key], doc); err != nil {
			return recipientError(err.Error())
		}
	}
	return nil
}

func (m *migration) upsert(to *localCollection, id bson.RawValue, doc bson.Raw) error {
	record, old, ok := to.docs.ByID(id)
	switch {
	case ok && !m.holds(old):
		return mongoerr.New(mongoerr.SameIDOutsideRange,
			"a document with the same _id lies outside the range on the recipient")
	case ok:
		return to.docs.Update(record, doc)
	}
	if _, err := to.docs.Insert(doc); err != nil {
		return err
	}
	m.receiver.addOrphans(m.recvTask, 1)
	m.receiver.counters.catchUpDocs++
	m.receiver.counters.catchUpBytes += int64(len(doc))
	return nil
}

func sortedKeys(m map[string]bson.RawValue) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// commit is the critical section: the last modifications, the catalog's
// transaction, and the change of ownership, in one instant. Writes before it
// went to the donor, writes after it go to the recipient.
func (m *migration) commit() {
	m.reached("commit")
	if !m.cloning || m.killed {
		return
	}
	if err := m.ms.faults.reach(m.donor.id, configShard); err != nil {
		m.breakOff(err)
		return
	}
	if err := m.transferMods(); err != nil {
		m.fail(err)
		return
	}
	m.steps.endDonors(m.ms.clock.Now()) // step 5: the recipient has everything
	m.steps.endRecipients(m.ms.clock.Now(), 7)
	failure := m.ms.faults.takeFailureOf(commitsMigration, configShard)
	if err := m.commitUnless(failure); err != nil {
		m.rejected = true
		m.fail(err)
		m.ms.config.fence(m.req.Namespace, m.min, m.max, m.before)
		return
	}
	m.cloning = false
	m.decision = committed
	from, to := m.local(m.donor), m.local(m.receiver)
	if m.ms.flaws.IndexesOfTheStart {
		_ = m.restoreIndexes(to) // what it can't build it lacks
	}
	from.file = from.stored()
	to.virtual.merge(from.virtual.take(m.coll.Pattern, m.min, m.max))
	m.steps.endRecipients(m.ms.clock.Now(), 8)
	m.ms.log.steps(m.receiver.id, "moveChunk.to", &m.req, m.steps.recipient, recvSteps, "success")
	// An event of its own: a shard may crash before it knows the decision.
	m.after(0, func(m *migration) {
		m.reached("committed")
		if failure != nil {
			m.concludeUnanswered()
			return
		}
		m.conclude()
	})
}

// commitUnless commits, but for a failure that lets the config server refuse:
// one that closes the connection loses its answer only.
func (m *migration) commitUnless(failure *Failure) error {
	if failure != nil && !failure.CloseConnection {
		return failure.Err()
	}
	if !m.ms.shards.has(m.receiver) || !m.ms.shards.has(m.donor) { // another one may have the name now
		return mongoerr.New(mongoerr.ShardNotFound, "a shard of the migration was removed")
	}
	reply, err := m.commitCatalog(m.ms.ids.Tick)
	if err == nil && m.ms.logger.Enabled(context.Background(), slog.LevelDebug) {
		m.ms.logger.Debug("migration committed", "ns", m.req.Namespace, "shardVersion", reply)
	}
	return err
}

// concludeUnanswered ends a migration whose donor did not hear that it is
// committed: it fails, finds the range on the recipient, and tells both shards.
func (m *migration) concludeUnanswered() {
	if m.over {
		return
	}
	m.settle(nil)
	m.finish(m.ms.faults.connectionLost(configShard))
}

// conclude tells both shards of the commit, and then whoever waits. A shard
// that is away learns of it when it is back.
func (m *migration) conclude() {
	if m.over {
		return
	}
	m.logRange(m.donor.id, catalog.MigrationCommitted, func(dst []byte) []byte {
		start, dst := bsoncore.ReserveLength(appendHead(dst, bson.TypeEmbeddedDocument, "counts"))
		dst = bsoncore.AppendInt64(appendHead(dst, bson.TypeInt64, "cloned"), m.cloned)
		dst = bsoncore.AppendInt64(appendHead(dst, bson.TypeInt64, "clonedBytes"), m.clonedSize)
		dst = bsoncore.AppendInt64(appendHead(dst, bson.TypeInt64, "catchup"), 0)
		return closeDocument(bsoncore.AppendInt64(appendHead(dst, bson.TypeInt64, "steady"), 0), start)
	})
	if !m.req.WaitForDelete {
		m.settle(nil)
		m.finish(nil)
		return
	}
	m.settle(func() { m.finish(nil) })
	if !m.delivered {
		m.finish(nil) // the deletion would be waited for too long
	}
}

// commitCatalog returns the config server's part (rules/02-migration-and-metadata §6.5): checks,
// versions, history, placement. It answers with the version of the control
// chunk, or 0|0 when there is none, also while the donor keeps remainders.
func (m *migration) commitCatalog(tick func() bson.Timestamp) (reply catalog.ChunkVersion, err error) {
	ns := m.req.Namespace
	to, err := m.ms.config.ShardByID(string(m.req.To))
	if err != nil {
		return reply, err
	}
	if to.Draining {
		return reply, mongoerr.New(mongoerr.ShardNotFound, "Shard %s is currently draining", to.ID)
	}
	coll, ok, err := m.ms.config.Tracked(ns)
	switch {
	case err != nil:
		return reply, err
	case !ok || !coll.AllowMigrations || !coll.PermitMigrations || coll.Frozen(m.ms.installed.onConfigServers()):
		return reply, mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"Collection %s is gone or does not allow migrations", ns)
	case coll.Unsplittable:
		return reply, mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case coll.Epoch != m.coll.Epoch || coll.Timestamp != m.coll.Timestamp:
		return reply, errStaleEpoch(ns)
	case m.before == catalog.ChunkVersion{}:
		return reply, mongoerr.New(mongoerr.CommitWithoutVersion, "the request has no version of the chunk")
	}
	table := m.ms.config.tables[ns]
	chunk := table.Find(m.min)
	switch {
	case m.max.Compare(chunk.Max) > 0:
		return reply, mongoerr.New(mongoerr.CommitNoChunk, "no chunk contains the range")
	case chunk.Shard == m.req.To:
		return reply, nil
	case chunk.Shard != m.req.From:
		return reply, mongoerr.New(mongoerr.CommitThirdShard, "the chunk is on shard %s", chunk.Shard)
	case m.before.Compare(chunk.Version) < 0:
		return reply, mongoerr.New(mongoerr.ConflictingOperationInProgress, "the chunk has changed since the migration began")
	}
	at := tick()
	if len(chunk.History) > 0 && !chunk.History[0].ValidAfter.Before(at) {
		return reply, mongoerr.New(mongoerr.IncompatibleShardingMetadata,
			"the chunk came to shard %s at %v, after the time of the commit", chunk.Shard, chunk.History[0].ValidAfter)
	}
	return m.applyMove(table, chunk, at)
}

// applyMove writes the moved chunk, the remainders and the control chunk
// (rules/02-migration-and-metadata §6.3 and §6.4).
func (m *migration) applyMove(table *catalog.Draft, chunk catalog.Chunk,
	at bson.Timestamp) (catalog.ChunkVersion, error) {
	changed, reply := m.ms.chunks.commits().Move(table, chunk, m.min, m.max, m.req.To, at)
	first := table.Count(m.req.To) == 0
	if err := m.ms.config.putChunks(m.req.Namespace, changed...); err != nil {
		return reply, err
	}
	if first || table.Count(m.req.From) == 0 {
		m.ms.log.placement(m.req.Namespace, &m.coll.UUID, at, table.Table().Owners())
	}
	return reply, nil
}

// commits makes the chunks that the config server writes.
func (cks *Chunks) commits() catalog.Commit {
	return catalog.Commit{Release: cks.release, NewID: cks.ids.NewObjectID, HistoryWindow: cks.historyWindow()}
}

// fail ends a migration between its start and its commit: the donor keeps
// the range, the recipient deletes what it copied.
func (m *migration) fail(err error) {
	m.cloning = false
	m.decision = aborted
	m.settle(nil)
	if m.receiver.busy == m {
		note := "aborted"
		if m.rejected {
			// Its critical section is released in order all the same.
			m.steps.endRecipients(m.ms.clock.Now(), 8)
			note = "success"
		}
		m.ms.log.steps(m.receiver.id, "moveChunk.to", &m.req, m.steps.recipient, recvSteps, note)
	}
	if !m.rejected && !m.killed {
		m.logRange(m.donor.id, "moveChunk.error", nil)
	}
	m.finish(err)
}

// finish frees the shards, logs the donor's steps and tells whoever waits.
func (m *migration) finish(err error) {
	if m.over {
		return
	}
	note := "aborted"
	if err == nil {
		m.steps.endDonors(m.ms.clock.Now()) // step 6
		note = "success"
	}
	m.countEnd(m.ms.clock.Now(), err)
	if !m.killed { // an operation that was killed can't write any more
		m.ms.log.steps(m.donor.id, "moveChunk.from", &m.req, m.steps.donor, donorSteps, note)
	}
	m.free()
	m.tell(err)
	if m.ms.watch == nil {
		return
	}
	event := "done"
	if err != nil {
		event = "failed"
	}
	m.ms.clock.After(0, func() { m.reached(event) })
}

// tell tells those who wait how the migration ended, once.
func (m *migration) tell(err error) {
	waiting := m.done
	m.done = nil
	for _, done := range waiting {
		done(err)
	}
}

// free lets both shards take part in other migrations.
func (m *migration) free() {
	m.over, m.cloning = true, false
	for _, s := range []*shard{m.donor, m.receiver} {
		if s.busy == m {
			s.busy = nil
		}
	}
	delete(m.ms.underWay, m)
}

func emptyDoc() bson.Raw { return bson.Raw{5, 0, 0, 0, 0} }
