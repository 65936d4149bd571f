package price

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// WayKind is a way to a goal.
type WayKind string

// The ways.
const (
	// Moves: shardsh carries out a plan.
	Moves WayKind = "moves"
	// Balancer: the cluster's own balancer does the work.
	Balancer WayKind = "balancer"
	// MergeFirst: shardsh merges neighbouring chunks on the same shard, and then moves chunks.
	MergeFirst WayKind = "mergeFirst"
	// DefragmentFirst: the balancer defragments the collection before shardsh moves chunks.
	DefragmentFirst WayKind = "defragmentFirst"
	// Reshard: reshardCollection with the same key rewrites the collection on all shards at once.
	Reshard WayKind = "reshard"
	// MoveCollection: moveCollection moves an unsharded collection to another shard.
	MoveCollection WayKind = "moveCollection"
)

// Comparison compares the ways to a goal.
type Comparison struct {
	Namespace string    `json:"ns"`
	Goal      plan.Goal `json:"goal"`
	At        time.Time `json:"at"`
	// DiskLimit is the share of its volume up to which a shard may be filled.
	DiskLimit float64 `json:"diskLimit"`
	// Done says that nothing is left to do; Ways is empty then.
	Done bool  `json:"done"`
	Ways []Way `json:"ways"`
	// Recommended is the quickest possible way; empty if there is none. Reason says why it is
	// recommended.
	Recommended WayKind `json:"recommended,omitzero"`
	Reason      string  `json:"reason"`
	// Basis says what the times are based on.
	Basis []string `json:"basis"`
}

// Way is one way with its price.
type Way struct {
	Kind WayKind `json:"kind"`
	// Refused is why the way is not possible; empty if the way is possible. If it is set, the fields
	// below may be missing.
	Refused string `json:"refused,omitzero"`
	// Low and High are the ends of the 90 % interval of the time.
	Low    time.Duration `json:"lowNanos"`
	Likely time.Duration `json:"likelyNanos"`
	High   time.Duration `json:"highNanos"`
	// Moves is the number of moved ranges. Bytes is the number of copied bytes.
	Moves int    `json:"moves"`
	Bytes int64  `json:"bytes"`
	Links []Link `json:"links"`
	Peaks []Peak `json:"peaks"`
	// WritesBlocked says how long writes are blocked. Irreversible is what can't be undone; empty if everything
	// can. Needs says which release and settings the way requires.
	WritesBlocked string `json:"blocks"`
	Irreversible  string `json:"final,omitzero"`
	Needs         string `json:"needs"`
	// Commands are the commands for this way.
	Commands []string `json:"commands"`
}

// Link is the data that one shard copies from another.
type Link struct {
	From  catalog.ShardID `json:"from"`
	To    catalog.ShardID `json:"to"`
	Bytes int64           `json:"bytes"`
}

// Peak is the maximum use of a shard's volume, including orphans and files that do not shrink.
type Peak struct {
	Shard catalog.ShardID `json:"shard"`
	Used  int64           `json:"used"`
	Total int64           `json:"total"` // 0 if it is unknown
}

// Share returns the used part of the volume; 0 if it is unknown.
func (p Peak) Share() float64 {
	if p.Total == 0 {
		return 0
	}
	return float64(p.Used) / float64(p.Total)
}

// Way returns the way of a kind, and reports whether there is one.
func (c Comparison) Way(kind WayKind) (Way, bool) {
	for _, w := range c.Ways {
		if w.Kind == kind {
			return w, true
		}
	}
	return Way{}, false
}
