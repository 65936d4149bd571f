package sh

import (
	"fmt"
	"strings"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
)

// zones returns all zones by name, with the ranges of one collection or, for an
// empty name, of all.
func (s *Host) zones(d *server.Database, ns string) []diagnosis.Zone {
	l := live.Look{Parts: live.Shards | live.Zones}
	if ns != "" {
		l.Namespaces = []string{ns}
	}
	return diagnosis.Zones(s.look(d, d.Sibling("config"), l).Snapshot, ns)
}

func shZones(c *call, sh *Helpers) goja.Value {
	ns := ""
	if c.Has(0) && !goja.IsNull(c.Arg(0)) {
		ns = c.namespaceArgument(0)
	}
	zones := c.s.zones(sh.current(), ns)
	items := make([]any, len(zones))
	for i, z := range zones {
		ranges := make([]any, len(z.Ranges))
		for n, r := range z.Ranges {
			ranges[n] = c.s.Display.OnOneLine(c.JS.NewObject(
				"ns", r.Namespace, "min", c.JS.World.DocToJS(r.Min), "max", c.JS.World.DocToJS(r.Max)))
		}
		o := c.JS.NewObject(
			"zone", z.Name, "shards", c.s.texts(textsOf(z.Shards)), "ranges", c.JS.Runtime.NewArray(ranges...))
		if text := z.Problem(); text != "" {
			script.Must(o.Set("problem", text))
		}
		items[i] = o
	}
	return c.s.Display.WithTable(c.JS.Runtime.NewArray(items...), func(t *display.Tables) { drawZones(t, zones) })
}

// textsOf turns names of a kind into texts.
func textsOf[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, name := range list {
		texts[i] = string(name)
	}
	return texts
}

// drawZones draws a row a range, and one for each zone that has none.
func drawZones(t *display.Tables, zones []diagnosis.Zone) {
	t.Heading("Zones")
	if len(zones) == 0 {
		t.Line("none", "")
		return
	}
	var rows [][]string
	for _, z := range zones {
		shards := strings.Join(textsOf(z.Shards), " ")
		if z.Problem() != "" {
			shards = "NO SHARD"
		}
		for _, r := range z.Ranges {
			rows = append(rows, []string{z.Name, shards, r.Namespace, bound(r.Min), bound(r.Max)})
		}
		if len(z.Ranges) == 0 {
			rows = append(rows, []string{z.Name, shards, "no range", "", ""})
		}
	}
	t.Grid([]string{"zone", "shards", "collection", "from", "up to"}, rows)
}

// zonesText names the zones of a collection with the number of their ranges.
func zonesText(zones []diagnosis.Zone) string {
	var parts []string
	for _, z := range zones {
		ranges := counted(len(z.Ranges), "range")
		if len(z.Shards) == 0 {
			parts = append(parts, fmt.Sprintf("%s (%s, NO SHARD)", z.Name, ranges))
		} else {
			parts = append(parts, fmt.Sprintf("%s (%s on %s)", z.Name, ranges, strings.Join(textsOf(z.Shards), " ")))
		}
	}
	return strings.Join(parts, ", ")
}
