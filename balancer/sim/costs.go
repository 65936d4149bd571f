package sim

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Costs are the durations of operations. The duration of a migration's clone depends on its size; the
// others are constant.
type Costs struct {
	// Bandwidth is the bandwidth of one migration in bytes per second.
	Bandwidth int64
	// BatchTime is the round trip time of each batch of BatchBytes.
	BatchTime  time.Duration
	BatchBytes int64
	// MoveOverhead is the duration of a migration without its clone: checks, catching up and the commit.
	// Refused is the duration of a migration that the donor rejects, Failed of one that fails later.
	MoveOverhead, Refused, Failed time.Duration
	// Prepare is the part of these three durations before the donor reads the chunk.
	Prepare time.Duration
	// Merge, MergeAll and Measure are the durations of the secondary thread's actions.
	Merge, MergeAll, Measure time.Duration
	// OrphanDelay is how long a donor waits before it deletes a migrated range (orphanCleanupDelaySecs).
	// DeleteBytesPerSecond is the speed of the deletion in bytes per second; with 0 the deletion takes no time.
	OrphanDelay          time.Duration
	DeleteBytesPerSecond int64
	// MaxDeletionWait is how long a migration waits for an overlapping range
	// deletion before it fails (receiveChunkWaitForRangeDeleterTimeoutMS).
	MaxDeletionWait time.Duration
	// HistoryWindow is how long a chunk must have been on its shard before the auto-merger may merge it.
	HistoryWindow time.Duration
}

// actionTime returns the duration of an action.
func (c Costs) actionTime(kind policy.StreamActionKind) time.Duration {
	switch kind {
	case policy.MergeRange:
		return c.Merge
	case policy.MergeAll:
		return c.MergeAll
	}
	return c.Measure
}

// DefaultCosts returns the costs of a small idle cluster, which are also those of the mock, and the
// waits with the defaults of a release's server parameters.
func DefaultCosts(r catalog.Release) Costs {
	return Costs{
		Bandwidth: 64 << 20, BatchTime: 5 * time.Millisecond, BatchBytes: 16 << 20,
		MoveOverhead: 175 * time.Millisecond, Refused: 120 * time.Millisecond, Failed: 120 * time.Millisecond,
		Prepare: 20 * time.Millisecond,
		Merge:   20 * time.Millisecond, MergeAll: 30 * time.Millisecond, Measure: 5 * time.Millisecond,
		OrphanDelay: r.CleanupDelay(), MaxDeletionWait: 10 * time.Second, HistoryWindow: 5 * time.Minute,
	}
}

// SnapshotCosts returns DefaultCosts with the longest delay of range deletions that the shards in the
// snapshot report.
func SnapshotCosts(s *catalog.Snapshot) Costs {
	c := DefaultCosts(s.Release())
	var told time.Duration
	for _, shard := range s.Shards() {
		told = max(told, shard.CleanupDelay)
	}
	if told > 0 {
		c.OrphanDelay = told
	}
	return c
}

// MoveTime returns the duration of a migration of the given size.
func (c Costs) MoveTime(bytes int64) time.Duration {
	took := c.MoveOverhead + c.transferTime(bytes, c.Bandwidth)
	if c.BatchBytes > 0 {
		took += time.Duration(max(1, (bytes+c.BatchBytes-1)/c.BatchBytes)) * c.BatchTime
	}
	return took
}

func (Costs) transferTime(bytes, rate int64) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
}
