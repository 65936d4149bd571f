// Package keyadvice advises on the shard key of a collection, with reasons, from data about the
// collection, its indexes and its queries. It proposes keys and rates them by the distribution of data
// and inserts, by the number of shards that queries target, by zones and by unique indexes.
// docs/advise.md describes the rating.
//
// The package reads no cluster: [shardsh/balancer/live/keyfacts] does.
package keyadvice
