package bindings

import (
	"fmt"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardingSizes prints the data size of every chunk of every collection. It says
// first how many calls that takes.
func (c *call) shardingSizes() {
	d := c.requireDB()
	config := d.sibling("config")
	entries := c.findAll(config, "collections", bson.D{notDropped, notUnsplittable}, sortedBy("_id", 1))
	chunks := make([][]bson.Raw, len(entries))
	calls := 0
	for i, entry := range entries {
		chunks[i] = c.findAll(config, "chunks", chunkFilter(entry), sortedBy("min", 1))
		calls += len(chunks[i])
	}
	c.warn(fmt.Sprintf("printShardingSizes: %d dataSize commands, each of which may read a whole chunk", calls))
	for i, entry := range entries {
		ns := textAt(entry, "_id")
		list := c.rt.NewArray()
		for n, chunk := range chunks[i] {
			reply := d.admin(bson.D{
				{Key: "dataSize", Value: ns}, {Key: "keyPattern", Value: entry.Lookup("key")},
				{Key: "min", Value: chunk.Lookup("min")}, {Key: "max", Value: chunk.Lookup("max")},
			}, reads)
			must(list.Set(itoa(n), c.onOneLine(c.newObject(
				"min", c.lookup(chunk, "min"), "max", c.lookup(chunk, "max"), "on shard", c.lookup(chunk, "shard"),
				"size", c.lookup(reply, "size"), "objects", c.lookup(reply, "numObjects")))))
		}
		c.print([]goja.Value{c.rt.ToValue(ns)})
		c.print([]goja.Value{list})
	}
}
