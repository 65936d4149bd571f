package bindings

import (
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardExtraMethods() are helpers mongosh lacks: each is one command an
// administrator else writes out, or a wait (spec 04 §5.2, §8).
func shardExtraMethods() []method[*shard] {
	return []method[*shard]{
		{"isBalancerInRound", "", checked(func(c *call, sh *shard) goja.Value {
			return c.rt.ToValue(truthyAt(sh.balancerStatus(), "inBalancerRound"))
		}), "Tells whether the balancer is in a round right now."},
		{"removeShard", "shard:string options?:object", checked(simple("removeShard")), "Starts or continues draining a shard, and says how far it is."},
		{"mergeChunks", "ns:string min:object max:object options?:object", checked(func(c *call, sh *shard) goja.Value {
			body := bson.D{{Key: "mergeChunks", Value: c.text(0)}, {Key: "bounds", Value: bson.A{c.document(c.arg(1)), c.document(c.arg(2))}}}
			return c.reply(sh.admin(c.merge(body, c.arg(3))))
		}), "Merges neighbouring chunks of one shard."},
		{"mergeAllChunksOnShard", "ns:string shard:string options?:object", checked(simple("mergeAllChunksOnShard", "shard")),
			"Merges all chunks of a collection on a shard that may be merged."},
		{"clearJumboFlag", "ns:string query:object options?:object", checked(simple("clearJumboFlag", "find")), "Clears the jumbo flag of the chunk that holds a document."},
		{"refineCollectionShardKey", "ns:string key:object options?:object", checked(simple("refineCollectionShardKey", "key")), "Adds fields to the end of a shard key."},
		{"movePrimary", "database:string to:string options?:object", checked(simple("movePrimary", "to")), "Moves a database's primary shard."},
		{"configureCollectionBalancing", "ns:string options?:object", checked(simple("configureCollectionBalancing")),
			"Sets a collection's chunk size, defragmentation, auto-merging or balancing."},
		{"startDefragmentation", "ns:string options?:object", checked(func(c *call, sh *shard) goja.Value {
			body := bson.D{{Key: "configureCollectionBalancing", Value: c.text(0)}, {Key: "defragmentCollection", Value: true}}
			return c.reply(sh.admin(c.merge(body, c.arg(1))))
		}), "Starts defragmenting a collection."},
		{"stopDefragmentation", "ns:string", checked(func(c *call, sh *shard) goja.Value {
			return c.reply(sh.admin(bson.D{{Key: "configureCollectionBalancing", Value: c.text(0)}, {Key: "defragmentCollection", Value: false}}))
		}), "Stops defragmenting a collection."},
		{"getShardMap", "", checked(func(c *call, sh *shard) goja.Value { return c.reply(sh.admin(command("getShardMap"))) }), "Returns the hosts of all shards."},
		{"setChunkSize", "mb:number", checked(func(c *call, sh *shard) goja.Value {
			update := bson.D{{Key: "$set", Value: bson.D{{Key: "value", Value: c.value(c.arg(0))}}}}
			return c.updateResult(c.updateConfig(sh.config(), "settings", "chunksize", update, true, 30_000))
		}), "Sets the cluster's chunk size in MiB."},
		{"getChunkSize", "", checked(func(c *call, sh *shard) goja.Value {
			if doc := c.setting(sh.config(), "chunksize"); doc != nil {
				return c.lookup(doc, "value")
			}
			return c.rt.ToValue(128)
		}), "Returns the cluster's chunk size in MiB."},
		{"setBalancerWindow", "start:string stop:string", checked(func(c *call, sh *shard) goja.Value {
			window := bson.D{{Key: "start", Value: c.text(0)}, {Key: "stop", Value: c.text(1)}}
			update := bson.D{{Key: "$set", Value: bson.D{{Key: "activeWindow", Value: window}}}}
			return c.updateResult(c.updateConfig(sh.config(), "settings", "balancer", update, true, 30_000))
		}), "Lets the balancer work only between two times of day, of the config server's clock."},
		{"clearBalancerWindow", "", checked(func(c *call, sh *shard) goja.Value {
			update := bson.D{{Key: "$unset", Value: bson.D{{Key: "activeWindow", Value: int32(1)}}}}
			return c.updateResult(c.updateConfig(sh.config(), "settings", "balancer", update, false, 30_000))
		}), "Lets the balancer work at any time."},
	}
}

// poll asks until the answer is yes, every interval of the shell's clock, and
// reports whether it was before the timeout.
func (s *Shell) poll(timeout, interval time.Duration, done func() bool) bool {
	deadline := s.clock.Now().Add(timeout)
	for !done() {
		if !s.clock.Now().Before(deadline) {
			return false
		}
		s.sleep(interval)
	}
	return true
}

// milliseconds reads a duration argument.
func (c *call) milliseconds(i int, byDefault time.Duration) time.Duration {
	if !c.has(i) || goja.IsNull(c.arg(i)) {
		return byDefault
	}
	return time.Duration(c.arg(i).ToFloat() * float64(time.Millisecond))
}
