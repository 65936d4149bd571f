package mock

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// recipientError wraps an error of the recipient before the commit in the donor's message
// (rules/02-migration-and-metadata §5.4).
func recipientError(cause string) error {
	return mongoerr.New(mongoerr.OperationFailed, "Data transfer error: migrate failed: %s", cause)
}

func errDropped() error {
	return mongoerr.New(mongoerr.NamespaceNotFound, "the collection was dropped")
}

// endChecks ends the checks and begins the clone.
func (m *migration) endChecks() {
	m.steps.endDonorStep(m.ms.clock.Now()) // step 2: checks done
	m.pauseDonor(2, (*migration).beginClone)
}

// beginClone logs the start, checks the size and sends the request to the recipient.
func (m *migration) beginClone() {
	if m.ended {
		return
	}
	if err := m.ms.faults.checkReachable(m.donor.id, configShard); err != nil { // the start cannot be logged
		m.finish(err)
		return
	}
	m.logRange(m.donor.id, "moveChunk.start", nil)
	if m.min.Compare(m.max) >= 0 {
		m.fail(mongoerr.New(mongoerr.FailedToParse, "min: %s should be less than max: %s", m.req.Min, m.req.Max))
		return
	}
	local := m.local(m.donor)
	if _, ok := local.shardKeyIndex(m.coll.Pattern); !ok {
		m.fail(mongoerr.New(mongoerr.IndexNotFound, "can't find index with prefix %s in storeCurrentRecordId for %s",
			m.coll.Pattern.Doc(), m.req.Namespace))
		return
	}
	// From now on writes are tracked. The list of records is captured now, no matter when the recipient
	// begins.
	m.cloning = true
	m.cloneBegan = m.ms.clock.Now()
	m.donor.counters.donorStarted++
	m.mods = modifications{}
	for record := range local.documentsInRange(m.coll.Pattern, m.min, m.max) {
		m.records = append(m.records, record)
	}
	m.virtualDocs, m.virtualBytes = local.virtual.sumIn(m.coll.Pattern, m.min, m.max)
	if err := m.checkSize(local); err != nil {
		m.fail(err)
		return
	}
	if err := m.ms.faults.checkReachable(m.donor.id, m.recipient.id); err != nil {
		m.fail(err)
		return
	}
	if m.recipient.migration != nil {
		m.fail(busyError(m.recipient))
		return
	}
	if to, err := m.ms.config.ShardByID(string(m.recipient.id)); err == nil && to.Draining && to.ID == configShard {
		m.fail(recipientError("ShardNotFound: the config shard is draining"))
		return
	}
	m.recipient.migration = m
	m.recipient.counters.recipientStarted++
	when := deletionDelayed
	if m.req.WaitForDelete {
		when = deletionNow
	}
	m.donorTask = m.donor.addDeletion(m, when)
	m.waitForDeletions(m.recipient, (*migration).prepareRecipient)
}

// checkSize implements rules/02-migration-and-metadata §5.7: unless forced, a chunk may have at most
// twice as many documents as a chunk of average-sized documents. If a user forces the migration, writes
// wait during the whole clone.
func (m *migration) checkSize(local *localCollection) error {
	documents, bytes := local.counts()
	limit := policy.MaxDocuments(m.ms.release, documents, bytes, m.req.MaxChunkSizeBytes)
	n := int64(len(m.records)) + m.virtualDocs
	switch {
	case n <= limit:
		return nil
	case m.req.Force == policy.ForceNone:
		return mongoerr.New(mongoerr.ChunkTooBig,
			"Cannot move chunk: the maximum number of documents for a chunk is %d, the range holds %d", limit, n)
	}
	m.cloneBlocksWrites = m.req.Force == policy.ForceManual
	return nil
}

// AwaitWritable blocks a write to a collection while the donor is in the critical section during the
// clone of a forced migration.
func (ms *Migrations) AwaitWritable(ctx context.Context, deadline time.Time, ns string) error {
	if !ms.writesBlocked(ns) {
		return nil // the usual case
	}
	return ms.clock.Await(ctx, deadline, func() bool { return !ms.writesBlocked(ns) })
}

func (ms *Migrations) writesBlocked(ns string) bool {
	for m := range ms.active {
		if m.cloneBlocksWrites && m.cloning && m.req.Namespace == ns {
			return true
		}
	}
	return false
}

// prepareRecipient prepares the recipient: it creates the collection, and a range deletion task for the
// copied range. Then it starts the clone.
func (m *migration) prepareRecipient() {
	if err := m.prepareRecipientCollection(); err != nil {
		m.fail(recipientError(err.Error()))
		return
	}
	m.recipientTask = m.recipient.addDeletion(m, deletionNow)
	m.steps.endRecipientSteps(m.ms.clock.Now(), 3)
	m.steps.endDonorStep(m.ms.clock.Now()) // step 3: clone started
	m.pauseDonor(3, func(m *migration) {
		m.pauseRecipient(3, func(m *migration) { m.after(batchTime+m.extraLatency(), (*migration).copyBatch) })
	})
}

// catchUpLimit is the time limit of the recipient for copying and catching up.
const catchUpLimit = 6 * time.Hour

// scheduleOrTimeOut calls then after d, or fails the migration if catchUpLimit passes first.
func (m *migration) scheduleOrTimeOut(d time.Duration, then func(*migration)) {
	left := m.cloneBegan.Add(catchUpLimit).Sub(m.ms.clock.Now())
	if d <= left {
		m.after(d, then)
		return
	}
	m.after(left, func(m *migration) {
		if m.cloning {
			m.fail(mongoerr.New(mongoerr.ExceededTimeLimit, "the recipient has not caught up after %v", catchUpLimit))
		}
	})
}

// prepareRecipientCollection creates the collection with the donor's indexes on the recipient. If the
// recipient owns no chunks, it drops indexes that the donor lacks, which remain from an earlier time. If
// the recipient has documents, it builds no indexes.
func (m *migration) prepareRecipientCollection() error {
	ns := m.req.Namespace
	from, to := m.local(m.donor), m.recipient.colls[ns]
	if from == nil {
		return errDropped()
	}
	if to != nil && !to.uuid.Equal(from.uuid) {
		return mongoerr.New(mongoerr.InvalidUUID, "shard %s has another collection of that name", m.recipient.id)
	}
	if to == nil {
		to = newLocal(from.docs.Language, from.uuid, from.options, ns)
		m.recipient.colls[ns] = to
	}
	m.indexes = from.docs.Indexes()
	if to.docs.HasSameIndexNames(from.docs) {
		return nil // the usual case
	}
	have, wanted := indexesByName(to.docs), indexesByName(from.docs)
	if table := m.ms.config.tables[ns]; table != nil && table.CountOn(m.recipient.id) == 0 {
		for name := range have {
			if _, ok := wanted[name]; ok {
				continue
			}
			if err := to.docs.DropIndex(name); err != nil {
				return err
			}
		}
	}
	for _, spec := range from.docs.Indexes() {
		if _, ok := have[spec.Name]; ok {
			continue
		}
		if to.docs.Count() > 0 {
			return mongoerr.New(mongoerr.CannotCreateCollection,
				"CannotCreateCollection: shard %s has documents of the collection and lacks its index %s", m.recipient.id,
				spec.Name)
		}
		if err := to.docs.CreateIndex(spec); err != nil {
			return err
		}
	}
	return nil
}

// restoreIndexes creates on the recipient the indexes that the donor had at the start.
func (m *migration) restoreIndexes(to *localCollection) error {
	have := indexesByName(to.docs)
	for _, spec := range m.indexes {
		if _, ok := have[spec.Name]; ok {
			delete(have, spec.Name)
		} else if err := to.docs.CreateIndex(spec); err != nil {
			return err
		}
	}
	for name := range have {
		if err := to.docs.DropIndex(name); err != nil {
			return err
		}
	}
	return nil
}

func indexesByName(docs *store.Collection) map[string]store.IndexSpec {
	specs := map[string]store.IndexSpec{}
	for _, spec := range docs.Indexes() {
		specs[spec.Name] = spec
	}
	return specs
}

// throttleDelay returns how long each batch of the clone waits for the recipient's secondary. It waits
// only with a write concern of more than one node; a server treats all others as none
// (rules/02-migration-and-metadata §5.9).
func (m *migration) throttleDelay() time.Duration {
	w := m.req.WriteConcern.Lookup("w")
	n, _ := w.AsInt64OK()
	_, mode := w.StringValueOK()
	if !m.req.SecondaryThrottle || n <= 1 && !mode {
		return 0
	}
	if mode {
		return m.ms.faults.majorityLag(m.recipient.id)
	}
	return m.ms.faults.ReplicationTime(m.recipient.id, int(n))
}

// copyBatch copies up to 16 MiB of the documents recorded at the start that still exist and are still in
// the range.
func (m *migration) copyBatch() {
	m.notifyEvent("clone")
	if !m.cloning {
		return
	}
	from, to := m.local(m.donor), m.local(m.recipient)
	if from == nil || to == nil {
		m.fail(recipientError(errDropped().Error()))
		return
	}
	var size int64
	before := m.clonedDocs
	for len(m.records) > 0 && size < cloneBatchBytes {
		record := m.records[0]
		m.records = m.records[1:]
		doc, ok := from.docs.Get(record)
		if !ok || !m.containsDocument(doc) {
			continue
		}
		if _, err := to.docs.Insert(doc); err != nil {
			m.fail(recipientError(err.Error()))
			return
		}
		size += int64(len(doc))
		m.clonedDocs++
		m.recipient.addOrphans(m.recipientTask, 1)
	}
	m.clonedBytes += size
	m.countClone(m.clonedDocs-before, size)
	wait := batchTime + m.extraLatency() + m.throttleDelay() + m.ms.faults.transferTime(size, m.donor.id, m.recipient.id)
	if len(m.records) > 0 {
		m.scheduleOrTimeOut(wait, (*migration).copyBatch)
		return
	}
	docs, bytes := m.virtualDocs, m.virtualBytes
	m.clonedDocs += docs
	m.clonedBytes += bytes
	m.countClone(docs, bytes)
	m.scheduleOrTimeOut(wait+m.ms.faults.transferTime(bytes, m.donor.id, m.recipient.id), func(m *migration) {
		if !m.cloning {
			return
		}
		m.steps.endRecipientSteps(m.ms.clock.Now(), 4)
		m.pauseRecipient(4, (*migration).catchUp)
	})
}

// logRange writes a change log entry with the range, the shards, and the fields that more appends.
func (m *migration) logRange(by catalog.ShardID, what string, more func(dst []byte) []byte) {
	log := m.ms.log
	start, dst := bsoncore.AppendDocumentStart(log.scratch[:0])
	dst = appendDocument(dst, "min", m.req.Min)
	dst = appendDocument(dst, "max", m.req.Max)
	dst = appendText(dst, "from", m.req.From)
	dst = appendText(dst, "to", m.req.To)
	if more != nil {
		dst = more(dst)
	}
	log.scratch = closeDocument(dst, start)
	log.writeChangeEncoded(by, what, m.req.Namespace, log.scratch)
}
