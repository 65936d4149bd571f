package heat

import "shardsh/balancer/catalog"

// CollectionOf is a collection as it is to be evened out, of which each shard holds so many
// bytes. What was flagged jumbo or is not a chunk any more stays, and what stays says; it may be nil.
func CollectionOf(
	m *Map, table *catalog.RoutingTable, zones *catalog.ZoneSet, held map[catalog.ShardID]int64,
	stays func(lower catalog.Key) bool,
) Collection {
	c := Collection{Map: m, Zones: zones, Bytes: make(map[catalog.ShardID]int64, len(held))}
	for id, n := range held {
		c.Bytes[id] = n / int64(max(1, table.Count(id)))
	}
	c.Stays = func(lower catalog.Key) bool {
		return !table.HasLowerBound(lower) || table.Find(lower).Jumbo == catalog.JumboTrue || stays != nil && stays(lower)
	}
	return c
}

// PlaceOf is a shard as one to put chunks on.
func PlaceOf(s catalog.Shard) Place {
	p := Place{Shard: s.ID, Accepts: !s.Draining && !s.Full(), Zones: s.Zones, Room: -1}
	if s.MaxSizeMB > 0 {
		p.Room = max(0, s.MaxSizeMB-s.SizeMB) << 20
	}
	return p
}

// Situation is what a Snapshot says beside the load.
func Situation(s *catalog.Snapshot, maps []Map) (colls []Collection, places []Place) {
	for i := range maps {
		c := s.Collection(maps[i].Namespace)
		if c == nil || c.Table == nil {
			continue
		}
		held := map[catalog.ShardID]int64{}
		for id, of := range c.Sizes {
			held[id] = of.Bytes
		}
		colls = append(colls, CollectionOf(&maps[i], c.Table, c.Zones, held, nil))
	}
	for _, shard := range s.Shards() {
		places = append(places, PlaceOf(shard.Shard))
	}
	return colls, places
}
