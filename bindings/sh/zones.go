package sh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// zones returns all zones by name, with the ranges of one collection or, for an empty name, of all
// collections.
func (h *Host) zones(d *server.Database, ns string) []diagnosis.Zone {
	l := live.ReaderOptions{Parts: live.Shards | live.Zones}
	if ns != "" {
		l.Namespaces = []string{ns}
	}
	zones := diagnosis.Zones(h.readCluster(d, d.Sibling("config"), l).Snapshot, ns)
	if ns != "" && !slices.ContainsFunc(zones, func(z diagnosis.Zone) bool { return len(z.Ranges) > 0 }) {
		h.helpersOn(d).requireEntry(ns) // throws if there is no such collection
	}
	return zones
}

func shZones(c *call, sh *Helpers) goja.Value {
	ns := ""
	if c.Has(0) && !goja.IsNull(c.Arg(0)) {
		ns = c.namespaceArgument(0)
	}
	zones := c.host.zones(sh.current(), ns)
	items := make([]any, len(zones))
	for i, z := range zones {
		ranges := make([]any, len(z.Ranges))
		for n, r := range z.Ranges {
			ranges[n] = c.JS.Values.SetOneLine(c.JS.NewObject(
				"ns", r.Namespace, "min", c.JS.Values.DocToJS(r.Min), "max", c.JS.Values.DocToJS(r.Max)))
		}
		o := c.JS.NewObject(
			"zone", z.Name, "shards", c.host.textArray(humanize.Texts(z.Shards)), "ranges", c.JS.Runtime.NewArray(ranges...))
		if text := z.Problem(); text != "" {
			script.Must(o.Set("problem", text))
		}
		items[i] = o
	}
	return c.host.Display.WithTable(c.JS.Runtime.NewArray(items...), func(t *display.Tables) { drawZones(t, zones) })
}

// shUpdateZoneKeyRange warns about a collection that is not sharded: the server keeps the range until the
// collection is sharded.
func shUpdateZoneKeyRange(c *call, sh *Helpers) goja.Value {
	if goja.IsNull(c.Arg(3)) {
		return shRemoveRangeFromZone(c, sh)
	}
	reply := simpleCommand("updateZoneKeyRange", "min", "max", "zone")(c, sh)
	ns := c.Text(0)
	if !c.host.Gateway.HasGuard() && CatalogEntry(sh.config(), ns, nil) == nil {
		c.JS.Out.Warn("Warning: " + ns + " is not sharded: the range applies once it is" + sh.didYouMean(namespaceName, ns))
	}
	return reply
}

func shRemoveRangeFromZone(c *call, sh *Helpers) goja.Value {
	ns, lower, upper := c.Text(0), c.JS.BSONValue(c.Arg(1)), c.JS.BSONValue(c.Arg(2))
	bounds := bson.D{{Key: "min", Value: lower}, {Key: "max", Value: upper}}
	known := sh.config().FindOne("tags", append(bson.D{{Key: "ns", Value: ns}}, bounds...))
	command := append(bson.D{{Key: "updateZoneKeyRange", Value: ns}}, bounds...)
	reply := sh.runAdmin(append(command, bson.E{Key: "zone", Value: nil}))
	if known == nil && !c.host.Gateway.HasGuard() {
		sh.warnNothingChanged("no zone has this range of "+ns, namespaceName, ns)
	}
	return c.host.Display.ReplyValue(reply)
}

func shRemoveShardFromZone(c *call, sh *Helpers) goja.Value {
	id, zone := c.Text(0), c.Text(1)
	member := sh.config().FindOne("shards", bson.D{{Key: "_id", Value: id}, {Key: "tags", Value: zone}})
	reply := simpleCommand("removeShardFromZone", "zone")(c, sh)
	if member == nil && !c.host.Gateway.HasGuard() {
		sh.warnNothingChanged("shard "+id+" is not in zone "+zone, zoneName, zone)
	}
	return reply
}

// drawZones draws a row a range, and one for each zone that has none.
func drawZones(t *display.Tables, zones []diagnosis.Zone) {
	t.WriteHeading("Zones")
	if len(zones) == 0 {
		t.WriteLine("none", "")
		return
	}
	var rows [][]string
	lacking := func(z diagnosis.Zone) int { return min(1, len(z.Problem())) }
	zones = slices.SortedStableFunc(slices.Values(zones), func(a, b diagnosis.Zone) int {
		return cmp.Compare(lacking(b), lacking(a))
	})
	for _, z := range zones {
		shards := humanize.Join(z.Shards, " ")
		if z.Problem() != "" {
			shards = "NO SHARD"
		}
		for _, r := range z.Ranges {
			rows = append(rows, []string{z.Name, shards, r.Namespace, boundText(r.Min), boundText(r.Max)})
		}
		if len(z.Ranges) == 0 {
			rows = append(rows, []string{z.Name, shards, "no range", "", ""})
		}
	}
	t.WriteGrid([]string{"zone", "shards", "collection", "from", "up to"}, rows)
}

// zonesText names the zones of a collection with the number of their ranges.
func zonesText(zones []diagnosis.Zone) string {
	var parts []string
	for _, z := range zones {
		ranges := humanize.Count(len(z.Ranges), "range")
		if len(z.Shards) == 0 {
			parts = append(parts, fmt.Sprintf("%s (%s, NO SHARD)", z.Name, ranges))
		} else {
			parts = append(parts, fmt.Sprintf("%s (%s on %s)", z.Name, ranges, humanize.Join(z.Shards, " ")))
		}
	}
	return strings.Join(parts, ", ")
}
