// Package catalog models the metadata of sharding as plain values: shards, chunks, routing
// tables, shard keys, zones, collection entries, balancer settings and
// versions, and how they are read from and written to the config database
// (rules/03-catalog-and-keys §3 and §4).
//
// Everything here is plain data. Nothing reads a clock or talks to a server,
// and whatever is shared (KeyPattern, Key, RoutingTable) never changes.
package catalog
