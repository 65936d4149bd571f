package price

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Kind is a way to a goal.
type Kind string

// The ways.
const (
	// Moves is a plan that shardsh carries out.
	Moves Kind = "moves"
	// Balancer leaves it to the cluster's own balancer.
	Balancer Kind = "balancer"
	// MergeFirst merges neighbours on the same shard, and then moves what is left of chunks.
	MergeFirst Kind = "mergeFirst"
	// DefragmentFirst has the balancer defragment the collection before shardsh moves.
	DefragmentFirst Kind = "defragmentFirst"
	// Reshard writes the collection again on all shards at once, with the key that it has.
	Reshard Kind = "reshard"
	// MoveCollection brings a collection that is not sharded to another shard.
	MoveCollection Kind = "moveCollection"
)

// Comparison compares the ways to a goal.
type Comparison struct {
	Namespace string    `json:"ns"`
	Goal      plan.Goal `json:"goal"`
	At        time.Time `json:"at"`
	// DiskLimit is the share of its volume that no shard may fill.
	DiskLimit float64 `json:"diskLimit"`
	// Done tells that nothing is left to do; there are no ways then.
	Done bool  `json:"done"`
	Ways []Way `json:"ways"`
	// Recommended is the quickest way that can be taken; empty for none. Reason says why.
	Recommended Kind   `json:"recommended,omitzero"`
	Reason      string `json:"reason"`
	// Basis says what the times come from.
	Basis []string `json:"basis"`
}

// Way is one way, and its price.
type Way struct {
	Kind Kind `json:"kind"`
	// Refused is why the way is not possible; empty if it is. The fields below may be missing then.
	Refused string `json:"refused,omitzero"`
	// Low and High are the 90 % range of the time.
	Low    time.Duration `json:"lowNanos"`
	Likely time.Duration `json:"likelyNanos"`
	High   time.Duration `json:"highNanos"`
	// Moves is how many ranges move one by one. Bytes are copied.
	Moves int    `json:"moves"`
	Bytes int64  `json:"bytes"`
	Links []Link `json:"links"`
	Peaks []Peak `json:"peaks"`
	// Blocks says how long writes wait, Final what can't be undone (empty: nothing), Needs which
	// release and settings it takes.
	Blocks string `json:"blocks"`
	Final  string `json:"final,omitzero"`
	Needs  string `json:"needs"`
	// Commands are what to enter for this way.
	Commands []string `json:"commands"`
}

// Link is what one shard copies from another one.
type Link struct {
	From  catalog.ShardID `json:"from"`
	To    catalog.ShardID `json:"to"`
	Bytes int64           `json:"bytes"`
}

// Peak is how full the volume of a shard is at most, orphans and files that do not become
// smaller included.
type Peak struct {
	Shard catalog.ShardID `json:"shard"`
	Used  int64           `json:"used"`
	Total int64           `json:"total"` // 0 where it is not known
}

// Share returns what part of the volume is used, 0 where that is not known.
func (p Peak) Share() float64 {
	if p.Total == 0 {
		return 0
	}
	return float64(p.Used) / float64(p.Total)
}

// Way returns that of a kind, and whether there is one.
func (q Comparison) Way(kind Kind) (Way, bool) {
	for _, w := range q.Ways {
		if w.Kind == kind {
			return w, true
		}
	}
	return Way{}, false
}
