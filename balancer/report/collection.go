package report

import (
	"cmp"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Collection is a collection in numbers.
type Collection struct {
	Holding
	Namespace string `json:"ns"`
	Key       string `json:"key"`
	State     State  `json:"state"`
	// Why is what the balancer would fix first, or why that is not known.
	Why string `json:"reason,omitzero"`
	// Misplaced bytes have to move before it is balanced; 0 where that is not known.
	Misplaced int64 `json:"misplaced,omitzero"`
	// ChunkSize is the one in force in bytes; 0 before 6.0.
	ChunkSize int64 `json:"chunkSize,omitzero"`
	// Unsplittable ones are tracked and not sharded.
	Unsplittable bool `json:"unsplittable,omitzero"`
	// SizesKnown reports whether there are sizes.
	SizesKnown bool `json:"sizesKnown"`
	// Parts are what shards have of it, the largest first; those that have nothing
	// are left out.
	Parts []Part `json:"parts"`
}

// Part is what a shard has of a collection.
type Part struct {
	Holding
	Shard catalog.ShardID `json:"shard"`
}

// State is how a collection is, in a word.
type State string

// The states, the worst first.
const (
	NotBalanced       State = "notBalanced"
	Unknown           State = "unknown"
	BalancingDisabled State = "held" // not balanced, and the balancer may not touch it
	Defragmenting     State = "defragmenting"
	Balanced          State = "balanced"
	Unsharded         State = "unsharded"
)

var states = []State{NotBalanced, Unknown, BalancingDisabled, Defragmenting, Balanced, Unsharded}

// Words returns the state as people say it.
func (s State) Words() string {
	switch s {
	case NotBalanced:
		return "not balanced"
	case BalancingDisabled:
		return "not balanced, disabled"
	}
	return string(s)
}

// CollectionsOf returns the collections, the worst first: by state, by what has
// to move, by jumbo chunks, by size.
func CollectionsOf(s *catalog.Snapshot) []Collection {
	list := []Collection{}
	for _, c := range s.Collections() {
		list = append(list, collectionOf(s, c))
	}
	slices.SortFunc(list, func(a, b Collection) int {
		return cmp.Or(cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)),
			cmp.Compare(b.Misplaced, a.Misplaced), cmp.Compare(b.Jumbo, a.Jumbo), cmp.Compare(b.Bytes, a.Bytes),
			strings.Compare(a.Namespace, b.Namespace))
	})
	return list
}

func collectionOf(s *catalog.Snapshot, c *catalog.CollectionState) Collection {
	line := Collection{
		Namespace: c.Namespace, Unsplittable: c.Unsplittable, SizesKnown: len(c.Sizes) > 0,
		State: Unsharded, Parts: partsOf(s, c),
	}
	if !c.Pattern.IsZero() {
		line.Key = humanize.Literal(c.Pattern.Doc())
	}
	for _, p := range line.Parts {
		line.add(p.Holding)
	}
	if c.Unsplittable {
		return line
	}
	b := diagnosis.BalanceOf(s, c)
	line.State, line.Why = stateOf(b)
	line.ChunkSize = int64(b.ChunkSizeMB * (1 << 20))
	if !b.Balanced {
		line.Misplaced, _ = diagnosis.MisplacedBytes(s, c, b.Violation)
	}
	return line
}

func stateOf(b diagnosis.Balance) (state State, why string) {
	switch {
	case !b.Known:
		return Unknown, b.Reason
	case b.Defragmentation.Running:
		return Defragmenting, ""
	case b.Balanced:
		return Balanced, ""
	case b.DisabledBy != diagnosis.NotDisabled:
		return BalancingDisabled, b.ViolationText() + ", but " + b.DisabledBy.String()
	}
	return NotBalanced, b.ViolationText()
}

func partsOf(s *catalog.Snapshot, c *catalog.CollectionState) []Part {
	parts := []Part{}
	add := func(id catalog.ShardID) {
		data, n := c.Sizes[id], c.CountOn(id)
		p := Part{Shard: id, Holding: Holding{
			Bytes: data.Bytes, Documents: data.Documents, Chunks: n.Chunks, Jumbo: n.Jumbo,
			Orphans: data.Orphans, OrphanBytes: data.OrphanBytes,
		}}
		if p.Holding != (Holding{}) {
			parts = append(parts, p)
		}
	}
	for _, shard := range s.Shards() {
		add(shard.ID)
	}
	for _, id := range c.Owners() { // one that has gone
		if _, there := s.Shard(id); !there {
			add(id)
		}
	}
	slices.SortStableFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Chunks, a.Chunks))
	})
	return parts
}
