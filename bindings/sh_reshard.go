package bindings

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardReshardMethods() move whole collections and look after shards.
func shardReshardMethods() []method[*shard] {
	return []method[*shard]{
		{"shardAndDistributeCollection", "ns:string key:object unique?:boolean|object options?:object", shShardAndDistribute,
			"Shards a collection and spreads its data at once."},
		{"moveCollection", "ns:string toShard:string options?:object", simple("moveCollection", "toShard"), "Moves an unsharded collection to a shard."},
		{"abortMoveCollection", "ns:string", simple("abortMoveCollection"), "Gives up a moveCollection."},
		{"unshardCollection", "ns:string toShard?:string options?:object", simple("unshardCollection", "toShard"), "Gathers a sharded collection on one shard."},
		{"abortUnshardCollection", "ns:string", simple("abortUnshardCollection"), "Gives up an unshardCollection."},
		{"listShards", "filter?:object", checked(shListShards), "Returns the shards."},
		{"isConfigShardEnabled", "", checked(shIsConfigShard), "Tells whether the config servers are a shard too."},
		{"shardDrainingStatus", "shard?:string", checked(func(c *call, sh *shard) goja.Value {
			var id any = int32(1)
			if c.has(0) {
				id = c.text(0)
			}
			return c.reply(sh.admin(bson.D{{Key: "shardDrainingStatus", Value: id}}))
		}), "Returns how far draining is."},
		{"getTransitionToDedicatedConfigServerStatus", "", checked(func(c *call, sh *shard) goja.Value {
			return c.reply(sh.admin(command("getTransitionToDedicatedConfigServerStatus")))
		}), "Returns how far the config shard's draining is."},
	}
}

// shShardAndDistribute shards, then reshards to the same key, which spreads the
// data; two of the options go along.
func shShardAndDistribute(c *call, sh *shard) goja.Value {
	body := c.shardKeyCommand("shardCollection")
	sh.admin(body)
	reshard := bson.D{{Key: "reshardCollection", Value: c.text(0)}, body[1], {Key: "forceRedistribution", Value: true}}
	for _, e := range body[2:] {
		if e.Key == "numInitialChunks" || e.Key == "collation" {
			reshard = append(reshard, e)
		}
	}
	return c.reply(sh.admin(reshard))
}

func (sh *shard) shards(filter goja.Value) []bson.Raw {
	body := command("listShards")
	if filter != nil && !goja.IsUndefined(filter) {
		body = append(body, bson.E{Key: "filter", Value: sh.s.document(filter)})
	}
	list, _ := sh.admin(body).Lookup("shards").ArrayOK()
	values, _ := list.Values()
	docs := []bson.Raw{}
	for _, v := range values {
		if doc, ok := v.DocumentOK(); ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

func shListShards(c *call, sh *shard) goja.Value { return c.array(sh.shards(c.arg(0))) }

func shIsConfigShard(c *call, sh *shard) goja.Value {
	for _, doc := range sh.shards(nil) {
		if textAt(doc, "_id") != "config" {
			continue
		}
		o := c.newObject("enabled", true, "host", c.world.ToJS(doc.Lookup("host")))
		if tags, err := doc.LookupErr("tags"); err == nil {
			must(o.Set("tags", c.world.ToJS(tags)))
		}
		return o
	}
	return c.newObject("enabled", false)
}
