package sh

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// readChunkCounts returns a sharded collection with its chunk counts by shard; nil when the collection
// is not sharded.
func (h *Host) readChunkCounts(d *server.Database, ns string) *catalog.CollectionState {
	seen := h.readCluster(d, d.Sibling("config"),
		live.ReaderOptions{Parts: live.Collections | live.ChunkCounts, Namespaces: []string{ns}})
	return seen.Collection(ns)
}

// requireEntry returns a collection's entry in the catalog, or throws.
func (h *Helpers) requireEntry(ns string) bson.Raw {
	entry := CatalogEntry(h.config(), ns, nil)
	if entry == nil {
		h.throwNotSharded(ns)
	}
	return entry
}

// shChunks returns a cursor over the chunks of a collection, in the order of
// their bounds.
func shChunks(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	o := c.options("chunks", 1)
	filter := ChunkFilter(sh.requireEntry(ns))
	if id := o.text("shard"); id != "" {
		if sh.config().FindOne("shards", bson.D{{Key: "_id", Value: id}}) == nil {
			sh.throwNoShard(id)
		}
		filter = append(filter, bson.E{Key: "shard", Value: id})
	}
	if o.value("jumbo") != nil {
		filter = append(filter, jumboFilter(o.flag("jumbo", true)))
	}
	if zone := o.text("zone"); zone != "" {
		filter = append(filter, bson.E{Key: "$or", Value: c.zoneOverlapFilter(sh, ns, zone)})
	}
	body := bson.D{{Key: "find", Value: "chunks"}, {Key: "filter", Value: filter}, server.SortField("min", 1)}
	if v := o.value("limit"); v != nil {
		n, ok := c.asNumber(v)
		if !ok || n < 1 || n != float64(int64(n)) {
			o.throwWrongOption("limit", "a number of chunks", c.host.Display.Inspect(v))
		}
		body = append(body, bson.E{Key: "limit", Value: int64(n)})
	}
	object, _ := c.host.Objects.Cursor(sh.config(), body)
	return object
}

// jumboFilter returns a filter for chunks with or without the jumbo flag, which may be missing or
// false.
func jumboFilter(jumbo bool) bson.E {
	if jumbo {
		return bson.E{Key: "jumbo", Value: true}
	}
	return bson.E{Key: "jumbo", Value: bson.D{{Key: "$ne", Value: true}}}
}

// zoneOverlapFilter returns a filter for the chunks that overlap a zone.
func (c *call) zoneOverlapFilter(sh *Helpers, ns, zone string) bson.A {
	alternatives := bson.A{}
	for _, tag := range sh.config().FindAll("tags", bson.D{{Key: "ns", Value: ns}, {Key: "tag", Value: zone}}) {
		alternatives = append(alternatives, bson.D{
			{Key: "min", Value: bson.D{{Key: "$lt", Value: tag.Lookup("max")}}},
			{Key: "max", Value: bson.D{{Key: "$gt", Value: tag.Lookup("min")}}},
		})
	}
	if len(alternatives) == 0 {
		sh.checkZoneExists(zone)
		c.JS.ThrowInvalid("zone %s has no range in %s: sh.zones(%q) lists them", zone, ns, ns)
	}
	return alternatives
}
