package report

import (
	"cmp"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Collection is the summary of a collection.
type Collection struct {
	Holding
	Namespace string           `json:"ns"`
	Key       string           `json:"key"`
	State     CollectionStatus `json:"state"`
	// Why is what the balancer would fix first, or why that is unknown.
	Why string `json:"reason,omitzero"`
	// MisplacedBytes is the number of bytes that have to move before the collection is balanced; 0 if it is
	// unknown.
	MisplacedBytes int64 `json:"misplaced,omitzero"`
	// ChunkSize is the chunk size in effect in bytes; 0 before 6.0.
	ChunkSize int64 `json:"chunkSize,omitzero"`
	// Unsplittable collections are tracked but not sharded.
	Unsplittable bool `json:"unsplittable,omitzero"`
	// SizesKnown says that sizes are known.
	SizesKnown bool `json:"sizesKnown"`
	// Parts are the shards' parts of the collection, the largest first; empty parts are left out.
	Parts []Part `json:"parts"`
}

// Part is a shard's part of a collection.
type Part struct {
	Holding
	Shard catalog.ShardID `json:"shard"`
}

// CollectionStatus is the state of a collection in one word.
type CollectionStatus string

// The states, the worst first.
const (
	NotBalanced       CollectionStatus = "notBalanced"
	Unknown           CollectionStatus = "unknown"
	BalancingDisabled CollectionStatus = "held" // not balanced, and its balancing is disabled
	Defragmenting     CollectionStatus = "defragmenting"
	Balanced          CollectionStatus = "balanced"
	Unsharded         CollectionStatus = "unsharded"
)

var states = []CollectionStatus{NotBalanced, Unknown, BalancingDisabled, Defragmenting, Balanced, Unsharded}

// Words returns the state in words.
func (s CollectionStatus) Words() string {
	switch s {
	case NotBalanced:
		return "not balanced"
	case BalancingDisabled:
		return "not balanced, disabled"
	}
	return string(s)
}

// CollectionsOf returns the collections, the worst first: by state, misplaced bytes, jumbo chunks, and
// size.
func CollectionsOf(s *catalog.Snapshot) []Collection {
	list := []Collection{}
	for _, c := range s.Collections() {
		list = append(list, collectionOf(s, c))
	}
	slices.SortFunc(list, func(a, b Collection) int {
		return cmp.Or(cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)),
			cmp.Compare(b.MisplacedBytes, a.MisplacedBytes), cmp.Compare(b.Jumbo, a.Jumbo), cmp.Compare(b.Bytes, a.Bytes),
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
		line.MisplacedBytes, _ = diagnosis.MisplacedBytes(s, c, b.Violation)
	}
	return line
}

func stateOf(b diagnosis.Balance) (state CollectionStatus, why string) {
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
	for _, id := range c.Owners() { // a shard that was removed
		if _, ok := s.Shard(id); !ok {
			add(id)
		}
	}
	slices.SortStableFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Chunks, a.Chunks))
	})
	return parts
}
