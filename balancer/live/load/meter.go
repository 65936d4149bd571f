package load

import (
	"cmp"
	"context"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
)

// maxMeterCollections is the maximum number of collections whose operations a Meter counts.
const maxMeterCollections = 20

// Meter counts operations between two reads, with one command for each of the largest collections.
type Meter struct {
	Runner   live.CommandRunner
	Clock    pace.Clock
	previous []*collection
}

// Read returns the operations per second of each shard since the previous call; nil for the first call,
// and if nothing could be counted.
func (m *Meter) Read(ctx context.Context, snapshot *catalog.Snapshot) (map[catalog.ShardID]heat.Load, error) {
	r := &loadReader{Options: Options{Clock: m.Clock}, runner: m.Runner, snapshot: snapshot}
	for _, c := range largest(snapshot, maxMeterCollections) {
		one := &collection{ns: c.Namespace, began: m.Clock.Now()}
		var err error
		if one.before, err = r.readCounters(ctx, one); err != nil {
			return nil, err
		}
		r.collections = append(r.collections, one)
	}
	var sums map[catalog.ShardID]heat.Load
	for _, now := range r.collections {
		i := slices.IndexFunc(m.previous, func(c *collection) bool { return c.ns == now.ns })
		if i < 0 || m.previous[i].before == nil || now.before == nil {
			continue
		}
		for id, n := range counterRates(m.previous[i].before, now.before, now.began.Sub(m.previous[i].began)) {
			if sums == nil {
				sums = map[catalog.ShardID]heat.Load{}
			}
			sum := sums[id]
			sums[id] = heat.Load{Reads: sum.Reads + n.Reads, Writes: sum.Writes + n.Writes}
		}
	}
	m.previous = r.collections
	return sums, nil
}

// largest returns the sharded collections with the most data.
func largest(s *catalog.Snapshot, most int) []*catalog.CollectionState {
	list := slices.DeleteFunc(slices.Clone(s.Collections()), func(c *catalog.CollectionState) bool {
		return c.Unsplittable
	})
	slices.SortStableFunc(list, func(a, b *catalog.CollectionState) int {
		return cmp.Compare(b.Bytes(), a.Bytes())
	})
	return list[:min(most, len(list))]
}
