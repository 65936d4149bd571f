// Package catalog models the metadata of sharding as plain values: shards, chunks, routing tables,
// shard keys, zones, collection entries, balancer settings and versions. It also parses and builds the
// documents of the config database (rules/03-catalog-and-keys §3 and §4).
//
// Nothing here reads a clock or communicates with a server, and all shared values (KeyPattern, Key,
// RoutingTable) are immutable.
package catalog
