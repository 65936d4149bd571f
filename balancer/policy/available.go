package policy

import "shardsh/balancer/catalog"

// Available are the shards no migration of the round uses yet. All
// collections of a round share one (spec 01 §6.11).
type Available struct {
	free map[catalog.ShardID]struct{}
}

// NewAvailable returns all shards of a round.
func NewAvailable(shards []catalog.Shard) *Available {
	a := &Available{free: make(map[catalog.ShardID]struct{}, len(shards))}
	for _, s := range shards {
		a.free[s.ID] = struct{}{}
	}
	return a
}

// Has reports whether a shard is still free.
func (a *Available) Has(s catalog.ShardID) bool {
	_, ok := a.free[s]
	return ok
}

// Take removes shards for the rest of the round.
func (a *Available) Take(shards ...catalog.ShardID) {
	for _, s := range shards {
		delete(a.free, s)
	}
}

// Len returns the number of shards left.
func (a *Available) Len() int { return len(a.free) }
