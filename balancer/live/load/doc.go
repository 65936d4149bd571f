// Package load measures the load of a cluster: the counters of the shards twice, the
// sampled queries, and the newest documents. It changes nothing except, on request, the
// query sampling of collections, which it switches off again.
package load
