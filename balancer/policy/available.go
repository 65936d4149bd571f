package policy

import "shardsh/balancer/catalog"

// AvailableShards are the shards that no migration of the round uses yet. All collections of a round
// share one AvailableShards (rules/01-selection §6.11).
type AvailableShards struct {
	*numbering
	free      []bool // by number
	freeCount int
}

// numbering assigns small numbers to shards.
type numbering struct{ index map[catalog.ShardID]int }

// NewAvailableShards returns all shards of a round.
func NewAvailableShards(shards []catalog.Shard) *AvailableShards {
	n := &numbering{make(map[catalog.ShardID]int, len(shards))}
	for _, s := range shards {
		n.index[s.ID] = len(n.index)
	}
	return n.all()
}

// ForNextRound returns all shards of the next round, like NewAvailableShards, but faster if the shards
// are those of this round.
func (a *AvailableShards) ForNextRound(shards []catalog.Shard) *AvailableShards {
	if a == nil || len(shards) != len(a.index) {
		return NewAvailableShards(shards)
	}
	for _, s := range shards {
		if _, known := a.index[s.ID]; !known {
			return NewAvailableShards(shards)
		}
	}
	return a.all()
}

func (n *numbering) all() *AvailableShards {
	a := &AvailableShards{numbering: n, free: make([]bool, len(n.index)), freeCount: len(n.index)}
	for i := range a.free {
		a.free[i] = true
	}
	return a
}

// IsFree reports whether a shard is still available.
func (a *AvailableShards) IsFree(s catalog.ShardID) bool {
	n, known := a.index[s]
	return known && a.free[n]
}

// Take makes shards unavailable for the rest of the round.
func (a *AvailableShards) Take(shards ...catalog.ShardID) {
	for _, s := range shards {
		if n, known := a.index[s]; known && a.free[n] {
			a.free[n] = false
			a.freeCount--
		}
	}
}

// Len returns the number of available shards.
func (a *AvailableShards) Len() int { return a.freeCount }
