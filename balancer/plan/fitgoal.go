package plan

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// distance estimates how far from the goal a search is, with chunks in some places; 0 is at
// the goal.
func (f *fitSearch) distance(places []uint8) int64 {
	if f.b.o.Goal.Kind == Balance {
		return f.unbalanced(places)
	}
	n := int64(0)
	for i, c := range f.chunks {
		if f.displaced(c, places[i]) {
			n++
		}
	}
	return n
}

// displaced reports whether a chunk is where the goal does not have it.
func (f *fitSearch) displaced(c fitChunk, on uint8) bool {
	shard := f.shards[on]
	if f.b.o.Goal.Kind == Drain {
		return shard.ID == f.b.o.Goal.Shard
	}
	coll := f.colls[c.coll]
	zone := coll.Zones.ZoneOf(c.Min, c.Max)
	return zone != catalog.NoZone && !shard.HasZone(zone)
}

// unbalanced is how far collections are from what the balancer leaves as it is, in bytes.
func (f *fitSearch) unbalanced(places []uint8) (sum int64) {
	for i := range f.colls {
		sizes := f.sizes(i, places)
		apart := slices.Max(sizes) - slices.Min(sizes)
		displaced := int64(0)
		for j := f.first[i]; j < f.end(i); j++ {
			if c := f.chunks[j]; f.shards[places[j]].Draining || f.displaced(c, places[j]) {
				displaced += 1 + 2*c.bytes // before the rest, as the balancer has it
			}
		}
		if displaced > 0 || f.uneven(i, sizes) || !f.settled(f.situation(i, places)) {
			sum += 1 + apart + displaced
		}
	}
	return sum
}

// sizes returns what each shard has of a collection, with chunks in some places.
func (f *fitSearch) sizes(i int, places []uint8) []int64 {
	sizes := make([]int64, len(f.shards))
	for at, shard := range f.shards {
		sizes[at] = f.colls[i].Sizes[shard.ID].Bytes
	}
	for j := f.first[i]; j < f.end(i); j++ {
		c := f.chunks[j]
		sizes[c.on] -= c.bytes
		sizes[places[j]] += c.bytes
	}
	return sizes
}

// uneven reports whether the balancer certainly moves something of a collection without
// zones: it saves asking the policy.
func (f *fitSearch) uneven(i int, sizes []int64) bool {
	c, start := f.colls[i], f.b.scope.start
	if c.Zones.Len() > 0 || !start.Release().BalancesBySize() || len(c.Sizes) < len(f.shards) || c.Count().Jumbo > 0 ||
		policy.ReportBlocked(c.Collection, start.Release(), nil) {
		return false
	}
	total, least := int64(0), int64(math.MaxInt64)
	for at, bytes := range sizes {
		total += bytes
		if !f.shards[at].Draining {
			least = min(least, bytes)
		}
	}
	most, ideal := slices.Max(sizes), total/int64(len(sizes))
	size := cmp.Or(c.MaxChunkSizeBytes, start.Settings().MaxChunkSizeBytes)
	return most > ideal && least < ideal && most-least >= policy.ImbalanceFactor*size
}

// settled reports whether the balancer chooses nothing of a collection.
func (f *fitSearch) settled(s policy.Situation) bool {
	release := f.b.scope.start.Release()
	c := f.b.scope.start.Collection(s.Namespace)
	if policy.ReportBlocked(c.Collection, release, nil) {
		return true
	}
	available := policy.NewAvailableShards(s.Shards)
	if release.BalancesBySize() {
		chosen, _, err := policy.SelectMigrations(s, available, nil)
		return err == nil && len(chosen) == 0
	}
	chosen, _ := policy.SelectByCount(policy.CountSituation{Situation: s, Rules: policy.RulesOf(release)}, available, nil)
	return len(chosen) == 0
}

// situation is a collection as a round sees it, with chunks in some places.
func (f *fitSearch) situation(i int, places []uint8) policy.Situation {
	c, err := f.state(i, places)
	if err != nil { // of a table that can't be
		return policy.Situation{}
	}
	sizes := map[catalog.ShardID]int64{}
	for id, data := range c.Sizes {
		sizes[id] = data.Bytes
	}
	shards := make([]catalog.Shard, len(f.shards))
	for i, shard := range f.shards {
		shards[i] = shard.Shard
	}
	return balancer.NewSituation(balancer.Routing{Collection: c.Collection, Table: c.Table, Zones: c.Zones}, sizes, shards,
		f.b.scope.start.Settings())
}

// end returns where the chunks of a collection end.
func (f *fitSearch) end(i int) int {
	if i+1 < len(f.first) {
		return f.first[i+1]
	}
	return len(f.chunks)
}

// state returns a collection with its chunks in some places.
func (f *fitSearch) state(i int, places []uint8) (*catalog.CollectionState, error) {
	next := *f.colls[i]
	next.Sizes = maps.Clone(next.Sizes)
	if next.Sizes == nil {
		next.Sizes = map[catalog.ShardID]catalog.ShardData{}
	}
	draft := catalog.NewDraft(next.Table)
	moved := func(id catalog.ShardID, bytes, docs int64) {
		data := next.Sizes[id]
		data.Bytes, data.Documents = max(0, data.Bytes+bytes), max(0, data.Documents+docs)
		next.Sizes[id] = data
	}
	for j := f.first[i]; j < f.end(i); j++ {
		c := f.chunks[j]
		if places[j] == c.on {
			continue
		}
		chunk := c.Chunk
		chunk.Shard = f.shards[places[j]].ID
		chunk.Version = catalog.ChunkVersion{Major: draft.Version().Major + 1}
		if err := draft.Put(chunk); err != nil {
			return nil, err
		}
		moved(c.Shard, -c.bytes, -c.docs)
		moved(chunk.Shard, c.bytes, c.docs)
	}
	next.Table = draft.Table()
	return &next, nil
}

// after returns where chunks are after some moves.
func (f *fitSearch) after(moves []fitMove) []uint8 {
	places := make([]uint8, len(f.chunks))
	for i, c := range f.chunks {
		places[i] = c.on
	}
	for _, m := range moves {
		places[m.chunk] = m.to
	}
	return places
}

// snapshot returns the cluster with chunks in some places.
func (f *fitSearch) snapshot(places []uint8) (*catalog.Snapshot, error) {
	s := f.b.scope.start
	for i := range f.colls {
		c, err := f.state(i, places)
		if err != nil {
			return nil, err
		}
		s = s.WithCollection(c)
	}
	return s, nil
}
