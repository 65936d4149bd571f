package keyadvice

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Facts are the inputs of the advice: the collection, and the cluster it is in.
type Facts struct {
	Namespace string
	Release   catalog.Release
	// Shards is how many the data may lie on: those that do not drain.
	Shards int
	// ChunkBytes is the chunk size in effect.
	ChunkBytes int64
	// Docs and Bytes are what the collection has now; Expect is what it will have, 0
	// when it is not known.
	Docs, Bytes, Expect int64
	// Current is the shard key that it has; empty when it is not sharded.
	Current Key
	Indexes []Index
	// Zones are the fields by which ranges of the collection are in zones, in order.
	Zones []string
	// ZoneRanges are those ranges.
	ZoneRanges []Zone
	// BytesPerSecond is how fast migrations were, as the change log tells; 0 when it
	// tells of none.
	BytesPerSecond float64
	// Queries are what is asked, and QueriesFrom where that is known from.
	Queries     []Query
	QueriesFrom QuerySource
	Sample      Sample
	// Measured is what the server measured, by the text of the key.
	Measured map[string]Measured
	// Notes are what could not be read, and other limits of what follows.
	Notes []string
}

// Index is an index of the collection.
type Index struct {
	Name string
	Key  bson.Raw
	// Unique refuses a second document with the same values. Partial covers sparse
	// ones and those with a collation: none of them can serve a shard key.
	Unique, Partial bool
	// Used is how many operations used it since the servers started; -1 when unknown.
	Used int64
}

// QuerySource is where it is known from what a collection is asked.
type QuerySource string

// The sources, the best one first.
const (
	QueriesGiven   QuerySource = "given"
	QueriesSampled QuerySource = "sampledQueries"
	QueriesCounted QuerySource = "indexStats"
	QueriesGuessed QuerySource = "indexes"
)

// Query is a kind of query: the fields it compares with one value, and those of which
// it wants a range.
type Query struct {
	Equal  []string `json:"equal,omitempty"`
	Range  []string `json:"range,omitempty"`
	Weight float64  `json:"weight"`
}

// Sample are documents of the collection; fields that nobody asks about may be missing.
type Sample struct {
	// Docs are drawn by lot, or all there are.
	Docs []bson.Raw
	// Arrival are documents in the order in which they came; nil when it is not known.
	Arrival []bson.Raw
}

// Measured is the answer of analyzeShardKey for a key.
type Measured struct {
	// Docs were looked at; 0 when there is no index for it.
	Docs, Distinct int64
	Unique         bool
	// Common are the most common values, the most common one first.
	Common []Common
	// Correlation of the order of keys with the order of arrival; NaN when unknown.
	Correlation float64
	// Asked is how the queries that were sampled would go.
	Asked Distribution
}

// Common is a value of a key, and how many documents of those looked at have it.
type Common struct {
	Value bson.Raw
	Count int64
}

// Distribution is how many queries were sampled, and how many of them would go to one
// shard, to several, to all; Ranges is how many of each hundred ranges of keys one of
// those that go to several reaches.
type Distribution struct {
	Queries                int64
	Single, Several, Every float64 // shares
	Ranges                 float64
	// KeyUpdates is the share of writes that change the key of a document.
	KeyUpdates float64
}

// MinChunksPerShard is how many chunks a shard has at least when a key is judged: who
// shards a collection expects it to grow, and a key stays.
const MinChunksPerShard = 8

// ratedBytes is the size of the collection that keys are judged for.
func (f Facts) ratedBytes() int64 {
	return max(f.Bytes, f.Expect, MinChunksPerShard*int64(f.shards())*f.ChunkBytes)
}

// shards is how many shards keys are judged for: with one there is nothing to choose.
func (f Facts) shards() int { return max(f.Shards, 2) }

// clamp limits x to [low, high].
func clamp(x, low, high float64) float64 { return math.Max(low, math.Min(high, x)) }
