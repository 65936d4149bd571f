package heat

import "shardsh/balancer/catalog"

// NewCollection returns the collection for Decide; held is its size on each shard. Jumbo chunks,
// former chunks, and chunks for which stays returns true are not moved; stays may be nil.
func NewCollection(
	m *Map, table *catalog.RoutingTable, zones *catalog.ZoneSet, held map[catalog.ShardID]int64,
	stays func(lower catalog.Key) bool,
) Collection {
	c := Collection{Map: m, Zones: zones, ChunkBytes: make(map[catalog.ShardID]int64, len(held))}
	for id, n := range held {
		c.ChunkBytes[id] = n / int64(max(1, table.CountOn(id)))
	}
	c.IsFixed = func(lower catalog.Key) bool {
		return !table.HasLowerBound(lower) || table.Find(lower).Jumbo == catalog.JumboTrue || stays != nil && stays(lower)
	}
	return c
}

// NewRecipient returns a shard as a possible recipient.
func NewRecipient(s catalog.Shard) Recipient {
	p := Recipient{Shard: s.ID, CanReceive: !s.Draining && !s.Full(), Zones: s.Zones, MaxBytes: -1}
	if s.MaxSizeMB > 0 {
		p.MaxBytes = max(0, s.MaxSizeMB-s.SizeMB) << 20
	}
	return p
}

// SnapshotInput returns the inputs of Decide that come from a Snapshot.
func SnapshotInput(s *catalog.Snapshot, maps []Map) (colls []Collection, places []Recipient) {
	for i := range maps {
		c := s.Collection(maps[i].Namespace)
		if c == nil || c.Table == nil {
			continue
		}
		held := map[catalog.ShardID]int64{}
		for id, of := range c.Sizes {
			held[id] = of.Bytes
		}
		colls = append(colls, NewCollection(&maps[i], c.Table, c.Zones, held, nil))
	}
	for _, shard := range s.Shards() {
		places = append(places, NewRecipient(shard.Shard))
	}
	return colls, places
}
