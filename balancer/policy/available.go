package policy

import "shardsh/balancer/catalog"

// Available are the shards no migration of the round uses yet. All
// collections of a round share one (rules/01-selection §6.11).
type Available struct {
	*numbering
	free []bool // by number
	left int
}

// numbering gives shards small numbers.
type numbering struct{ of map[catalog.ShardID]int }

// NewAvailable returns all shards of a round.
func NewAvailable(shards []catalog.Shard) *Available {
	n := &numbering{make(map[catalog.ShardID]int, len(shards))}
	for _, s := range shards {
		n.of[s.ID] = len(n.of)
	}
	return n.all()
}

// Next returns all shards of the next round: NewAvailable, which costs less when
// they are those of this one.
func (a *Available) Next(shards []catalog.Shard) *Available {
	if a == nil || len(shards) != len(a.of) {
		return NewAvailable(shards)
	}
	for _, s := range shards {
		if _, known := a.of[s.ID]; !known {
			return NewAvailable(shards)
		}
	}
	return a.all()
}

func (n *numbering) all() *Available {
	a := &Available{numbering: n, free: make([]bool, len(n.of)), left: len(n.of)}
	for i := range a.free {
		a.free[i] = true
	}
	return a
}

// Has reports whether a shard is still free.
func (a *Available) Has(s catalog.ShardID) bool {
	n, known := a.of[s]
	return known && a.free[n]
}

// Take removes shards for the rest of the round.
func (a *Available) Take(shards ...catalog.ShardID) {
	for _, s := range shards {
		if n, known := a.of[s]; known && a.free[n] {
			a.free[n] = false
			a.left--
		}
	}
}

// Len returns the number of shards left.
func (a *Available) Len() int { return a.left }
