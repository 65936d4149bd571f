package sh

import (
	"time"

	"github.com/dop251/goja"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/heat"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
)

// shardMapMethods returns the helpers that draw chunk maps.
func shardMapMethods() []helper {
	return []helper{
		{"map", "ns:string|object options?:object{heat}", shMap,
			"Draws the chunks of a collection: shards by letter and colour, widths by bytes, zones, jumbo chunks; " +
				"{heat: \"10s\"} counts operations so long, and adds the load."},
	}
}

// readHeat reads the load of a collection in a cluster whose Snapshot was already read.
func (c *call) readHeat(sh *Helpers, s *catalog.Snapshot, ns string, duration time.Duration) *heat.Map {
	r := &actiontext.Reporter{Progress: c.host.Display.NewProgress(true), Note: c.JS.Out.Warn}
	defer r.Progress.End()
	result, err := action.Heat{Namespaces: []string{ns}, CountDuration: duration}.RunOnSnapshot(c.JS.Context(),
		sh.source(), s, r)
	if err != nil {
		sh.throwActionError("map", nil, err, "", false)
	}
	return result.Collections[0].Map
}

// shMap returns the map as an object, which prints as the drawing, also in scripts.
func shMap(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	s := sh.readSnapshot(live.ReaderOptions{Parts: live.MapParts, Namespaces: []string{ns}})
	if err := diagnosis.CheckScope(s, diagnosis.Scope{Namespace: ns}); err != nil {
		sh.throwUnknown(err)
	}
	o := display.MapOptions{Width: c.host.Display.Columns(), Color: c.host.Display.Color()}
	coll := s.Collection(ns)
	if coll.Table == nil {
		for _, gap := range s.Parts().Source.Gaps {
			if gap.Namespace == ns {
				c.JS.Throw(script.RuntimeErrorName, "The chunks of %s could not be read: %s", ns, gap.Reason)
			}
		}
	}
	m := report.NewChunkMap(coll, coll.ChunkSize(s.Settings()), o.CellCount(int(coll.Count().Chunks)))
	if d := c.options("map", 1).duration("heat", 0); d > 0 {
		m.AddHeat(c.readHeat(sh, s, ns, d))
	}
	return c.host.printableObject(m, display.DrawMap(m, o))
}
