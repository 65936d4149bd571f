package mock

import (
	"iter"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
)

// shard is the local state of one shard, which corresponds to the data of a mongod.
type shard struct {
	id    catalog.ShardID
	colls map[string]*localCollection
	// migration is the migration in which the shard takes part, as donor or recipient. There is at most
	// one, over all collections (rules/02-migration-and-metadata §5.2).
	migration *migration
	// down reports whether the shard has crashed. Its data stays.
	down bool
	// deletions are the range deletion tasks in the order of their creation.
	deletions        []*rangeDeletion
	deletionsByRange deletionIndex
	// deletionsChanged reports whether tasks were added, removed or changed since the state was last
	// written.
	deletionsChanged bool
	// mayHaveOrphans reports whether a deletion task may have orphans. Virtual data has none.
	mayHaveOrphans bool
	counters       shardCounters
	// diskBytes is the size of the volume; 0 means unlimited.
	diskBytes int64
	// machineID is a generated or assigned machine id; 0 for the one derived from the address.
	machineID int32
}

// localCollection is a collection's data on one shard, including orphans.
type localCollection struct {
	uuid    bson.Binary
	options bson.D
	docs    *store.Collection
	virtual virtualData

	validator *filter.Filter // nil if there is none
	// warnOnly accepts invalid documents with a warning. moderate allows documents that were invalid
	// before to stay invalid.
	warnOnly, moderate bool
	maxBytes, maxDocs  int64 // of a capped collection; zero means no limit

	// fileBytes is the size of the collection's file, which does not shrink when ranges are deleted.
	fileBytes int64
	// writtenByChunk holds the bytes written to each chunk since the shard last checked whether to split
	// it, by the encoded lower bound of the chunk.
	writtenByChunk map[string]int64
	// queries counts queries, writtenDocs counts written documents.
	queries, writtenDocs    int64
	readMicros, writeMicros int64 // durations of workload operations; real operations are not measured
}

func newShard(id catalog.ShardID) *shard {
	return &shard{id: id, colls: map[string]*localCollection{}}
}

// orphanCount returns the number of documents in ranges with a pending deletion (numOrphanDocs of
// rules/02-migration-and-metadata §5.4).
func (s *shard) orphanCount(ns string) int64 {
	if !s.mayHaveOrphans {
		return 0
	}
	var n int64
	s.mayHaveOrphans = false
	for _, task := range s.deletions {
		if task.orphans == 0 {
			continue
		}
		s.mayHaveOrphans = true
		if task.coll.Namespace == ns {
			n += task.orphans
		}
	}
	return n
}

// addOrphans adds to the number of orphans of a deletion task.
func (s *shard) addOrphans(task *rangeDeletion, n int64) {
	task.orphans += n
	s.mayHaveOrphans = s.mayHaveOrphans || n > 0
}

// counts returns the counters of a collection, including orphans and virtual data.
func (l *localCollection) counts() (docs, bytes int64) {
	docs, bytes = l.virtual.docs, l.virtual.bytes
	return docs + l.docs.Count(), bytes + l.docs.Bytes()
}

// storageSize returns the size of the collection's file.
func (l *localCollection) storageSize() int64 {
	_, bytes := l.counts()
	return max(l.fileBytes, bytes, StorageUnit)
}

// ownedBytes returns the size by which the balancer decides: the truncated average document size times
// the number of documents that are not orphans (rules/01-rounds-and-settings §3.2).
func (s *shard) ownedBytes(ns string, uuid bson.Binary) int64 {
	l := s.colls[ns]
	if l == nil || !l.uuid.Equal(uuid) {
		return 0
	}
	docs, bytes := l.counts()
	orphans := s.orphanCount(ns)
	if docs == 0 || bytes == 0 || docs <= orphans {
		return 0
	}
	return bytes / docs * (docs - orphans)
}

// shardKeyIndex returns the index that serves a shard key.
func (l *localCollection) shardKeyIndex(p catalog.KeyPattern) (*store.Index, bool) {
	return l.docs.IndexFor(p.Doc())
}

// shardingIndex returns an index with which the collection can be sharded, which must not be multikey.
func (l *localCollection) shardingIndex(p catalog.KeyPattern) (*store.Index, bool) {
	index, ok := l.shardKeyIndex(p)
	if !ok || index.IsMultikey() {
		return nil, false
	}
	return index, true
}

// documentsInRange iterates, in shard key order, over the documents with a shard key in [min, max),
// including orphans. The range of the last chunk includes its upper bound.
func (l *localCollection) documentsInRange(
	p catalog.KeyPattern,
	min, max catalog.Key,
) iter.Seq2[store.RecordID, []byte] {
	if l.docs.Count() == 0 {
		return func(func(store.RecordID, []byte) bool) {} // all data may be virtual
	}
	index, ok := l.shardKeyIndex(p)
	if !ok {
		return l.scanRange(p, min, max)
	}
	to := max.Bytes()
	if max.Equal(p.GlobalMax()) {
		to = nil // the key whose fields are all MaxKey belongs to the last chunk
	}
	keys := shardKeyPrefixes(l.docs.ScanIndex(index, min.Bytes(), to), p.Len(), index.FieldCount())
	if index.IsMultikey() {
		return uniqueRecords(keys)
	}
	return keys
}

// uniqueRecords yields only the first entry of each record. An index with further fields after the shard
// key has an entry for each element of an array in those fields.
func uniqueRecords(entries iter.Seq2[store.RecordID, []byte]) iter.Seq2[store.RecordID, []byte] {
	return func(yield func(store.RecordID, []byte) bool) {
		seen := map[store.RecordID]bool{}
		for record, key := range entries {
			if seen[record] {
				continue
			}
			seen[record] = true
			if !yield(record, key) {
				return
			}
		}
	}
}

// shardKeyPrefixes truncates index keys to the fields of the shard key.
func shardKeyPrefixes(entries iter.Seq2[store.RecordID, []byte], fields, indexFields int) iter.Seq2[store.RecordID,
	[]byte] {
	if fields == indexFields {
		return entries
	}
	return func(yield func(store.RecordID, []byte) bool) {
		for record, key := range entries {
			end := 0
			for range fields {
				end += keyorder.EncodedSize(key[end:])
			}
			if !yield(record, key[:end]) {
				return
			}
		}
	}
}

// scanRange is documentsInRange without an index, and not in the order of keys. A shard that owned no
// chunks when the key was refined has no index on the new key, but may have orphans.
func (l *localCollection) scanRange(p catalog.KeyPattern, min, max catalog.Key) iter.Seq2[store.RecordID, []byte] {
	last := max.Equal(p.GlobalMax())
	return func(yield func(store.RecordID, []byte) bool) {
		for record, doc := range l.docs.Scan() {
			key, err := p.DocumentKey(doc)
			if err != nil || key.Less(min) || !last && !key.Less(max) {
				continue
			}
			if !yield(record, key.Bytes()) {
				return
			}
		}
	}
}

// shardCounters are a shard's counters of migrations since its start (shardingStatistics of
// serverStatus, rules/02-migration-and-metadata §8).
type shardCounters struct {
	donorStarted, donorCommitted, donorAborted   int64
	donorTime, cloneTime, criticalTime           time.Duration
	donorDocs, donorBytes                        int64
	recipientStarted, recipientDocs, catchUpDocs int64
	recipientBytes, catchUpBytes                 int64
	deletedDocs, deletedBytes                    int64
	donorAbortedByIndex                          int64
	staleRequests                                int64 // rejected because of a stale routing table
}

// countClone counts a batch of the clone on both shards.
func (m *migration) countClone(docs, bytes int64) {
	m.donor.counters.donorDocs += docs
	m.donor.counters.donorBytes += bytes
	m.recipient.counters.recipientDocs += docs
	m.recipient.counters.recipientBytes += bytes
}

// countEnd counts the end of a migration whose clone had begun.
func (m *migration) countEnd(now time.Time, err error) {
	if m.cloneBegan.IsZero() {
		return // rejected before the clone
	}
	counters := &m.donor.counters
	if err == nil {
		counters.donorCommitted++
	} else {
		counters.donorAborted++
	}
	counters.donorTime += now.Sub(m.steps.began)
	for i, took := range m.steps.donor {
		switch i {
		case 3: // step 4: the clone
			counters.cloneTime += took
		case donorStepsBeforeCritical:
			counters.criticalTime += took
		}
	}
}

// MigrationCounters returns a shard's counters of migrations and range deletions with their names in
// serverStatus.
func (st *Statistics) MigrationCounters(id catalog.ShardID) bson.D {
	var n shardCounters // zero for a config server that is not a shard
	if s := st.shards[id]; s != nil {
		n = s.counters
	}
	return bson.D{
		{Key: "countStaleConfigErrors", Value: n.staleRequests},
		{Key: "countDonorMoveChunkStarted", Value: n.donorStarted},
		{Key: "countDonorMoveChunkCommitted", Value: n.donorCommitted},
		{Key: "countDonorMoveChunkAborted", Value: n.donorAborted},
		{Key: "totalDonorMoveChunkTimeMillis", Value: n.donorTime.Milliseconds()},
		{Key: "totalDonorChunkCloneTimeMillis", Value: n.cloneTime.Milliseconds()},
		{Key: "totalCriticalSectionCommitTimeMillis", Value: n.criticalTime.Milliseconds()},
		{Key: "totalCriticalSectionTimeMillis", Value: n.criticalTime.Milliseconds()},
		{Key: "totalRecipientCriticalSectionTimeMillis", Value: int64(0)},
		{Key: "countDocsClonedOnRecipient", Value: n.recipientDocs},
		{Key: "countBytesClonedOnRecipient", Value: n.recipientBytes},
		{Key: "countDocsClonedOnCatchUpOnRecipient", Value: n.catchUpDocs},
		{Key: "countBytesClonedOnCatchUpOnRecipient", Value: n.catchUpBytes},
		{Key: "countDocsClonedOnDonor", Value: n.donorDocs},
		{Key: "countBytesClonedOnDonor", Value: n.donorBytes},
		{Key: "countRecipientMoveChunkStarted", Value: n.recipientStarted},
		{Key: "countDocsDeletedByRangeDeleter", Value: n.deletedDocs},
		{Key: "countBytesDeletedByRangeDeleter", Value: n.deletedBytes},
		{Key: "countDonorMoveChunkLockTimeout", Value: int64(0)},
		{Key: "countDonorMoveChunkAbortConflictingIndexOperation", Value: n.donorAbortedByIndex},
		{Key: "unfinishedMigrationFromPreviousPrimary", Value: int64(0)},
		{Key: "chunkMigrationConcurrency", Value: int32(st.parameters.Int("chunkMigrationConcurrency"))},
		{Key: "unauthorizedDirectShardOps", Value: int64(0)},
	}
}

// donorStepsBeforeCritical is the number of donor steps before the critical section, in which the last
// modifications are copied and writes wait.
const donorStepsBeforeCritical = 4

// CriticalSection returns how long a shard has been in the critical section of a migration. held is
// false if it is not in one. The commit at the end takes no time in the mock.
func (ms *Migrations) CriticalSection(id catalog.ShardID) (lasts time.Duration, held bool) {
	s := ms.shards[id]
	if s == nil || s.migration == nil || s.migration.donor != s ||
		len(s.migration.steps.donor) != donorStepsBeforeCritical {
		return 0, false
	}
	return ms.clock.Now().Sub(s.migration.steps.donorStepEnded), true
}

// StatusSection returns the section of serverStatus for the migration in which a shard takes part, nil
// if there is none.
func (ms *Migrations) StatusSection(id catalog.ShardID) bson.D {
	s := ms.shards[id]
	if s == nil || s.migration == nil {
		return nil
	}
	m := s.migration
	return bson.D{
		{Key: "source", Value: string(m.req.From)}, {Key: "destination", Value: string(m.req.To)}, {Key: "isDonorShard",
			Value: m.donor == s},
		{Key: "chunk", Value: bson.D{{Key: "min", Value: orEmpty(m.req.Min)}, {Key: "max", Value: orEmpty(m.req.Max)}}},
		{Key: "collection", Value: m.req.Namespace},
	}
}

// shardSet holds the shards of the cluster by id.
type shardSet map[catalog.ShardID]*shard

// ids returns the ids of the shards in catalog order.
func (set shardSet) ids() []catalog.ShardID { return slices.Sorted(maps.Keys(set)) }

func (set shardSet) names() []string {
	var names []string
	for _, id := range set.ids() {
		names = append(names, string(id))
	}
	return names
}

// has reports whether a shard is in the cluster and was not removed.
func (set shardSet) has(s *shard) bool { return set[s.id] == s }

// collection returns a collection on a shard, nil if either does not exist.
func (set shardSet) collection(id catalog.ShardID, ns string) *localCollection {
	if s := set[id]; s != nil {
		return s.colls[ns]
	}
	return nil
}

// anyDown reports whether a shard has crashed.
func (set shardSet) anyDown() bool {
	for _, s := range set {
		if s.down {
			return true
		}
	}
	return false
}

// ShardIDs returns the ids of the shards in catalog order.
func (c *Cluster) ShardIDs() []catalog.ShardID { return c.shards.ids() }

// ShardCount returns the number of shards. It takes the lock.
func (c *Cluster) ShardCount() int {
	c.clock.Lock()
	defer c.clock.Unlock()
	return len(c.shards)
}
