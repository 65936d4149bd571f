// Package sampling samples the queries of collections as configureQueryAnalyzer asks for. It computes
// whether the sampled queries would target one shard, several shards or all shards with a given shard
// key.
package sampling
