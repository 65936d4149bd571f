package sh

import (
	"slices"
	"strings"

	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// zoneLayout is one zone: its shards and its ranges.
type zoneLayout struct {
	name   string
	shards []string
	ranges []bson.Raw // documents of config.tags
}

// problem says what is wrong with a zone; empty when nothing is.
func (z zoneLayout) problem() string {
	if len(z.ranges) > 0 && len(z.shards) == 0 {
		return "has ranges and no shard: their chunks stay where they are"
	}
	return ""
}

// zones are all zones in the order of their names, with the ranges of one
// collection or, for an empty name, of all.
func (s *Host) zones(config *server.Database, ns string) []zoneLayout {
	byName := map[string]*zoneLayout{}
	zone := func(name string) *zoneLayout {
		if byName[name] == nil {
			byName[name] = &zoneLayout{name: name}
		}
		return byName[name]
	}
	for _, doc := range config.FindAll("shards", bson.D{}, server.SortedBy("_id", 1)) {
		for _, name := range stringsAt(doc, "tags") {
			z := zone(name)
			z.shards = append(z.shards, rawdoc.Text(doc, "_id"))
		}
	}
	filter := bson.D{}
	if ns != "" {
		filter = bson.D{{Key: "ns", Value: ns}}
	}
	for _, doc := range config.FindAll("tags", filter, byRange()) {
		z := zone(rawdoc.Text(doc, "tag"))
		z.ranges = append(z.ranges, doc)
	}
	var list []zoneLayout
	for _, z := range byName {
		if ns == "" || len(z.ranges) > 0 {
			list = append(list, *z)
		}
	}
	slices.SortFunc(list, func(a, b zoneLayout) int { return strings.Compare(a.name, b.name) })
	return list
}

// byRange sorts the ranges of zones.
func byRange() bson.E {
	return bson.E{Key: "sort", Value: bson.D{{Key: "ns", Value: int32(1)}, {Key: "min", Value: int32(1)}}}
}

func shZones(c *call, sh *Helpers) goja.Value {
	ns := ""
	if c.Has(0) && !goja.IsNull(c.Arg(0)) {
		ns = c.namespaceArgument(0)
	}
	zones := c.s.zones(sh.config(), ns)
	items := make([]any, len(zones))
	for i, z := range zones {
		ranges := make([]any, len(z.ranges))
		for n, doc := range z.ranges {
			ranges[n] = c.s.Display.OnOneLine(c.JS.NewObject("ns", c.s.lookup(doc, "ns"), "min", c.s.lookup(doc, "min"), "max", c.s.lookup(doc, "max")))
		}
		o := c.JS.NewObject("zone", z.name, "shards", c.s.texts(z.shards), "ranges", c.JS.Runtime.NewArray(ranges...))
		if text := z.problem(); text != "" {
			script.Must(o.Set("problem", text))
		}
		items[i] = o
	}
	return c.s.Display.WithTable(c.JS.Runtime.NewArray(items...), func(t *display.Tables) { drawZones(t, zones) })
}
