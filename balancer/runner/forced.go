package runner

import (
	"context"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// handleTooLarge handles a chunk that is too large to be moved and can't be split. If
// Options.ForceJumbo is set, the chunk is moved by force when it is chosen again.
func (r *run) handleTooLarge(ctx context.Context, ns string, lower catalog.Key) error {
	chunk, c, known := r.chunkAt(ns, lower)
	if !known {
		r.skipRange(ns, lower, policy.JumboFlag, "it is too large to move, and can't be split")
		return nil
	}
	size, err := r.cluster.RangeSize(ctx, apply.Command{
		Kind: plan.Move, Namespace: ns, Pattern: c.Pattern, Min: chunk.Min, Max: chunk.Max, From: chunk.Shard,
	})
	if err != nil {
		return err
	}
	if f := apply.EstimateForcedMove(size.Bytes); r.o.ForceJumbo {
		r.skipped.setForced(ns, lower, f)
	} else {
		r.skipRange(ns, lower, policy.JumboFlag, f.NeedsForceText())
	}
	return nil
}

// chunkAt returns the chunk that begins at lower, as the current round has read it.
func (r *run) chunkAt(ns string, lower catalog.Key) (chunk catalog.Chunk, c catalog.Collection, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	table := r.round.tables[ns]
	if table == nil || r.round.catalog == nil {
		return chunk, c, false
	}
	return table.Find(lower), r.round.catalog.Routings[ns].Collection, true
}

// forceIfNeeded makes a migration a forced one if its range was found to need a forced move. It returns
// false for a migration that would not balance anything, because afterwards the recipient would have as much
// more than the donor as the donor has more now.
func (r *run) forceIfNeeded(m *waitingMove) (helps bool) {
	f := r.skipped.forced(m.Namespace, m.Min)
	if f == nil {
		return true
	}
	if chunk, _, known := r.chunkAt(m.Namespace, m.Min); known {
		m.Max = chunk.Max
	}
	m.Force, m.bytes, m.forced = policy.ForceManual, f.Bytes, f
	if m.neededRoomBytes > 0 {
		m.neededRoomBytes = max(m.neededRoomBytes, f.Bytes)
	}
	if m.Reason != policy.ReasonChunksImbalance || r.o.Goal == GoalChunks {
		return true
	}
	r.mu.Lock()
	has := r.round.sizes[m.Namespace]
	helps = has == nil || r.o.Goal == GoalOps || has[m.From]-has[m.To] > f.Bytes
	r.mu.Unlock()
	if !helps {
		r.skipRange(m.Namespace, m.Min, policy.JumboFlag, "it can only be moved by force ("+f.String()+"), and that would "+
			"only turn the imbalance round: "+string(m.To)+" would then have more than "+string(m.From))
	}
	return helps
}

// skipForcedRange keeps a range that was moved by force in place: a run moves a range by force only once.
func (r *run) skipForcedRange(m waitingMove) {
	if m.forced != nil {
		r.skipped.skipUntil(m.Namespace, m.Min, r.o.Clock.Now().Add(unlimitedSpan), "it was moved by force")
	}
}
