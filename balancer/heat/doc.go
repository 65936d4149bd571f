// Package heat estimates how the load of a collection is distributed over its chunks, and decides which
// chunks to move so that no shard has much more load than the others.
//
// The package only computes: package balancer/live/load reads samples of queries and the counters of
// shards from a cluster, Estimate converts them to a Map, and Decide returns a Decision.
package heat
