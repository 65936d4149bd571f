package keyadvice

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Facts are the inputs of the advice: data about the collection and its cluster.
type Facts struct {
	Namespace string
	Release   catalog.Release
	// Shards is the number of shards that the data may be on: those that are not draining.
	Shards int
	// ChunkBytes is the chunk size in effect.
	ChunkBytes int64
	// Docs and Bytes are the current size of the collection. ExpectBytes is its expected size, 0 if unknown.
	Docs, Bytes, ExpectBytes int64
	// Current is the current shard key; empty when the collection is not sharded.
	Current ShardKey
	Indexes []Index
	// ZoneFields are the shard key fields that the collection's zone ranges use, in order.
	ZoneFields []string
	// ZoneRanges are the collection's zone ranges.
	ZoneRanges []ZoneRange
	// BytesPerSecond is the rate of migrations in the change log; 0 if the log has none.
	BytesPerSecond float64
	// Queries are the queries of the collection, and QueriesFrom is their source.
	Queries     []Query
	QueriesFrom QuerySource
	Sample      Sample
	// Measurements holds the server's measurements, by the string form of the key.
	Measurements map[string]Measurement
	// Notes name the data that could not be read, and other limits of the advice.
	Notes []string
}

// Index is an index of the collection.
type Index struct {
	Name string
	Key  bson.Raw
	// Unique indexes reject a second document with the same values. CannotServeKey is set for partial and
	// sparse indexes and those with a collation: none of these can serve a shard key.
	Unique, CannotServeKey bool
	// UseCount is the number of operations that used the index since the servers started; -1 when unknown.
	UseCount int64
}

// QuerySource is the source of information about a collection's queries.
type QuerySource string

// The sources, the best one first.
const (
	QueriesGiven   QuerySource = "given"
	QueriesSampled QuerySource = "sampledQueries"
	QueriesCounted QuerySource = "indexStats"
	QueriesGuessed QuerySource = "indexes"
)

// Query is a kind of query: the fields that it compares with one value, and the fields of which it
// requests a range.
type Query struct {
	Equal  []string `json:"equal,omitempty"`
	Range  []string `json:"range,omitempty"`
	Weight float64  `json:"weight"`
}

// Sample holds documents of the collection; fields that are not needed may be missing.
type Sample struct {
	// Docs are drawn at random, or are all documents.
	Docs []bson.Raw
	// Arrival holds documents in the order of their insertion; nil when the order is unknown.
	Arrival []bson.Raw
}

// Measurement is the reply of analyzeShardKey for a key.
type Measurement struct {
	// Docs is the number of examined documents; 0 when the key has no index.
	Docs, Distinct int64
	Unique         bool
	// CommonValues are the most common values, the most common value first.
	CommonValues []CommonValue
	// Correlation is the correlation of the key order with the insertion order; NaN when unknown.
	Correlation float64
	// QueryDistribution is how the sampled queries would be distributed.
	QueryDistribution Distribution
}

// CommonValue is a value of a key, and the number of examined documents that have the value.
type CommonValue struct {
	Value bson.Raw
	Count int64
}

// Distribution is the number of sampled queries, and the shares of them that would go to one shard, to
// several, and to every shard. RangesPercent is the percentage of the key ranges that a query to several
// shards reaches.
type Distribution struct {
	Queries                                               int64
	SingleShardShare, MultiShardShare, ScatterGatherShare float64 // shares of the queries
	RangesPercent                                         float64
	// KeyUpdateShare is the share of writes that change the shard key of a document.
	KeyUpdateShare float64
}

// MinChunksPerShard is the minimum number of chunks on a shard for which a key is rated: a sharded
// collection is expected to grow, and its key stays.
const MinChunksPerShard = 8

// ratedBytes returns the size of the collection for which keys are rated.
func (f Facts) ratedBytes() int64 {
	return max(f.Bytes, f.ExpectBytes, MinChunksPerShard*int64(f.shards())*f.ChunkBytes)
}

// BytesOf returns the size of a number of documents, each of the collection's average size; 0 for an
// empty collection. It is limited, as users may name any number.
func (f Facts) BytesOf(docs int64) int64 {
	const largest = 1 << 60
	if f.Docs <= 0 {
		return 0
	}
	return int64(min(float64(docs)*float64(f.Bytes)/float64(f.Docs), largest))
}

// shards returns the number of shards for which keys are rated, at least two: with one shard all keys
// would be equal.
func (f Facts) shards() int { return max(f.Shards, 2) }
