package router

import (
	"shardsh/balancer/mock/router/call"
)

// The effects of commands on a router's routing table cache, besides the refreshes after stale version
// errors of shards.

// routeEffect is the effect of a command on the routing table cache.
type routeEffect struct {
	// writesDocuments: the command writes documents. The former primary of a database rejects them.
	writesDocuments bool
	// looksForBuckets: for an untracked collection, the router checks whether it is a time series.
	looksForBuckets bool
	// forgets: the router refreshes the entry of the collection or database before the next request.
	forgets bool
	// refreshesBefore: the router refreshes the entry before the command.
	refreshesBefore bool
	// staleMarks is how often the router marks the entry as stale after the command.
	staleMarks int
}

// routeEffects holds the commands with an effect. After other commands, such as moveRange, a router uses
// its cache until a shard rejects a request.
var routeEffects = map[string]routeEffect{
	"insert":        {writesDocuments: true, looksForBuckets: true},
	"update":        {writesDocuments: true, looksForBuckets: true},
	"delete":        {writesDocuments: true, looksForBuckets: true},
	"findAndModify": {writesDocuments: true, looksForBuckets: true},
	"createIndexes": {looksForBuckets: true},
	"collStats":     {looksForBuckets: true},

	"create":          {staleMarks: 1},
	"shardCollection": {staleMarks: 1},
	"split":           {refreshesBefore: true, staleMarks: 1},
	"mergeChunks":     {refreshesBefore: true, staleMarks: 1},
	"moveChunk":       {refreshesBefore: true, staleMarks: 2}, // once for the donor, once for the recipient

	"clearJumboFlag": {forgets: true}, "drop": {forgets: true}, "dropDatabase": {forgets: true},
	"enableSharding": {forgets: true}, "moveCollection": {forgets: true}, "movePrimary": {forgets: true},
	"refineCollectionShardKey": {forgets: true}, "renameCollection": {forgets: true},
	"reshardCollection": {forgets: true}, "unshardCollection": {forgets: true},
}

// applyEffectsBefore applies the effects before a command.
func applyEffectsBefore(cmd *call.Command, c *call.Call) {
	if cmd.Name == "aggregate" {
		if ns := c.TargetNamespace(cmd); !call.IsView(c, ns) {
			c.Request.SetMainCollection(ns)
		}
	}
	effect, ok := routeEffects[cmd.Name]
	if !ok || c.Node.Member != nil {
		return
	}
	ns, config := c.TargetNamespace(cmd), c.Cluster.ConfigDB()
	if effect.writesDocuments {
		c.Node.Routes.CountStaleFormerPrimary(ns, config)
	}
	if effect.looksForBuckets {
		c.Node.Routes.LookForBuckets(ns, config)
	}
	if effect.refreshesBefore {
		c.Node.Routes.Refresh(ns, config)
	}
}

// applyEffectsAfter applies the effects after a command, which may have failed.
func applyEffectsAfter(cmd *call.Command, c *call.Call, done bool) {
	effect, ok := routeEffects[cmd.Name]
	if !ok || c.Node.Member != nil {
		return
	}
	ns, routes := c.TargetNamespace(cmd), c.Node.Routes
	if effect.looksForBuckets {
		routes.LookForBuckets(ns, c.Cluster.ConfigDB())
	}
	for range effect.staleMarks {
		if done {
			routes.MarkStale(ns)
		}
	}
	if !effect.forgets {
		return
	}
	if cmd.Name == "dropDatabase" {
		ns = c.DB
	}
	routes.Forget(ns)
	if to, isText := c.Body.Lookup("to").StringValueOK(); isText && cmd.Name == "renameCollection" {
		routes.Forget(to)
	}
}
