// Package keyadvice says which shard key suits a collection, with its reasons: from
// what was read of the collection, its indexes and its queries. It proposes keys,
// judges them by how far data and inserts spread, by how few shards queries reach, by
// zones and by unique indexes, and ranks them. How it judges, docs/advise.md tells.
//
// Nothing here reads a cluster: [shardsh/balancer/live/keyfacts] does.
package keyadvice
