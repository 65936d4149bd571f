package load

import (
	"context"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/live"
)

// readCounters reads the counters of all shards with chunks; nil if the server refuses the command.
func (r *loadReader) readCounters(
	ctx context.Context,
	c *collection,
) (map[catalog.ShardID]live.OperationCounts, error) {
	limited, done := r.withLimit(ctx, readTimeout)
	all, err := live.ReadOperationCounts(limited, r.runner, c.ns)
	done(err)
	if err != nil {
		return nil, c.noteUnread(ctx, "the counters", err)
	}
	return all, nil
}

// estimate computes the load map from the data that were read.
func (r *loadReader) estimate(ctx context.Context, c *collection) {
	in := heat.Input{Namespace: c.ns, Table: c.state.Table, Samples: slices.Concat(c.inserts, c.samples)}
	for _, s := range r.snapshot.Shards() {
		if !s.Draining {
			in.Shards = append(in.Shards, s.ID)
		}
	}
	switch {
	case len(c.samples) == 0:
		in.Span = r.Clock.Now().Sub(c.began)
	case c.until.IsZero():
		in.Span = r.Clock.Now().Sub(c.from)
	default:
		in.Span = max(c.until.Sub(c.from), time.Second)
	}
	after, err := r.readCounters(ctx, c)
	if err == nil && len(after) > 0 && c.before != nil {
		in.ShardRates = counterRates(c.before, after, r.Clock.Now().Sub(c.began))
		c.estimateInserts(in.ShardRates, after, r.Clock.Now().Sub(c.began))
	}
	c.result.Input, c.result.Map = in, heat.Estimate(in)
}

// deleteShare returns the fraction of deletes among the sampled writes.
func deleteShare(list []heat.Sample) float64 {
	var writes, removes float64
	for _, s := range list {
		if s.Kind == heat.Write {
			writes++
		}
		if s.Removes {
			removes++
		}
	}
	if writes == 0 {
		return 0
	}
	return removes / writes
}

// counterRates returns the rates of operations between two reads. Shards that were restarted in between
// are left out.
func counterRates(
	before, after map[catalog.ShardID]live.OperationCounts,
	d time.Duration,
) map[catalog.ShardID]heat.OperationRates {
	list := make(map[catalog.ShardID]heat.OperationRates, len(after))
	seconds := max(d.Seconds(), 1e-3)
	for id, now := range after {
		earlier, known := before[id]
		if !known || now.Reads < earlier.Reads || now.Writes < earlier.Writes {
			continue
		}
		reads, writes := float64(now.Reads-earlier.Reads), float64(now.Writes-earlier.Writes)
		list[id] = heat.OperationRates{
			Reads:     reads / seconds,
			Writes:    writes / seconds,
			ReadTime:  meanDuration(now.ReadTime-earlier.ReadTime, reads),
			WriteTime: meanDuration(now.WriteTime-earlier.WriteTime, writes),
		}
	}
	return list
}

// estimateInserts estimates the inserts among the writes of each shard. Migrations change the number of
// documents on a shard, but not the total. The newest documents, if they were read, tell the
// distribution of inserts over the shards.
func (c *collection) estimateInserts(
	list map[catalog.ShardID]heat.OperationRates, after map[catalog.ShardID]live.OperationCounts, d time.Duration,
) {
	by := map[catalog.ShardID]float64{}
	for _, s := range c.inserts {
		by[c.state.Table.ShardOf(s.Key)] += 1 / float64(len(c.inserts))
	}
	removing, seconds := deleteShare(c.samples), max(d.Seconds(), 1e-3)
	// Some of the other writes are deletes: documents = inserts - removing * (writes - inserts).
	inserts := func(docs int64, writes float64) float64 {
		return max(0, (float64(docs)/seconds+removing*writes)/(1+removing))
	}
	var docs int64
	var writes float64
	for id, of := range list {
		docs, writes = docs+after[id].Documents-c.before[id].Documents, writes+of.Writes
	}
	for id, of := range list {
		if of.Inserts = inserts(after[id].Documents-c.before[id].Documents, of.Writes); len(c.inserts) > 0 {
			of.Inserts = inserts(docs, writes) * by[id]
		}
		of.Inserts = min(of.Inserts, of.Writes)
		list[id] = of
	}
}

func meanDuration(all time.Duration, n float64) time.Duration {
	if n <= 0 {
		return 0
	}
	return time.Duration(float64(all) / n)
}
