package sh

import (
	"slices"
	"strings"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// chunkCount is how many chunks of a collection a shard has.
type chunkCount struct {
	shard    string
	n, jumbo int64
}

type chunkCounts []chunkCount

func (list chunkCounts) shards() []string {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.shard
	}
	return ids
}

func (list chunkCounts) on(id string) int64 {
	for _, c := range list {
		if c.shard == id {
			return c.n
		}
	}
	return 0
}

func (list chunkCounts) total() (n, jumbo int64) {
	for _, c := range list {
		n += c.n
		jumbo += c.jumbo
	}
	return n, jumbo
}

// chunkCountsOf counts the chunks that match, of each collection on each shard,
// in one query. The key is what chunkKey gives for a collection.
func (s *Host) chunkCountsOf(config *server.Database, filter bson.D) map[string]chunkCounts {
	one := func(when any) bson.D { return bson.D{{Key: "$sum", Value: when}} }
	groups := config.AggregateAll("chunks",
		bson.D{{Key: "$match", Value: filter}},
		bson.D{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: bson.D{{Key: "uuid", Value: "$uuid"}, {Key: "ns", Value: "$ns"}, {Key: "shard", Value: "$shard"}}},
			{Key: "n", Value: one(int32(1))},
			{Key: "jumbo", Value: one(bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$eq", Value: bson.A{"$jumbo", true}}}, int32(1), int32(0)}}})},
		}}},
	)
	counts := map[string]chunkCounts{}
	for _, g := range groups {
		key := idKey(g.Lookup("_id", "uuid"))
		if ns := rawdoc.Text(g, "_id", "ns"); ns != "" {
			key = ns
		}
		counts[key] = append(counts[key], chunkCount{shard: rawdoc.Text(g, "_id", "shard"), n: rawdoc.Int(g, "n"), jumbo: rawdoc.Int(g, "jumbo")})
	}
	for _, list := range counts {
		slices.SortFunc(list, func(a, b chunkCount) int { return strings.Compare(a.shard, b.shard) })
	}
	return counts
}

// chunkKey is what chunks of a collection are told by: its uuid since 5.0, its
// name before.
func chunkKey(entry bson.Raw) string {
	f := ChunkFilter(entry)[0]
	v, _ := f.Value.(bson.RawValue)
	if f.Key == "ns" {
		return v.StringValue()
	}
	return idKey(v)
}

func idKey(v bson.RawValue) string { return string(v.Value) }

// chunkCounts counts the chunks of one collection.
func (sh *Helpers) chunkCounts(ns string) chunkCounts {
	entry := sh.sharded(ns)
	return sh.s.chunkCountsOf(sh.config(), ChunkFilter(entry))[chunkKey(entry)]
}

// sharded is a collection's entry in the catalog; none throws.
func (sh *Helpers) sharded(ns string) bson.Raw {
	entry := CatalogEntry(sh.config(), ns, nil)
	if entry == nil {
		sh.s.JS.ThrowCoded(script.InvalidInput, script.CodeNotSharded, "Collection %s is not sharded", ns)
	}
	return entry
}

// shChunks is a cursor over the chunks of a collection, in the order of their
// bounds.
func shChunks(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	o := c.options("chunks", 1, "shard", "zone", "jumbo", "limit")
	filter := ChunkFilter(sh.sharded(ns))
	if id := o.text("shard"); id != "" {
		filter = append(filter, bson.E{Key: "shard", Value: id})
	}
	if o.get("jumbo") != nil {
		filter = append(filter, jumboFilter(o.flag("jumbo", true)))
	}
	if zone := o.text("zone"); zone != "" {
		filter = append(filter, bson.E{Key: "$or", Value: c.overlapping(sh, ns, zone)})
	}
	body := bson.D{{Key: "find", Value: "chunks"}, {Key: "filter", Value: filter}, server.SortedBy("min", 1)}
	if v := o.get("limit"); v != nil {
		n, ok := c.numeric(v)
		if !ok || n < 1 || n != float64(int64(n)) {
			c.JS.ThrowInvalid("option limit of sh.chunks is a number of chunks, not %s", c.s.Display.Inspect(v))
		}
		body = append(body, bson.E{Key: "limit", Value: int64(n)})
	}
	object, _ := c.s.Objects.Cursor(sh.config(), body)
	return object
}

// jumboFilter finds the chunks with the flag, or those without: the field may be
// missing or false.
func jumboFilter(jumbo bool) bson.E {
	if jumbo {
		return bson.E{Key: "jumbo", Value: true}
	}
	return bson.E{Key: "jumbo", Value: bson.D{{Key: "$ne", Value: true}}}
}

// overlapping finds the chunks that lie in a zone, or in part.
func (c *call) overlapping(sh *Helpers, ns, zone string) bson.A {
	alternatives := bson.A{}
	for _, tag := range sh.config().FindAll("tags", bson.D{{Key: "ns", Value: ns}, {Key: "tag", Value: zone}}) {
		alternatives = append(alternatives, bson.D{
			{Key: "min", Value: bson.D{{Key: "$lt", Value: tag.Lookup("max")}}},
			{Key: "max", Value: bson.D{{Key: "$gt", Value: tag.Lookup("min")}}},
		})
	}
	if len(alternatives) == 0 {
		c.JS.ThrowInvalid("zone %s has no range in %s: sh.zones(%q) lists them", zone, ns, ns)
	}
	return alternatives
}
