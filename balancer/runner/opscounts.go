package runner

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
)

// Defaults of the goals ops and load.
const (
	defaultOpsInterval = time.Minute
	defaultOpsCoolDown = time.Hour
)

// CountOperations counts, for a time, the operations of each shard on collections.
func CountOperations(ctx context.Context, c interface {
	OperationCounts(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error)
}, clock pace.Clock, d time.Duration, namespaces []string) (map[string]map[catalog.ShardID]int64, error) {
	before, err := c.OperationCounts(ctx, namespaces)
	if err != nil {
		return nil, err
	}
	if err := clock.Sleep(ctx, cmp.Or(d, defaultOpsInterval)); err != nil {
		return nil, err
	}
	after, err := c.OperationCounts(ctx, namespaces)
	if err != nil {
		return nil, err
	}
	for ns, shards := range after {
		for id, n := range shards {
			if was := before[ns][id]; was <= n { // else the counters of the shard were reset by a restart
				shards[id] = n - was
			}
		}
	}
	return after, nil
}

// countOperationsAsSizes converts operation counts into sizes for the policy. The scale is such that the
// threshold of the policy, 3 chunk sizes, corresponds to a tenth of the operations that each shard
// should have.
func (r *run) countOperationsAsSizes(ctx context.Context, colls []catalog.Collection) (
	map[string]map[catalog.ShardID]int64, error) {
	var shards []catalog.Shard
	names := make([]string, len(colls))
	for i, c := range colls {
		names[i] = c.Namespace
	}
	look, err := r.cluster.Snapshot(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, s := range look.Shards() {
		shards = append(shards, s.Shard)
	}
	r.emit(Event{Kind: Waiting, Wait: r.o.OpsInterval, Why: "counting operations"})
	load, err := CountOperations(ctx, r.cluster, r.o.Clock, r.o.OpsInterval, names)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.round.operations = load
	r.mu.Unlock()
	sizes := map[string]map[catalog.ShardID]int64{}
	for _, c := range colls {
		sizes[c.Namespace] = r.scaleOperations(load[c.Namespace], shards, c.ChunkSize(r.settings))
		r.skipIfNotImproving(c.Namespace, load[c.Namespace], shards)
	}
	return sizes, nil
}

func (r *run) scaleOperations(
	load map[catalog.ShardID]int64, shards []catalog.Shard, chunkSize int64,
) map[catalog.ShardID]int64 {
	var total int64
	for _, n := range load {
		total += n
	}
	sizes := make(map[catalog.ShardID]int64, len(shards))
	for _, s := range shards {
		sizes[s.ID] = 0
		if total > 0 {
			all := float64(policy.ImbalanceFactor*10*chunkSize) * float64(len(shards))
			sizes[s.ID] = int64(all * float64(load[s.ID]) / float64(total))
		}
	}
	return sizes
}

// opsSpread is the smallest difference between the shards with the most and with the fewest operations
// so far, as a fraction of all operations, and the number of counts since then without an improvement.
type opsSpread struct {
	best        float64
	notImproved int
}

// maxNotImproved is the number of counts without an improvement after which a collection is skipped.
// minImprovement is the minimum improvement that counts.
const (
	maxNotImproved = 5
	minImprovement = 0.01
)

// skipIfNotImproving skips a collection if moving chunks does not balance its operations any more. The
// operation counters of shards do not tell which chunk an operation used, and a few keys may have most
// of the operations.
func (r *run) skipIfNotImproving(ns string, load map[catalog.ShardID]int64, shards []catalog.Shard) {
	var total, most, fewest int64
	for i, s := range shards {
		n := load[s.ID]
		total, most = total+n, max(most, n)
		if i == 0 || n < fewest {
			fewest = n
		}
	}
	if total == 0 {
		return
	}
	if r.opsSpreads == nil {
		r.opsSpreads = map[string]opsSpread{}
	}
	now := float64(most-fewest) / float64(total)
	s, known := r.opsSpreads[ns]
	if !known || now < s.best-minImprovement {
		r.opsSpreads[ns] = opsSpread{best: now}
		return
	}
	s.notImproved++
	r.opsSpreads[ns] = s
	if s.notImproved >= maxNotImproved {
		why := fmt.Sprintf("%d rounds of moves have not spread its operations better: a few keys may have most of them",
			maxNotImproved)
		r.skipped.skipCollection(ns, why)
		r.emit(Event{Kind: Skipped, Namespace: ns, Why: why})
	}
}

// readOperations returns the operations on the collections of some migrations: the operations that were
// counted for the round, or else all since the shards were started.
func (r *run) readOperations(ctx context.Context, chosen []policy.Migration) map[string]map[catalog.ShardID]int64 {
	r.mu.Lock()
	load := r.round.operations
	r.mu.Unlock()
	if load != nil {
		return load
	}
	var names []string
	for _, m := range chosen {
		names = append(names, m.Namespace)
	}
	load, err := r.cluster.OperationCounts(ctx, names)
	if err != nil {
		return nil // the order of choice is kept
	}
	return load
}
