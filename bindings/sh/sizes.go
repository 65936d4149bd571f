package sh

import (
	"fmt"
	"strconv"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// PrintSizes prints the data size of every chunk of every collection. It first prints the number of
// commands that this takes.
func (h *Host) PrintSizes() {
	d := h.current()
	config := d.Sibling("config")
	entries := config.FindAll("collections", bson.D{NotDropped, NotUnsplittable}, server.SortField("_id", 1))
	chunks := make([][]bson.Raw, len(entries))
	calls := 0
	for i, entry := range entries {
		chunks[i] = config.FindAll("chunks", ChunkFilter(entry), server.SortField("min", 1))
		calls += len(chunks[i])
	}
	h.JS.Out.Warn(fmt.Sprintf("printShardingSizes: %d dataSize commands, each of which may read a whole chunk", calls))
	for i, entry := range entries {
		ns := rawdoc.Text(entry, "_id")
		list := h.JS.Runtime.NewArray()
		for n, chunk := range chunks[i] {
			reply := d.RunAdmin(bson.D{
				{Key: "dataSize", Value: ns}, {Key: "keyPattern", Value: entry.Lookup("key")},
				{Key: "min", Value: chunk.Lookup("min")}, {Key: "max", Value: chunk.Lookup("max")},
			}, server.Repeatable)
			script.Must(list.Set(strconv.Itoa(n), h.JS.Values.SetOneLine(h.JS.NewObject(
				"min", h.fieldValue(chunk, "min"), "max", h.fieldValue(chunk, "max"), "on shard", h.fieldValue(chunk, "shard"),
				"size", h.fieldValue(reply, "size"), "objects", h.fieldValue(reply, "numObjects")))))
		}
		h.Display.Print([]goja.Value{h.JS.Runtime.ToValue(ns)})
		h.Display.Print([]goja.Value{list})
	}
}
