package mock

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// noteWrite records a write for the migration for which the shard is the donor. before is nil for an
// insert, after for a delete.
func (ms *Migrations) noteWrite(s *shard, ns string, before, after bson.Raw) {
	if local := s.colls[ns]; local != nil {
		local.writtenDocs++
	}
	m := s.migration
	if m == nil || !m.cloning || m.donor != s || m.req.Namespace != ns || m.local(s) == nil {
		return
	}
	was := before != nil && m.containsDocument(before)
	is := after != nil && m.containsDocument(after)
	switch {
	case is:
		trackModification(&m.mods.upserts, m.mods.deletes, after)
		m.modificationBytes += trackedBytes(after)
	case was:
		trackModification(&m.mods.deletes, m.mods.upserts, before)
		m.modificationBytes += trackedBytes(before)
	}
}

// maxModificationBytes is the memory limit of tracked modifications during the whole clone. A migration
// that blocks writes has no such limit (rules/02-migration-and-metadata §5.5).
const maxModificationBytes = 500 << 20

func trackedBytes(doc bson.Raw) int64 { return int64(len(doc.Lookup("_id").Value)) + 5 }

// trackModification adds a document's _id to one list and removes it from the other.
func trackModification(on *map[string]bson.RawValue, off map[string]bson.RawValue, doc bson.Raw) {
	if *on == nil {
		*on = map[string]bson.RawValue{}
	}
	id := doc.Lookup("_id")
	key := string(append([]byte{byte(id.Type)}, id.Value...))
	(*on)[key] = id
	delete(off, key)
}

// catchUp transfers the donor's modifications until none are left, then enters the critical section.
func (m *migration) catchUp() {
	m.notifyEvent("catchUp")
	if !m.cloning {
		return
	}
	if m.modificationBytes > maxModificationBytes && m.req.Force != policy.ForceManual {
		m.fail(mongoerr.New(mongoerr.ExceededMemoryLimit, "the modifications of the range take more than %d bytes to track",
			maxModificationBytes))
		return
	}
	if !m.mods.isEmpty() {
		if err := m.transferMods(); err != nil {
			m.fail(err)
			return
		}
		m.after(batchTime+m.extraLatency(), (*migration).catchUp)
		return
	}
	m.steps.endRecipientSteps(m.ms.clock.Now(), 5)
	m.pauseRecipient(5, (*migration).awaitRecipientMajority)
}

// awaitRecipientMajority waits for replication on the recipient and then enters the critical section.
func (m *migration) awaitRecipientMajority() {
	behind := m.ms.faults.majorityLag(m.recipient.id)
	m.after(catchUpTime+m.extraLatency()+min(behind, maxLagAtCommit), func(m *migration) {
		if !m.cloning {
			return
		}
		if behind > maxLagAtCommit {
			m.fail(recipientError("WriteConcernFailed: waiting for replication timed out"))
			return
		}
		m.steps.endRecipientSteps(m.ms.clock.Now(), 6)
		m.steps.endDonorStep(m.ms.clock.Now()) // step 4: caught up
		m.pauseRecipient(6, func(m *migration) {
			m.pauseDonor(4, func(m *migration) { m.after(commitTime+m.extraLatency(), (*migration).commit) })
		})
	})
}

// maxLagAtCommit is the maximum time for which a recipient waits until a majority of its nodes has
// replicated all data (rules/02-migration-and-metadata §5.4, step 5).
const maxLagAtCommit = time.Minute

// transferMods applies the donor's modifications on the recipient: deletes first, then upserts.
func (m *migration) transferMods() error {
	from, to := m.local(m.donor), m.local(m.recipient)
	if from == nil || to == nil {
		return recipientError(errDropped().Error())
	}
	mods := m.mods
	m.mods = modifications{}
	for _, key := range slices.Sorted(maps.Keys(mods.deletes)) {
		record, doc, ok := to.docs.FindByID(mods.deletes[key])
		if ok && m.containsDocument(doc) {
			to.docs.Delete(record)
			m.recipient.addOrphans(m.recipientTask, -1)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(mods.upserts)) {
		_, doc, ok := from.docs.FindByID(mods.upserts[key])
		if !ok || !m.containsDocument(doc) {
			continue
		}
		if err := m.upsert(to, mods.upserts[key], doc); err != nil {
			return recipientError(err.Error())
		}
	}
	return nil
}

func (m *migration) upsert(to *localCollection, id bson.RawValue, doc bson.Raw) error {
	record, old, ok := to.docs.FindByID(id)
	switch {
	case ok && !m.containsDocument(old):
		return mongoerr.New(mongoerr.SameIDOutsideRange,
			"a document with the same _id lies outside the range on the recipient")
	case ok:
		return to.docs.Update(record, doc)
	}
	if _, err := to.docs.Insert(doc); err != nil {
		return err
	}
	m.recipient.addOrphans(m.recipientTask, 1)
	m.recipient.counters.catchUpDocs++
	m.recipient.counters.catchUpBytes += int64(len(doc))
	return nil
}

// commit executes the critical section in one step: the last modifications, the catalog transaction, and
// the change of ownership. Earlier writes go to the donor, later writes to the recipient.
func (m *migration) commit() {
	m.notifyEvent("commit")
	if !m.cloning || m.killed {
		return
	}
	if err := m.ms.faults.checkReachable(m.donor.id, configShard); err != nil {
		m.abandon(err)
		return
	}
	if err := m.transferMods(); err != nil {
		m.fail(err)
		return
	}
	m.steps.endDonorStep(m.ms.clock.Now()) // step 5: the recipient has everything
	m.steps.endRecipientSteps(m.ms.clock.Now(), 7)
	failure := m.ms.faults.takeCommandFailure(cmdCommitMigration, configShard)
	if err := m.commitUnless(failure); err != nil {
		m.commitRejected = true
		m.fail(err)
		m.ms.config.fence(m.req.Namespace, m.min, m.max, m.initialVersion)
		return
	}
	m.cloning = false
	m.decision = committed
	from, to := m.local(m.donor), m.local(m.recipient)
	if m.ms.bugs.StaleRecipientIndexes {
		_ = m.restoreIndexes(to) // indexes that cannot be built stay missing
	}
	from.fileBytes = from.storageSize()
	to.virtual.addAll(from.virtual.cutOut(m.coll.Pattern, m.min, m.max))
	m.steps.endRecipientSteps(m.ms.clock.Now(), 8)
	m.ms.log.writeSteps(m.recipient.id, "moveChunk.to", &m.req, m.steps.recipient, recipientSteps, "success")
	// A separate event, because a shard may crash before it learns the decision.
	m.after(0, func(m *migration) {
		m.notifyEvent("committed")
		end := (*migration).announceCommit
		if failure != nil {
			end = (*migration).concludeUnanswered
		}
		if lag := m.extraLatency(); lag > 0 { // slow shards learn the decision later
			m.after(lag, end)
			return
		}
		end(m)
	})
}

// commitUnless commits unless an injected failure makes the config server reject the commit. If the
// failure closes the connection, the commit succeeds and only its reply is lost.
func (m *migration) commitUnless(failure *Failure) error {
	if failure != nil && !failure.CloseConnection {
		return failure.Err()
	}
	if !m.ms.shards.has(m.recipient) || !m.ms.shards.has(m.donor) { // another shard may have the name now
		return mongoerr.New(mongoerr.ShardNotFound, "a shard of the migration was removed")
	}
	reply, err := m.commitCatalog(m.ms.ids.Tick)
	if err == nil && m.ms.logger.Enabled(context.Background(), slog.LevelDebug) {
		m.ms.logger.Debug("migration committed", "ns", m.req.Namespace, "shardVersion", reply)
	}
	return err
}

// concludeUnanswered ends a migration whose donor has not received the reply to the commit. It reports a
// failure, finds the range on the recipient, and tells both shards.
func (m *migration) concludeUnanswered() {
	if m.ended {
		return
	}
	m.carryOutDecision(nil)
	m.finish(m.ms.faults.connectionLostError(configShard))
}

// announceCommit tells both shards of the commit, and then the waiters. An unavailable shard learns of
// it when it is back.
func (m *migration) announceCommit() {
	if m.ended {
		return
	}
	m.logRange(m.donor.id, catalog.MigrationCommitted, func(dst []byte) []byte {
		start, dst := bsoncore.ReserveLength(appendFieldHeader(dst, bson.TypeEmbeddedDocument, "counts"))
		dst = bsoncore.AppendInt64(appendFieldHeader(dst, bson.TypeInt64, "cloned"), m.clonedDocs)
		dst = bsoncore.AppendInt64(appendFieldHeader(dst, bson.TypeInt64, "clonedBytes"), m.clonedBytes)
		dst = bsoncore.AppendInt64(appendFieldHeader(dst, bson.TypeInt64, "catchup"), 0)
		return closeDocument(bsoncore.AppendInt64(appendFieldHeader(dst, bson.TypeInt64, "steady"), 0), start)
	})
	if !m.req.WaitForDelete {
		m.carryOutDecision(nil)
		m.finish(nil)
		return
	}
	m.carryOutDecision(func() { m.finish(nil) })
	if !m.decisionApplied {
		m.finish(nil) // waiting for the deletion would take too long
	}
}

// commitCatalog executes the config server's part (rules/02-migration-and-metadata §6.5): checks,
// versions, history, placement. It returns the version of the control chunk, or 0|0 if there is none,
// also if the donor keeps remainders of the chunk.
func (m *migration) commitCatalog(tick func() bson.Timestamp) (reply catalog.ChunkVersion, err error) {
	ns := m.req.Namespace
	to, err := m.ms.config.ShardByID(string(m.req.To))
	if err != nil {
		return reply, err
	}
	if to.Draining {
		return reply, mongoerr.New(mongoerr.ShardNotFound, "Shard %s is currently draining", to.ID)
	}
	coll, ok, err := m.ms.config.TrackedEntry(ns)
	switch {
	case err != nil:
		return reply, err
	case !ok || !coll.AllowMigrations || !coll.PermitMigrations ||
		coll.ForbidsChunkOperations(m.ms.installed.configRelease()):
		return reply, mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"Collection %s is gone or does not allow migrations", ns)
	case coll.Unsplittable:
		return reply, mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case coll.Epoch != m.coll.Epoch || coll.Timestamp != m.coll.Timestamp:
		return reply, errStaleEpoch(ns)
	case m.initialVersion == catalog.ChunkVersion{}:
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
		return reply, mongoerr.New(mongoerr.CommitOnThirdShard, "the chunk is on shard %s", chunk.Shard)
	case m.initialVersion.Compare(chunk.Version) < 0:
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
	changed, reply := m.ms.chunks.newCommit().Move(table, chunk, m.min, m.max, m.req.To, at)
	first := table.CountOn(m.req.To) == 0
	if err := m.ms.config.putChunks(m.req.Namespace, changed...); err != nil {
		return reply, err
	}
	if first || table.CountOn(m.req.From) == 0 {
		m.ms.log.writePlacement(m.req.Namespace, &m.coll.UUID, at, table.Table().Owners())
	}
	return reply, nil
}

// newCommit returns a commit that creates the chunks that the config server writes.
func (c *Chunks) newCommit() catalog.CommitRules {
	return catalog.CommitRules{Release: c.release, NewID: c.ids.NewObjectID, HistoryWindow: c.historyWindow()}
}

// fail ends a migration after its start and before its commit. The donor keeps the range; the recipient
// deletes the copied documents.
func (m *migration) fail(err error) {
	m.cloning = false
	m.decision = aborted
	m.carryOutDecision(nil)
	if m.recipient.migration == m {
		note := "aborted"
		if m.commitRejected {
			// Nevertheless its critical section is released normally.
			m.steps.endRecipientSteps(m.ms.clock.Now(), 8)
			note = "success"
		}
		m.ms.log.writeSteps(m.recipient.id, "moveChunk.to", &m.req, m.steps.recipient, recipientSteps, note)
	}
	if !m.commitRejected && !m.killed {
		m.logRange(m.donor.id, "moveChunk.error", nil)
	}
	m.finish(err)
}

// finish releases the shards, logs the donor's steps and notifies the waiters.
func (m *migration) finish(err error) {
	if m.ended {
		return
	}
	note := "aborted"
	if err == nil {
		m.steps.endDonorStep(m.ms.clock.Now()) // step 6
		note = "success"
	}
	m.countEnd(m.ms.clock.Now(), err)
	if !m.killed { // a killed operation can no longer write
		m.ms.log.writeSteps(m.donor.id, "moveChunk.from", &m.req, m.steps.donor, donorSteps, note)
	}
	m.releaseShards()
	m.notifyWaiters(err)
	if m.ms.onEvent == nil {
		return
	}
	event := "done"
	if err != nil {
		event = "failed"
	}
	m.ms.clock.After(0, func() { m.notifyEvent(event) })
}

// notifyWaiters calls each waiter once with the result of the migration.
func (m *migration) notifyWaiters(err error) {
	waiting := m.waiters
	m.waiters = nil
	for _, done := range waiting {
		done(err)
	}
}

// releaseShards makes both shards available for other migrations.
func (m *migration) releaseShards() {
	m.ended, m.cloning = true, false
	for _, s := range []*shard{m.donor, m.recipient} {
		if s.migration == m {
			s.migration = nil
		}
	}
	delete(m.ms.active, m)
}
