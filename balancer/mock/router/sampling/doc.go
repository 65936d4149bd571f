// Package sampling keeps queries of collections, as configureQueryAnalyzer asks for,
// and returns how far they would go with a shard key: to one shard, some, or all.
package sampling
