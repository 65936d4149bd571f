package bindings

import (
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The show commands that are about shards; mongosh has none of them.

func showShards(c *call, d *database) goja.Value {
	return c.shownValue(c.array(c.findAll(d.sibling("config"), "shards", bson.D{}, sortedBy("_id", 1))))
}

func showZones(c *call, d *database) goja.Value {
	config := d.sibling("config")
	filter := bson.D{}
	if c.has(1) {
		filter = bson.D{{Key: "ns", Value: d.qualified(c.text(1))}}
	}
	o := c.rt.NewObject()
	for _, doc := range c.findAll(config, "tags", filter, bson.E{Key: "sort", Value: bson.D{{Key: "ns", Value: int32(1)}, {Key: "min", Value: int32(1)}}}) {
		ns := textAt(doc, "ns")
		list, _ := o.Get(ns).(*goja.Object)
		if list == nil {
			list = c.rt.NewArray()
			must(o.Set(ns, list))
		}
		entry := c.newObject("zone", c.lookup(doc, "tag"), "min", c.lookup(doc, "min"), "max", c.lookup(doc, "max"))
		must(list.Set(itoa(len(list.Keys())), c.onOneLine(entry)))
	}
	return c.shownValue(o)
}

// qualified is a namespace; names without a database are in this one.
func (d *database) qualified(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return d.name + "." + name
}

// showChunks shows the chunks of a collection, or counts those of all.
func showChunks(c *call, d *database) goja.Value {
	config := d.sibling("config")
	if !c.has(1) {
		o := c.rt.NewObject()
		for _, entry := range c.findAll(config, "collections", bson.D{notDropped, notUnsplittable}, sortedBy("_id", 1)) {
			counts := c.rt.NewObject()
			for _, g := range c.aggregateAll(config, "chunks",
				bson.D{{Key: "$match", Value: chunkFilter(entry)}},
				bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$shard"}, {Key: "n", Value: bson.D{{Key: "$sum", Value: int32(1)}}}}}},
				bson.D{{Key: "$sort", Value: bson.D{{Key: "_id", Value: int32(1)}}}},
			) {
				must(counts.Set(textAt(g, "_id"), c.lookup(g, "n")))
			}
			must(o.Set(textAt(entry, "_id"), counts))
		}
		return c.shownValue(o)
	}
	ns := d.qualified(c.text(1))
	entry := c.catalogEntry(config, ns, nil)
	if entry == nil {
		c.throwCoded(invalidInput, codeNotSharded, "Collection %s is not sharded", ns)
	}
	r := &statusReport{s: c.Shell, config: config}
	return c.shownValue(r.listed("chunks", chunkFilter(entry), maxStatusChunks, r.chunk))
}

func showMigrations(c *call, d *database) goja.Value {
	config := d.sibling("config")
	active := c.rt.NewArray()
	for i, m := range c.activeMigrations(d, config) {
		must(active.Set(itoa(i), c.newObject("ns", m.ns, "since", c.goValue(m.when))))
	}
	r := &statusReport{s: c.Shell, config: config, now: c.clock.Now()}
	return c.shownValue(c.newObject("active", active, "last 24 hours", r.migrationResults()))
}

func showBalancer(c *call, d *database) goja.Value {
	r := &statusReport{s: c.Shell, d: d, config: d.sibling("config"), now: c.clock.Now()}
	return c.shownValue(r.balancer())
}
