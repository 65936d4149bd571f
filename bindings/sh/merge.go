package sh

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

var (
	mergeAllVersion   = server.Version{7, 0, 0}
	clearJumboVersion = server.Version{4, 2, 3}
)

// shardChunkMethods returns the helpers that change single chunks.
func shardChunkMethods() []helper {
	return []helper{
		{"mergeChunks", "ns:string|object min:object max:object options?:object{@mergeChunks}",
			func(c *call, sh *Helpers) goja.Value {
				body := bson.D{{Key: "mergeChunks", Value: c.namespaceArgument(0)},
					{Key: "bounds", Value: bson.A{c.JS.Document(c.Arg(1)), c.JS.Document(c.Arg(2))}}}
				return c.host.Display.ReplyValue(sh.runAdmin(c.JS.Merge(body, c.Arg(3))))
			}, "Merges neighbouring chunks of one shard: from the lower bound of the first to the upper of the last."},
		{"mergeAllChunks", "ns:string|object shard?:string options?:object{@mergeAllChunksOnShard}",
			requiringVersion("mergeAllChunks", mergeAllVersion, shMergeAll),
			"Merges what may be merged on one shard or on all; counts the chunks before and after."},
		{"clearJumbo", "ns:string|object query:object options?:object{@clearJumboFlag}",
			requiringVersion("clearJumbo", clearJumboVersion, func(c *call, sh *Helpers) goja.Value {
				body := bson.D{{Key: "clearJumboFlag", Value: c.namespaceArgument(0)},
					{Key: "find", Value: c.JS.Document(c.Arg(1))}}
				return c.host.Display.ReplyValue(sh.runAdmin(c.JS.Merge(body, c.Arg(2))))
			}), "Clears the jumbo flag of the chunk that holds a document."},
	}
}

// shMergeAll counts chunks before and after, because the command does not report the merged chunks.
func shMergeAll(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	shards := []string{c.Text(1)}
	if !c.Has(1) || goja.IsNull(c.Arg(1)) {
		shards = nil
	}
	ns = rawdoc.Text(sh.requireEntry(ns), "_id")
	readCounts := func() *catalog.CollectionState {
		counts := c.host.readChunkCounts(sh.current(), ns)
		if counts == nil { // dropped meanwhile
			sh.throwNotSharded(ns)
		}
		return counts
	}
	before := readCounts()
	if shards == nil {
		shards = humanize.Texts(before.Owners())
	}
	var replies []bson.Raw
	for _, id := range shards {
		body := bson.D{{Key: "mergeAllChunksOnShard", Value: ns}, {Key: "shard", Value: id}}
		replies = append(replies, sh.runAdmin(c.JS.Merge(body, c.Arg(2))))
	}
	if len(replies) > 0 && rawdoc.IsFieldTruthy(replies[0], "dryRun") {
		return c.host.Display.ReplyValue(replies[0])
	}
	after := readCounts()
	items := make([]any, len(shards))
	for i, id := range shards {
		on := catalog.ShardID(id)
		items[i] = c.JS.NewObject(
			"shard", id, "chunksBefore", before.CountOn(on).Chunks, "chunksAfter", after.CountOn(on).Chunks)
	}
	return c.JS.NewObject("ns", ns, "shards", c.JS.Runtime.NewArray(items...), "ok", 1)
}
