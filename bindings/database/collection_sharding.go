package database

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/sh"
)

func shardingMethods() script.Methods[*Collection] {
	return script.Methods[*Collection]{
		{"getShardVersion", "", func(_ *script.Call, coll *Collection) goja.Value {
			return coll.host.Display.ReplyValue(
				coll.database.RunAdmin(bson.D{{Key: "getShardVersion", Value: coll.Namespace()}}, server.Repeatable),
			)
		}, "Returns the version of the collection's routing table."},
		{"getShardDistribution", "", collShardDistribution, "Shows how data and chunks spread over the shards."},
		{"getShardLocation", "", collShardLocation, "Returns the shards that hold the collection."},
		{"analyzeShardKey", "key:object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.host.Display.ReplyValue(coll.database.RunAdmin(c.JS.Merge(bson.D{
				{Key: "analyzeShardKey", Value: coll.Namespace()}, {Key: "key", Value: c.JS.Document(c.Arg(0))},
			}, c.Arg(1)), server.Repeatable))
		}, "Measures how good a shard key would be."},
		{"configureQueryAnalyzer", "options:object", collConfigureQueryAnalyzer, "Starts or stops sampling queries."},
	}
}

// collConfigureQueryAnalyzer sends sampleRate as a double, because the server accepts no other type
// (rules/04-values-and-language §4.9).
func collConfigureQueryAnalyzer(c *script.Call, coll *Collection) goja.Value {
	body := c.JS.Merge(bson.D{{Key: "configureQueryAnalyzer", Value: coll.Namespace()}}, c.Arg(0))
	for i := range body {
		if raw, ok := body[i].Value.(bson.RawValue); ok && body[i].Key == "sampleRate" {
			if f, isNumber := raw.AsFloat64OK(); isNumber {
				body[i].Value = f
			}
		}
	}
	return coll.host.Display.ReplyValue(coll.database.RunAdmin(body))
}

func collShardLocation(c *script.Call, coll *Collection) goja.Value {
	if stats, err := coll.database.TryAggregate(coll.name, bson.D{{Key: "$collStats", Value: bson.D{}}}); err != nil {
		coll.host.Gateway.Throw(err)
	} else if len(stats) == 0 {
		c.JS.Throw(script.RuntimeErrorName, "collection %s not found", coll.Namespace())
	}
	docs := coll.database.AggregateAll(int32(1),
		bson.D{{Key: "$listClusterCatalog", Value: bson.D{{Key: "shards", Value: true}}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "ns", Value: coll.Namespace()}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: int32(0)}, {Key: "shards", Value: int32(1)},
			{Key: "sharded", Value: int32(1)}}}},
	)
	if len(docs) == 0 {
		return goja.Null()
	}
	return c.JS.Values.DocToJS(docs[0])
}

// shardStorage is the part of a collection on one shard: data without orphans, documents with orphans,
// as mongosh counts.
type shardStorage struct {
	shard, host                                               string
	dataBytes, docsWithOrphans, orphans, averageBytes, chunks float64
}

// collShardDistribution follows rules/04-objects §6.4, with the shards sorted by name.
func collShardDistribution(c *script.Call, coll *Collection) goja.Value {
	config := coll.database.Sibling("config")
	docs, err := coll.database.TryAggregate(coll.name, bson.D{{Key: "$collStats",
		Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}})
	if err != nil {
		coll.host.Gateway.Throw(err)
	}
	entry := sh.CatalogEntry(config, coll.Namespace(), docs)
	if entry == nil {
		c.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeNotSharded, "Collection %s is not sharded", coll.name)
	}
	ns := rawdoc.Text(entry, "_id")
	seen := coll.host.Sharding.ReadSnapshot(coll.database.Database, live.ReaderOptions{
		Parts: live.Shards | live.Collections | live.ChunkCounts, Namespaces: []string{ns},
	})
	var shares []shardStorage
	for _, doc := range docs {
		stats, _ := doc.Lookup("storageStats").DocumentOK()
		share := shardStorage{
			shard: rawdoc.Text(doc, "shard"), docsWithOrphans: rawdoc.Number(stats, "count"),
			averageBytes: rawdoc.Number(stats, "avgObjSize"), orphans: rawdoc.Number(stats, "numOrphanDocs"),
		}
		share.dataBytes = rawdoc.Number(stats, "size") - share.orphans*share.averageBytes
		on := catalog.ShardID(share.shard)
		if shard, found := seen.Shard(on); found {
			share.host = shard.Host
		}
		if counted := seen.Collection(ns); counted != nil {
			share.chunks = float64(counted.CountOn(on).Chunks)
		}
		shares = append(shares, share)
	}
	slices.SortFunc(shares, func(a, b shardStorage) int { return strings.Compare(a.shard, b.shard) })
	result := distributionObject(c.JS, shares)
	coll.host.Display.StatsResult(result)
	return coll.host.Display.WithTable(result, func(t *display.Tables) { drawDistribution(t, coll.Namespace(), shares) })
}

// drawDistribution draws a row for each shard and the totals. Orphans are counted separately, so that a
// donor does not seem to keep moved documents.
func drawDistribution(t *display.Tables, ns string, shares []shardStorage) {
	var all shardStorage
	for _, sh := range shares {
		all.dataBytes += sh.dataBytes
		all.docsWithOrphans += sh.docsWithOrphans
		all.orphans += sh.orphans
		all.chunks += sh.chunks
	}
	var rows [][]string
	for _, sh := range shares {
		perChunk := 0.0
		if sh.chunks > 0 {
			perChunk = sh.dataBytes / sh.chunks
		}
		rows = append(rows, []string{
			sh.shard,
			plaintext.DatabaseSizeText(sh.dataBytes),
			percentText(sh.dataBytes, all.dataBytes),
			plaintext.JSNumber(sh.docsWithOrphans - sh.orphans),
			plaintext.JSNumber(sh.orphans),
			plaintext.JSNumber(sh.chunks),
			plaintext.DatabaseSizeText(math.Floor(perChunk)),
			plaintext.DatabaseSizeText(sh.averageBytes),
		})
	}
	rows = append(rows, []string{"total", plaintext.DatabaseSizeText(all.dataBytes), "",
		plaintext.JSNumber(all.docsWithOrphans - all.orphans), plaintext.JSNumber(all.orphans),
		plaintext.JSNumber(all.chunks), "", ""})
	t.WriteHeading(ns)
	t.WriteGrid([]string{"shard", "data#", "%#", "documents#", "orphans#", "chunks#", "a chunk#", "a document#"}, rows)
}

func distributionObject(js *script.Engine, shares []shardStorage) *goja.Object {
	var data, docs, chunks float64
	for _, sh := range shares {
		data += sh.dataBytes
		docs += sh.docsWithOrphans
		chunks += sh.chunks
	}
	result := js.Runtime.NewObject()
	for _, sh := range shares {
		perChunk, docsPerChunk := 0.0, 0.0
		if sh.chunks > 0 {
			perChunk, docsPerChunk = sh.dataBytes/sh.chunks, math.Floor(sh.docsWithOrphans/sh.chunks)
		}
		script.Must(result.Set(fmt.Sprintf("Shard %s at %s", sh.shard, sh.host), js.NewObject(
			"data", plaintext.DistributionSizeText(sh.dataBytes),
			"docs", script.IntegerIfExact(sh.docsWithOrphans),
			"chunks", script.IntegerIfExact(sh.chunks),
			"estimated data per chunk", plaintext.DistributionSizeText(perChunk),
			"estimated docs per chunk", script.IntegerIfExact(docsPerChunk),
		)))
	}
	totals := js.NewObject("data", plaintext.DistributionSizeText(data), "docs", script.IntegerIfExact(docs), "chunks",
		script.IntegerIfExact(chunks))
	for _, sh := range shares {
		script.Must(totals.Set("Shard "+sh.shard, js.Runtime.NewArray(percentText(sh.dataBytes, data)+" % data",
			percentText(sh.docsWithOrphans, docs)+" % docs in cluster",
			plaintext.DistributionSizeText(sh.averageBytes)+" avg obj size on shard")))
	}
	script.Must(result.Set("Totals", totals))
	return result
}

func percentText(x, total float64) string {
	if total == 0 {
		return "0"
	}
	return plaintext.JSNumber(math.Floor(x/total*10000) / 100)
}
