package sh

import (
	"github.com/dop251/goja"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
)

// shardMapMethods() draw.
func shardMapMethods() []helper {
	return []helper{
		{"map", "ns:string|object", shMap,
			"Draws the chunks of a collection: shards by letter and colour, widths by bytes, zones, jumbo chunks."},
	}
}

// shMap answers as an object, which is printed as the drawing, in scripts too.
func shMap(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	s := sh.snapshot(live.ReaderOptions{Parts: live.Current, Namespaces: []string{ns}})
	if err := diagnosis.Check(s, diagnosis.Scope{Namespace: ns}); err != nil {
		sh.throwUnknown(err)
	}
	o := display.MapOptions{Width: c.s.Display.Columns(), Color: c.s.Display.Color()}
	coll := s.Collection(ns)
	if coll.Table == nil {
		for _, gap := range s.Parts().Source.Gaps {
			if gap.Namespace == ns {
				c.JS.Throw(script.RuntimeError, "The chunks of %s could not be read: %s", ns, gap.Reason)
			}
		}
	}
	m := report.MapOf(coll, s.Settings().MaxChunkSizeBytes, o.Cells(int(coll.Count().Chunks)))
	return c.s.shown(m, display.DrawMap(m, o))
}
