package bindings

import (
	"fmt"
	"strconv"
	"strings"

	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The show commands that are about shards; mongosh has none of them.

func showShards(c *call, d *database) goja.Value {
	config := d.sibling("config")
	shards := config.FindAll("shards", bson.D{}, sortedBy("_id", 1))
	if !c.s.display.ShowsTables() {
		return c.s.shownValue(c.JS.Array(shards))
	}
	r := c.s.newStatusReport(d)
	r.counts = c.s.chunkCountsOf(config, bson.D{})
	r.readDistribution()
	return c.s.display.ShowTables(func(t *display.Tables) { t.Grid(r.shardRows(shards)) })
}

func showZones(c *call, d *database) goja.Value {
	config, ns := d.sibling("config"), ""
	if c.Has(1) {
		ns = d.qualified(c.Text(1))
	}
	if c.s.display.ShowsTables() {
		zones := c.s.zones(config, ns)
		return c.s.display.ShowTables(func(t *display.Tables) { drawZones(t, zones) })
	}
	filter := bson.D{}
	if ns != "" {
		filter = bson.D{{Key: "ns", Value: ns}}
	}
	o := c.JS.Runtime.NewObject()
	for _, doc := range config.FindAll("tags", filter, byRange()) {
		ns := rawdoc.Text(doc, "ns")
		list, _ := o.Get(ns).(*goja.Object)
		if list == nil {
			list = c.JS.Runtime.NewArray()
			script.Must(o.Set(ns, list))
		}
		entry := c.JS.NewObject("zone", c.s.lookup(doc, "tag"), "min", c.s.lookup(doc, "min"), "max", c.s.lookup(doc, "max"))
		script.Must(list.Set(strconv.Itoa(len(list.Keys())), c.s.display.OnOneLine(entry)))
	}
	return c.s.shownValue(o)
}

// qualified is a namespace; names without a database are in this one.
func (d *database) qualified(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return d.Name + "." + name
}

// showChunks shows the chunks of a collection, or counts those of all.
func showChunks(c *call, d *database) goja.Value {
	if !c.Has(1) {
		return c.showChunkCounts(d)
	}
	config, ns := d.sibling("config"), d.qualified(c.Text(1))
	entry := c.s.catalogEntry(config, ns, nil)
	if entry == nil {
		c.JS.ThrowCoded(script.InvalidInput, script.CodeNotSharded, "Collection %s is not sharded", ns)
	}
	r := c.s.newStatusReport(d)
	if !c.s.display.ShowsTables() {
		return c.s.shownValue(r.listed("chunks", chunkFilter(entry), maxStatusChunks, r.chunk))
	}
	n, _ := c.s.chunkCountsOf(config, chunkFilter(entry))[chunkKey(entry)].total()
	chunks := config.FindAll("chunks", chunkFilter(entry), sortedBy("min", 1), limitedTo(display.MaxRows))
	return c.s.display.ShowTables(func(t *display.Tables) {
		t.Grid(chunkRows(chunks))
		if more := n - int64(len(chunks)); more > 0 {
			t.Line("", fmt.Sprintf("… and %d more: sh.chunks(%q)", more, ns))
		}
	})
}

func chunkRows(chunks []bson.Raw) (header []string, rows [][]string) {
	for _, doc := range chunks {
		jumbo := ""
		if rawdoc.TruthyAt(doc, "jumbo") {
			jumbo = "jumbo"
		}
		t, i, _ := doc.Lookup("lastmod").TimestampOK()
		rows = append(rows, []string{bound(doc, "min"), bound(doc, "max"), rawdoc.Text(doc, "shard"), fmt.Sprintf("%d|%d", t, i), jumbo})
	}
	return []string{"from", "up to", "shard", "version", ""}, rows
}

// showChunkCounts counts the chunks of all collections.
func (c *call) showChunkCounts(d *database) goja.Value {
	config := d.sibling("config")
	counts := c.s.chunkCountsOf(config, bson.D{})
	entries := c.s.shardedCollections(config)
	if c.s.display.ShowsTables() {
		var rows [][]string
		for _, entry := range entries {
			for _, n := range counts[chunkKey(entry)] {
				rows = append(rows, []string{rawdoc.Text(entry, "_id"), n.shard, fmt.Sprint(n.n), fmt.Sprint(n.jumbo)})
			}
		}
		return c.s.display.ShowTables(func(t *display.Tables) { t.Grid([]string{"collection", "shard", "chunks#", "jumbo#"}, rows) })
	}
	o := c.JS.Runtime.NewObject()
	for _, entry := range entries {
		perShard := c.JS.Runtime.NewObject()
		for _, n := range counts[chunkKey(entry)] {
			script.Must(perShard.Set(n.shard, n.n))
		}
		script.Must(o.Set(rawdoc.Text(entry, "_id"), perShard))
	}
	return c.s.shownValue(o)
}

func showMigrations(c *call, d *database) goja.Value {
	r := c.s.newStatusReport(d)
	if c.s.display.ShowsTables() {
		return c.s.display.ShowTables(r.migrationLines)
	}
	active := c.JS.Runtime.NewArray()
	for i, m := range c.s.activeMigrations(d, r.config) {
		script.Must(active.Set(strconv.Itoa(i), m.object(c.s)))
	}
	return c.s.shownValue(c.JS.NewObject("active", active, "last 24 hours", r.migrationResults()))
}

func showBalancer(c *call, d *database) goja.Value {
	r := c.s.newStatusReport(d)
	if c.s.display.ShowsTables() {
		return c.s.display.ShowTables(r.balancerLines)
	}
	return c.s.shownValue(r.balancer())
}
