// Package load measures the load of a cluster from the counters of the shards, which it reads twice,
// the sampled queries, and the newest documents. It changes nothing unless requested: then it starts
// the query sampling of collections, and stops it again afterwards.
package load
