package sh

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// ShowCommands returns the show commands about shards, by their argument; mongosh has none of them. The second
// argument may be a collection.
func (h *Host) ShowCommands() map[string]func(c *script.Call, d *server.Database) goja.Value {
	shows := map[string]func(*script.Call, *server.Database) goja.Value{}
	for what, show := range map[string]func(*call, *server.Database) goja.Value{
		"shards": showShards, "zones": showZones, "chunks": showChunks, "migrations": showMigrations,
		"balancer": showBalancer,
	} {
		shows[what] = func(c *script.Call, d *server.Database) goja.Value { return show(&call{c, h}, d) }
	}
	return shows
}

func showShards(c *call, d *server.Database) goja.Value {
	if !c.host.Display.ShowsTables() {
		return c.host.Display.ShowResult(
			c.JS.DocumentArray(d.Sibling("config").FindAll("shards", bson.D{}, server.SortField("_id", 1))),
		)
	}
	r := c.host.readStatusReport(d, d.Sibling("config"),
		live.Shards|live.Collections|live.Unsharded|live.ChunkCounts|live.Sizes)
	return c.host.Display.TablesResult(func(t *display.Tables) { r.drawShards(t, "") })
}

func showZones(c *call, d *server.Database) goja.Value {
	ns := ""
	if c.Has(1) {
		ns = qualifiedNamespace(d, c.Text(1))
	}
	if c.host.Display.ShowsTables() {
		zones := c.host.zones(d, ns)
		return c.host.Display.TablesResult(func(t *display.Tables) { drawZones(t, zones) })
	}
	l := live.ReaderOptions{Parts: live.Zones}
	if ns != "" {
		l.Namespaces = []string{ns}
	}
	o := c.JS.Runtime.NewObject()
	tags := c.host.readCluster(d, d.Sibling("config"), l).Parts().Config["tags"]
	if ns != "" && len(tags) == 0 {
		c.host.helpersOn(d).requireEntry(ns) // throws if there is no such collection
	}
	for _, doc := range tags { // sorted by range
		ns := rawdoc.Text(doc, "ns")
		list, _ := o.Get(ns).(*goja.Object)
		if list == nil {
			list = c.JS.Runtime.NewArray()
			script.Must(o.Set(ns, list))
		}
		entry := c.JS.NewObject("zone", c.host.fieldValue(doc, "tag"), "min", c.host.fieldValue(doc, "min"), "max",
			c.host.fieldValue(doc, "max"))
		script.Must(list.Set(strconv.Itoa(len(list.Keys())), c.JS.Values.SetOneLine(entry)))
	}
	return c.host.Display.ShowResult(o)
}

// qualifiedNamespace returns a namespace; names without a database belong to the current one.
func qualifiedNamespace(d *server.Database, name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return d.Name + "." + name
}

// showChunks shows the chunks of a collection, or the chunk counts of all collections.
func showChunks(c *call, d *server.Database) goja.Value {
	if !c.Has(1) {
		return c.showChunkCounts(d)
	}
	config, ns := d.Sibling("config"), qualifiedNamespace(d, c.Text(1))
	entry := c.host.helpersOn(d).requireEntry(ns)
	if !c.host.Display.ShowsTables() {
		r := &statusReport{host: c.host, config: config}
		return c.host.Display.ShowResult(r.listEntries("chunks", r.readFirstChunks(entry), maxStatusChunks, r.chunk))
	}
	n := c.host.readChunkCounts(d, rawdoc.Text(entry, "_id")).Count().Chunks
	chunks := config.FindAll("chunks", ChunkFilter(entry), server.SortField("min", 1), server.LimitField(display.MaxRows))
	return c.host.Display.TablesResult(func(t *display.Tables) {
		t.WriteGrid(chunkRows(chunks))
		if more := n - int64(len(chunks)); more > 0 {
			t.WriteLine("", fmt.Sprintf("… and %d more: sh.chunks(%q)", more, ns))
		}
	})
}

func chunkRows(chunks []bson.Raw) (header []string, rows [][]string) {
	for _, doc := range chunks {
		jumbo := ""
		if rawdoc.IsFieldTruthy(doc, "jumbo") {
			jumbo = "jumbo"
		}
		t, i, _ := doc.Lookup("lastmod").TimestampOK()
		rows = append(rows, []string{
			boundTextAt(doc, "min"), boundTextAt(doc, "max"), rawdoc.Text(doc, "shard"), fmt.Sprintf("%d|%d", t, i), jumbo,
		})
	}
	return []string{"from", "up to", "shard", "version", ""}, rows
}

// showChunkCounts counts the chunks of all collections.
func (c *call) showChunkCounts(d *server.Database) goja.Value {
	seen := c.host.readCluster(d, d.Sibling("config"), live.ReaderOptions{Parts: live.Collections | live.ChunkCounts})
	collections := seen.Collections()
	if c.host.Display.ShowsTables() {
		return c.host.Display.TablesResult(func(t *display.Tables) {
			t.WriteTopRows([]string{"collection", "shard", "chunks#", "jumbo#"}, chunkCountRows(collections), 0,
				"show chunks DB.COLLECTION shows one")
		})
	}
	o := c.JS.Runtime.NewObject()
	for _, coll := range collections {
		perShard := c.JS.Runtime.NewObject()
		for _, id := range coll.Owners() {
			script.Must(perShard.Set(string(id), coll.CountOn(id).Chunks))
		}
		script.Must(o.Set(coll.Namespace, perShard))
	}
	return c.host.Display.ShowResult(o)
}

// chunkCountRows returns a row for each shard of a collection. If they exceed a screen, shards with
// jumbo chunks come first, then those with the most chunks.
func chunkCountRows(collections []*catalog.CollectionState) (rows [][]string) {
	type row struct {
		ns    string
		shard catalog.ShardID
		n     catalog.ChunkCount
	}
	var list []row
	for _, coll := range collections {
		for _, id := range coll.Owners() {
			list = append(list, row{coll.Namespace, id, coll.CountOn(id)})
		}
	}
	if len(list) > display.MaxRows {
		slices.SortStableFunc(list, func(a, b row) int {
			return cmp.Or(cmp.Compare(b.n.Jumbo, a.n.Jumbo), cmp.Compare(b.n.Chunks, a.n.Chunks))
		})
	}
	for _, r := range list {
		rows = append(rows, []string{r.ns, string(r.shard), fmt.Sprint(r.n.Chunks), fmt.Sprint(r.n.Jumbo)})
	}
	return rows
}

func showBalancer(c *call, d *server.Database) goja.Value {
	r := c.host.readStatusReport(d, d.Sibling("config"),
		live.Settings|live.Balancer|live.WindowClock|live.Rounds|live.MigrationOutcomes|live.RunningMigrations|
			live.RunningReshardings)
	if c.host.Display.ShowsTables() {
		return c.host.Display.TablesResult(r.drawBalancer)
	}
	return c.host.Display.ShowResult(r.balancer())
}
