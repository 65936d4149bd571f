package mock

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// shardCounters are what a shard counts of its migrations since it began
// (shardingStatistics of serverStatus, spec 02 §8).
type shardCounters struct {
	donorStarted, donorCommitted, donorAborted   int64
	donorTime, cloneTime, criticalTime           time.Duration
	donorDocs, donorBytes                        int64
	recipientStarted, recipientDocs, catchUpDocs int64
	recipientBytes, catchUpBytes                 int64
	deletedDocs, deletedBytes                    int64
	donorAbortedByIndex                          int64
}

// countClone counts a batch that was copied on both sides.
func (m *migration) countClone(docs, bytes int64) {
	m.donor.counters.donorDocs += docs
	m.donor.counters.donorBytes += bytes
	m.receiver.counters.recipientDocs += docs
	m.receiver.counters.recipientBytes += bytes
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
	counters.donorTime += now.Sub(m.started)
	for i, took := range m.donorTime {
		switch i {
		case 3: // step 4: the clone
			counters.cloneTime += took
		case 4: // step 5: the critical section
			counters.criticalTime += took
		}
	}
}

// Migrations are a shard's counters of migrations and range deletions,
// under their names in serverStatus.
func (st Statistics) Migrations(id catalog.ShardID) bson.D {
	s := st.c.shards[id]
	if s == nil {
		return bson.D{}
	}
	n := s.counters
	return bson.D{
		{Key: "countStaleConfigErrors", Value: int64(0)},
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
		{Key: "chunkMigrationConcurrency", Value: st.c.parameters.Int("chunkMigrationConcurrency")},
		{Key: "unauthorizedDirectShardOps", Value: int64(0)},
	}
}

// Section is what a shard's serverStatus shows of the migration that
// it takes part in; nil without one.
func (ms *Migrations) Section(id catalog.ShardID) bson.D {
	s := ms.c.shards[id]
	if s == nil || s.busy == nil {
		return nil
	}
	m := s.busy
	return bson.D{
		{Key: "source", Value: string(m.req.From)}, {Key: "destination", Value: string(m.req.To)}, {Key: "isDonorShard", Value: m.donor == s},
		{Key: "chunk", Value: bson.D{{Key: "min", Value: orEmpty(m.req.Min)}, {Key: "max", Value: orEmpty(m.req.Max)}}},
		{Key: "collection", Value: m.req.Namespace},
	}
}
