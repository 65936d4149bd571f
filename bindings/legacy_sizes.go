package bindings

import (
	"fmt"
	"strconv"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardingSizes prints the data size of every chunk of every collection. It says
// first how many calls that takes.
func (c *call) shardingSizes() {
	d := c.s.requireDB()
	config := d.sibling("config")
	entries := config.FindAll("collections", bson.D{notDropped, notUnsplittable}, sortedBy("_id", 1))
	chunks := make([][]bson.Raw, len(entries))
	calls := 0
	for i, entry := range entries {
		chunks[i] = config.FindAll("chunks", chunkFilter(entry), sortedBy("min", 1))
		calls += len(chunks[i])
	}
	c.JS.Warn(fmt.Sprintf("printShardingSizes: %d dataSize commands, each of which may read a whole chunk", calls))
	for i, entry := range entries {
		ns := rawdoc.Text(entry, "_id")
		list := c.JS.Runtime.NewArray()
		for n, chunk := range chunks[i] {
			reply := d.Admin(bson.D{
				{Key: "dataSize", Value: ns}, {Key: "keyPattern", Value: entry.Lookup("key")},
				{Key: "min", Value: chunk.Lookup("min")}, {Key: "max", Value: chunk.Lookup("max")},
			}, server.Reads)
			script.Must(list.Set(strconv.Itoa(n), c.s.display.OnOneLine(c.JS.NewObject(
				"min", c.s.lookup(chunk, "min"), "max", c.s.lookup(chunk, "max"), "on shard", c.s.lookup(chunk, "shard"),
				"size", c.s.lookup(reply, "size"), "objects", c.s.lookup(reply, "numObjects")))))
		}
		c.s.print([]goja.Value{c.JS.Runtime.ToValue(ns)})
		c.s.print([]goja.Value{list})
	}
}
