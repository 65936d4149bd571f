package plan

import (
	"maps"
	"math"
	"slices"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// distance returns an estimate of the distance to the goal for a distribution of chunks; 0 means that
// the goal is reached.
func (f *fitSearch) distance(places []uint8) int64 {
	if f.b.o.Goal.Kind == Balance {
		return f.unbalancedBytes(places)
	}
	n := int64(0)
	for i, c := range f.chunks {
		if f.isDisplaced(c, places[i]) {
			n++
		}
	}
	return n
}

// isDisplaced reports whether the goal requires a chunk to leave its shard.
func (f *fitSearch) isDisplaced(c fitChunk, shardIndex uint8) bool {
	shard := f.shards[shardIndex]
	if f.b.o.Goal.Kind == Drain {
		return shard.ID == f.b.o.Goal.Shard
	}
	coll := f.colls[c.coll]
	zone := coll.Zones.ZoneOf(c.Min, c.Max)
	return zone != catalog.NoZone && !shard.HasZone(zone)
}

// unbalancedBytes returns the number of bytes by which collections are unbalanced.
func (f *fitSearch) unbalancedBytes(places []uint8) (sum int64) {
	for i := range f.colls {
		sizes := f.shardSizes(i, places)
		apart := slices.Max(sizes) - slices.Min(sizes)
		displaced := int64(0)
		for j := f.firstChunk[i]; j < f.endChunk(i); j++ {
			if c := f.chunks[j]; f.shards[places[j]].Draining || f.isDisplaced(c, places[j]) {
				displaced += 1 + 2*c.bytes // weighted higher, as the balancer moves these first
			}
		}
		if displaced > 0 || f.isUneven(i, sizes) || !f.isSettled(f.newSituation(i, places)) {
			sum += 1 + apart + displaced
		}
	}
	return sum
}

// shardSizes returns the size of a collection on each shard, for a distribution of chunks.
func (f *fitSearch) shardSizes(i int, places []uint8) []int64 {
	sizes := make([]int64, len(f.shards))
	for at, shard := range f.shards {
		sizes[at] = f.colls[i].Sizes[shard.ID].Bytes
	}
	for j := f.firstChunk[i]; j < f.endChunk(i); j++ {
		c := f.chunks[j]
		sizes[c.shard] -= c.bytes
		sizes[places[j]] += c.bytes
	}
	return sizes
}

// isUneven reports whether the balancer certainly moves chunks of a collection without zones. In that
// case the policy need not be run.
func (f *fitSearch) isUneven(i int, sizes []int64) bool {
	c, start := f.colls[i], f.b.input.start
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
	size := c.ChunkSize(start.Settings())
	return most > ideal && least < ideal && most-least >= policy.ImbalanceFactor*size
}

// isSettled reports whether the balancer chooses nothing in a collection.
func (f *fitSearch) isSettled(s policy.Situation) bool {
	release := f.b.input.start.Release()
	c := f.b.input.start.Collection(s.Namespace)
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

// newSituation returns the input of a round for a collection, with a distribution of chunks.
func (f *fitSearch) newSituation(i int, places []uint8) policy.Situation {
	c, err := f.collectionAt(i, places)
	if err != nil { // the routing table is invalid
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
		f.b.input.start.Settings())
}

// endChunk returns the index after the last chunk of a collection.
func (f *fitSearch) endChunk(i int) int {
	if i+1 < len(f.firstChunk) {
		return f.firstChunk[i+1]
	}
	return len(f.chunks)
}

// collectionAt returns a collection with a distribution of chunks.
func (f *fitSearch) collectionAt(i int, places []uint8) (*catalog.CollectionState, error) {
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
	for j := f.firstChunk[i]; j < f.endChunk(i); j++ {
		c := f.chunks[j]
		if places[j] == c.shard {
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

// placesAfter returns the distribution of chunks after some moves.
func (f *fitSearch) placesAfter(moves []fitMove) []uint8 {
	places := make([]uint8, len(f.chunks))
	for i, c := range f.chunks {
		places[i] = c.shard
	}
	for _, m := range moves {
		places[m.chunk] = m.to
	}
	return places
}

// snapshotAt returns the cluster with a distribution of chunks.
func (f *fitSearch) snapshotAt(places []uint8) (*catalog.Snapshot, error) {
	s := f.b.input.start
	for i := range f.colls {
		c, err := f.collectionAt(i, places)
		if err != nil {
			return nil, err
		}
		s = s.WithCollection(c)
	}
	return s, nil
}
