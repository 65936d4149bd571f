package router

import (
	"shardsh/balancer/mock/router/call"
)

// What commands do to what a router knows of where collections lie, beside what shards refuse.

// routeEffect is what a command does besides.
type routeEffect struct {
	// ofDocuments: it writes documents, which the former primary of a database refuses.
	ofDocuments bool
	// looksForBuckets: of a collection that is not tracked the router looks whether it is a time series.
	looksForBuckets bool
	// forgets: the router reads the collection, or the database, again before the next request.
	forgets bool
	// reads: the router reads the newest first.
	reads bool
	// outdates is how often the router counts what it knows as stale when the command is done.
	outdates int
}

// routeEffects has the commands that do something. After others, such as moveRange, a router goes on with what it
// knows until a shard refuses a request.
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
	"moveChunk":       {reads: true, outdates: 2}, // for the donor, and for the recipient

	"clearJumboFlag": {forgets: true}, "drop": {forgets: true}, "dropDatabase": {forgets: true},
	"enableSharding": {forgets: true}, "moveCollection": {forgets: true}, "movePrimary": {forgets: true},
	"refineCollectionShardKey": {forgets: true}, "renameCollection": {forgets: true},
	"reshardCollection": {forgets: true}, "unshardCollection": {forgets: true},
}

// lookUpRoutes comes before a command.
func lookUpRoutes(cmd *call.Command, c *call.Call) {
	if ns := c.TargetNamespace(cmd); cmd.Name == "aggregate" && !call.IsView(c, ns) {
		c.Request.JoinTo(ns)
	}
	effect, has := routeEffects[cmd.Name]
	if !has || c.Node.Member != nil {
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

// followRoutes comes after a command, which may have failed.
func followRoutes(cmd *call.Command, c *call.Call, done bool) {
	effect, has := routeEffects[cmd.Name]
	if !has || c.Node.Member != nil {
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
