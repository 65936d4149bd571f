package sh

import (
	"shardsh/bindings/server"

	"github.com/dop251/goja"
)

// shardCommandMethods returns helpers that mongosh lacks. Each sends a command that administrators would
// otherwise have to write out (rules/04-objects §5.2, rules/04-outputs-and-traps §8).
func shardCommandMethods() []helper {
	return []helper{
		{"chunks", "ns:string|object options?:object{shard,zone,jumbo,limit}", shChunks,
			"Returns a cursor over a collection's chunks; {shard, zone, jumbo: true or false, limit}."},
		{"zones", "ns?:string|object", shZones,
			"Returns the zones: their shards, their ranges, and their problems."},
		{"chunkSize", "nsOrMB?:any mb?:any", shChunkSize,
			"chunkSize() and chunkSize(ns) return the size in MB, chunkSize(64) and chunkSize(ns, 64) set it; (ns, null) " +
				"restores the cluster's."},
		{"removeShard", "shard:string options?:object{@removeShard}", simpleCommand("removeShard"),
			"Sends removeShard: starts draining, reports its progress, and removes a shard that is empty."},
		{"refineCollectionShardKey", "ns:string key:object options?:object{@refineCollectionShardKey}",
			simpleCommand("refineCollectionShardKey", "key"), "Adds fields to the end of a shard key."},
		{"movePrimary", "database:string to:string options?:object{@movePrimary}", simpleCommand("movePrimary", "to"),
			"Moves a database's primary shard."},
		{"configureCollectionBalancing", "ns:string options?:object{@configureCollectionBalancing}",
			simpleCommand("configureCollectionBalancing"),
			"Sets a collection's chunk size, defragmentation, auto-merging or balancing."},
		{"getShardMap", "", func(c *call, sh *Helpers) goja.Value {
			return c.host.Display.ReplyValue(sh.runAdmin(server.Command("getShardMap")))
		}, "Returns the hosts of all shards."},
	}
}
