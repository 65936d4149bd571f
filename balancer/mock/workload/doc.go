// Package workload says what an application would do with a collection: which keys it
// reads and writes how often, and how that changes over the day. It draws operations and
// counts them by shard, and runs none.
package workload
