package runner

import (
	"context"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// tooLarge deals with a chunk that is too large to be moved, and can't be split: it is moved
// by force when it is chosen again, if that was asked for.
func (r *run) tooLarge(ctx context.Context, ns string, lower catalog.Key) error {
	chunk, c, known := r.chunkOf(ns, lower)
	if !known {
		r.leave(ns, lower, "it is too large to move, and can't be split")
		return nil
	}
	size, err := r.cluster.Size(ctx, apply.Command{
		Kind: plan.Move, Namespace: ns, Pattern: c.Pattern, Min: chunk.Min, Max: chunk.Max, From: chunk.Shard,
	})
	if err != nil {
		return err
	}
	if f := apply.ForcedOf(size.Bytes); r.o.ForceJumbo {
		r.skipped.force(ns, lower, f)
	} else {
		r.leave(ns, lower, f.Stays())
	}
	return nil
}

// chunkOf returns the chunk of a range, as the round under way knows it.
func (r *run) chunkOf(ns string, lower catalog.Key) (chunk catalog.Chunk, c catalog.Collection, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	table := r.round.tables[ns]
	if table == nil || r.round.catalog == nil {
		return chunk, c, false
	}
	return table.Find(lower), r.round.catalog.Routings[ns].Collection, true
}

// force makes a migration one by force, if its range was found to need that. It reports
// false for one that would even out nothing: the recipient would have as much too many.
func (r *run) force(m *waitingMove) (helps bool) {
	f := r.skipped.forced(m.Namespace, m.Min)
	if f == nil {
		return true
	}
	if chunk, _, known := r.chunkOf(m.Namespace, m.Min); known {
		m.Max = chunk.Max
	}
	m.Force, m.bytes, m.forced = policy.ForceManual, f.Bytes, f
	if m.room > 0 {
		m.room = max(m.room, f.Bytes)
	}
	if m.Reason != policy.ReasonChunksImbalance || r.o.Goal == Chunks {
		return true
	}
	r.mu.Lock()
	has := r.round.sizes[m.Namespace]
	helps = has == nil || r.o.Goal == Ops || has[m.From]-has[m.To] > f.Bytes
	r.mu.Unlock()
	if !helps {
		r.leave(m.Namespace, m.Min, "it can only be moved by force ("+f.String()+"), after which "+string(m.To)+
			" would have as much more than "+string(m.From))
	}
	return helps
}

// wasForced has a range that was moved by force stay where it is: once is enough for a run.
func (r *run) wasForced(m waitingMove) {
	if m.forced != nil {
		r.skipped.rest(m.Namespace, m.Min, r.o.Clock.Now().Add(ever), "it was moved by force")
	}
}
