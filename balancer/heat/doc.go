// Package heat estimates which chunks of a collection have how much of its load, and
// decides which of them to move so that no shard has much more than the others.
//
// Values in, values out: a look at a cluster (balancer/live/load) gives samples of
// queries and the counters of shards, Estimate makes a Map of them, and Decide a Decision.
package heat
