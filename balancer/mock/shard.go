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

// shard is one shard's local state: what a mongod of its own would hold.
type shard struct {
	id    catalog.ShardID
	colls map[string]*localCollection
	// migration is the migration the shard takes part in, as donor or recipient:
	// at most one, over all collections (rules/02-migration-and-metadata §5.2).
	migration *migration
	// down: the shard has crashed and answers nothing. What it holds stays.
	down bool
	// deletions are the range deletion tasks, in the order they were made.
	deletions        []*rangeDeletion
	deletionsByRange deletionIndex
	// deletionsChanged: tasks came, went or have other bounds since the state
	// was last written.
	deletionsChanged bool
	// mayHaveOrphans: a deletion task may have orphans (virtual data has none).
	mayHaveOrphans bool
	counters       shardCounters
	// diskBytes is the size of the volume; 0 is ample.
	diskBytes int64
	// machineID is the one drawn or given; 0 is that of the address.
	machineID int32
}

// localCollection is a collection's data on one shard, orphans included.
type localCollection struct {
	uuid    bson.Binary
	options bson.D
	docs    *store.Collection
	virtual virtualData

	validator *filter.Filter // nil without one
	// warnOnly: what the validator does not match is stored all the same.
	// lenient: documents that were bad already may stay so.
	warnOnly, lenient bool
	maxBytes, maxDocs int64 // of a capped collection; zero means no limit

	// fileBytes is the size of the collection's file: it does not shrink when ranges
	// are deleted.
	fileBytes int64
	// writtenByChunk counts the bytes since a shard last looked at a chunk to split it,
	// by the lower bound of the chunk.
	writtenByChunk map[string]int64
	// reads counts the queries, writes the documents that were written.
	reads, writes           int64
	readMicros, writeMicros int64 // what they took; nothing is known of real ones
}

func newShard(id catalog.ShardID) *shard {
	return &shard{id: id, colls: map[string]*localCollection{}}
}

// orphanCount counts the documents in ranges that wait for deletion
// (numOrphanDocs of rules/02-migration-and-metadata §5.4).
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

// addOrphans counts documents in the range of one of the shard's deletions.
func (s *shard) addOrphans(task *rangeDeletion, n int64) {
	task.orphans += n
	s.mayHaveOrphans = s.mayHaveOrphans || n > 0
}

// counts returns the fast counters of a collection, orphans and virtual data
// included.
func (l *localCollection) counts() (docs, bytes int64) {
	docs, bytes = l.virtual.docs, l.virtual.bytes
	return docs + l.docs.Count(), bytes + l.docs.Bytes()
}

// storedBytes returns how large the collection's file is.
func (l *localCollection) storedBytes() int64 {
	_, bytes := l.counts()
	return max(l.fileBytes, bytes, StorageUnit)
}

// ownedBytes returns the estimate that statistics for balancing use: the
// truncated average document times the documents that are not orphans
// (rules/01-rounds-and-settings §3.2).
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

// keyIndex finds the index that serves a shard key.
func (l *localCollection) keyIndex(p catalog.KeyPattern) (*store.Index, bool) {
	return l.docs.IndexFor(p.Doc())
}

// shardingIndex returns one that the collection can be sharded by: without
// arrays.
func (l *localCollection) shardingIndex(p catalog.KeyPattern) (*store.Index, bool) {
	index, ok := l.keyIndex(p)
	if !ok || index.IsMultikey() {
		return nil, false
	}
	return index, true
}

// documentsInRange walks the documents whose shard key is in [min, max), with the key and
// in its order, orphans included. The range of the last chunk includes its upper bound.
func (l *localCollection) documentsInRange(
	p catalog.KeyPattern,
	min, max catalog.Key,
) iter.Seq2[store.RecordID, []byte] {
	if l.docs.Count() == 0 {
		return func(func(store.RecordID, []byte) bool) {} // all of its data may be virtual
	}
	index, ok := l.keyIndex(p)
	if !ok {
		return l.scanRange(p, min, max)
	}
	to := max.Bytes()
	if max.Equal(p.GlobalMax()) {
		to = nil // the key of all MaxKey belongs to the last chunk
	}
	keys := shardKeyPrefixes(l.docs.ScanIndex(index, min.Bytes(), to), p.Len(), index.FieldCount())
	if index.IsMultikey() {
		return uniqueRecords(keys)
	}
	return keys
}

// uniqueRecords leaves the first entry of each record: an index that goes beyond the
// shard key has one for each element of an array there.
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

// shardKeyPrefixes leaves of the keys of an index the fields of the shard key, which
// the index may go beyond.
func shardKeyPrefixes(entries iter.Seq2[store.RecordID, []byte], fields, of int) iter.Seq2[store.RecordID, []byte] {
	if fields == of {
		return entries
	}
	return func(yield func(store.RecordID, []byte) bool) {
		for record, key := range entries {
			end := 0
			for range fields {
				end += keyorder.Size(key[end:])
			}
			if !yield(record, key[:end]) {
				return
			}
		}
	}
}

// scanRange is documentsInRange without an index: a shard that owned nothing when the
// key was refined has none for the new key, and orphans all the same.
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

// shardCounters are what a shard counts of its migrations since it began
// (shardingStatistics of serverStatus, rules/02-migration-and-metadata §8).
type shardCounters struct {
	donorStarted, donorCommitted, donorAborted   int64
	donorTime, cloneTime, criticalTime           time.Duration
	donorDocs, donorBytes                        int64
	recipientStarted, recipientDocs, catchUpDocs int64
	recipientBytes, catchUpBytes                 int64
	deletedDocs, deletedBytes                    int64
	donorAbortedByIndex                          int64
	staleRequests                                int64 // requests that were routed by an old table
}

// countClone counts a batch that was copied on both sides.
func (m *migration) countClone(docs, bytes int64) {
	m.donor.counters.donorDocs += docs
	m.donor.counters.donorBytes += bytes
	m.recipient.counters.recipientDocs += docs
	m.recipient.counters.recipientBytes += bytes
}

// countEnd counts how a migration ended that had begun to copy.
func (m *migration) countEnd(now time.Time, err error) {
	if m.cloneBegan.IsZero() {
		return // refused before the clone
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

// Migrations returns a shard's counters of migrations and range deletions,
// under their names in serverStatus.
func (st *Statistics) Migrations(id catalog.ShardID) bson.D {
	var n shardCounters // of a config server that is not a shard, nothing
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

// donorStepsBeforeCritical is the donor's step in which the last modifications are copied and writes wait.
const donorStepsBeforeCritical = 4

// CriticalSection returns how long a shard has been in the critical section of a migration; false
// when it is in none. The commit at its end takes no time here.
func (ms *Migrations) CriticalSection(id catalog.ShardID) (lasts time.Duration, held bool) {
	s := ms.shards[id]
	if s == nil || s.migration == nil || s.migration.donor != s ||
		len(s.migration.steps.donor) != donorStepsBeforeCritical {
		return 0, false
	}
	return ms.clock.Now().Sub(s.migration.steps.donorAt), true
}

// StatusSection returns what a shard's serverStatus shows of the migration that it
// takes part in; nil without one.
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

// shardSet is the shards of the cluster, by id.
type shardSet map[catalog.ShardID]*shard

// ids lists the shards in catalog order.
func (set shardSet) ids() []catalog.ShardID { return slices.Sorted(maps.Keys(set)) }

func (set shardSet) names() []string {
	var names []string
	for _, id := range set.ids() {
		names = append(names, string(id))
	}
	return names
}

// has reports whether a shard is one of the cluster still, and not a former one.
func (set shardSet) has(s *shard) bool { return set[s.id] == s }

// collection returns a collection on a shard; nil when either is missing.
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

// ShardIDs lists the shards in catalog order.
func (c *Cluster) ShardIDs() []catalog.ShardID { return c.shards.ids() }

// ShardCount returns the number of shards. It takes the lock.
func (c *Cluster) ShardCount() int {
	c.clock.Lock()
	defer c.clock.Unlock()
	return len(c.shards)
}
