package router

import (
	"shardsh/balancer/mock/router/call"
)

// The effects of commands on a router's routing table cache, besides the refreshes after stale version
// errors of shards.

// routeEffect is the effect of a command on the routing table cache.
type routeEffect struct {
	// ofDocuments: the command writes documents. The former primary of a database rejects them.
	ofDocuments bool
	// looksForBuckets: for an untracked collection, the router checks whether it is a time series.
	looksForBuckets bool
	// forgets: the router refreshes the entry of the collection or database before the next request.
	forgets bool
	// reads: the router refreshes the entry before the command.
	reads bool
	// outdates is how often the router marks the entry as stale after the command.
	outdates int
}

// routeEffects holds the commands with an effect. After other commands, such as moveRange, a router uses
// its cache until a shard rejects a request.
var routeEffects = map[string]routeEffect{
	"insert":        {ofDocuments: true, looksForBuckets: true},
	"update":        {ofDocuments: true, looksForBuckets: true},
	"delete":        {ofDocuments: true, looksForBuckets: true},
	"findAndModify": {ofDocuments: true, looksForBuckets: true},
	"createIndexes": {looksForBuckets: true},
	"collStats":     {looksForBuckets: true},

	"create":          {outdates: 1},
	"shardCollection": {outdates: 1},
	"split":           {reads: true, outdates: 1},
	"mergeChunks":     {reads: true, outdates: 1},
	"moveChunk":       {reads: true, outdates: 2}, // once for the donor, once for the recipient

	"clearJumboFlag": {forgets: true}, "drop": {forgets: true}, "dropDatabase": {forgets: true},
	"enableSharding": {forgets: true}, "moveCollection": {forgets: true}, "movePrimary": {forgets: true},
	"refineCollectionShardKey": {forgets: true}, "renameCollection": {forgets: true},
	"reshardCollection": {forgets: true}, "unshardCollection": {forgets: true},
}

// lookUpRoutes applies the effects before a command.
func lookUpRoutes(cmd *call.Command, c *call.Call) {
	if cmd.Name == "aggregate" {
		if ns := c.TargetNamespace(cmd); !call.IsView(c, ns) {
			c.Request.JoinTo(ns)
		}
	}
	effect, ok := routeEffects[cmd.Name]
	if !ok || c.Node.Member != nil {
		return
	}
	ns, config := c.TargetNamespace(cmd), c.Cluster.ConfigDB()
	if effect.ofDocuments {
		c.Node.Routes.RefuseByFormerPrimary(ns, config)
	}
	if effect.looksForBuckets {
		c.Node.Routes.LookForBuckets(ns, config)
	}
	if effect.reads {
		c.Node.Routes.Read(ns, config)
	}
}

// followRoutes applies the effects after a command, which may have failed.
func followRoutes(cmd *call.Command, c *call.Call, done bool) {
	effect, ok := routeEffects[cmd.Name]
	if !ok || c.Node.Member != nil {
		return
	}
	ns, routes := c.TargetNamespace(cmd), c.Node.Routes
	if effect.looksForBuckets {
		routes.LookForBuckets(ns, c.Cluster.ConfigDB())
	}
	for range effect.outdates {
		if done {
			routes.Outdate(ns)
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
