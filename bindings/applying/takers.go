package applying

import (
	"maps"
	"slices"

	"shardsh/balancer/catalog"
)

// Takers are the shards that can take over databases, with how many each has.
type Takers map[catalog.ShardID]int

// TakersOf returns the shards of a cluster that stay, but one.
func TakersOf(s *catalog.Snapshot, but catalog.ShardID) Takers {
	others := Takers{}
	for _, shard := range s.Shards() {
		if shard.ID != but && !shard.Draining {
			others[shard.ID] = 0
		}
	}
	for _, db := range s.Parts().Databases {
		if n, stays := others[db.Primary]; stays {
			others[db.Primary] = n + 1
		}
	}
	return others
}

// Next returns the shard that has fewest databases, and counts one more; none when
// there is no shard.
func (t Takers) Next() (to catalog.ShardID) {
	for _, id := range slices.Sorted(maps.Keys(t)) {
		if to == "" || t[id] < t[to] {
			to = id
		}
	}
	if to != "" {
		t[to]++
	}
	return to
}
