// Package load reads what a cluster tells of its load: the counters of the shards twice, the
// queries that were sampled, and the newest documents. It changes nothing, but for the time
// for which somebody asks that queries be sampled.
package load
