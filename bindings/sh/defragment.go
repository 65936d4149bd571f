package sh

import (
	"fmt"
	"math"

	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// withDefragmentation is when configureCollectionBalancing came.
var withDefragmentation = server.Version{5, 3, 0}

// shardDefragmentMethods() merge the small chunks of a collection.
func shardDefragmentMethods() []helper {
	return []helper{
		{"defragment", "ns:string|object options?:object", needing("defragment", withDefragmentation, shDefragment),
			"Starts merging a collection's small chunks; {chunkSize: MB, wait: true, timeout, interval, progress}."},
		{"stopDefragment", "ns:string|object", needing("stopDefragment", withDefragmentation, func(c *call, sh *Helpers) goja.Value {
			return c.s.Display.Reply(sh.configureBalancing(c.namespaceArgument(0), bson.E{Key: "defragmentCollection", Value: false}))
		}), "Stops it; what is merged stays merged."},
		{"defragmentStatus", "ns:string|object", needing("defragmentStatus", withDefragmentation, func(c *call, sh *Helpers) goja.Value {
			ns := c.namespaceArgument(0)
			return sh.defragmentation(ns).object(c, ns)
		}), "Tells whether a collection is being defragmented, in which phase, and how many chunks are left."},
	}
}

func (sh *Helpers) configureBalancing(ns string, options ...bson.E) bson.Raw {
	return sh.admin(append(bson.D{{Key: "configureCollectionBalancing", Value: ns}}, options...))
}

func shDefragment(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	o := c.options("defragment", 1, waitOptionNames("chunkSize", "wait")...)
	command := []bson.E{{Key: "defragmentCollection", Value: true}}
	if v := o.get("chunkSize"); v != nil {
		command = append(command, bson.E{Key: "chunkSize", Value: c.chunkSizeArgument("option chunkSize of sh.defragment", v)})
	}
	w := o.wait("the balancer goes on defragmenting " + ns + "; sh.stopDefragment stops it")
	waits := o.flag("wait", false)
	reply := sh.configureBalancing(ns, command...)
	if !waits || rawdoc.TruthyAt(reply, "dryRun") {
		return c.s.Display.Reply(reply)
	}
	var phase string
	first := 0.0 // chunks the phase had when it was first seen
	waited := w.until(func() standing {
		sh.needBalancer(ns + " is not defragmented")
		d := sh.defragmentation(ns)
		if d.phase != phase {
			phase, first = d.phase, d.left
			w.progress.Restart()
		}
		return d.standing(ns, first)
	})
	return c.JS.NewObject("defragmented", true, "ns", ns, "waitedMS", waited.Milliseconds())
}

// defragmentation is how far a collection's is.
type defragmentation struct {
	running bool
	phase   string
	left    float64 // chunks the phase has still to look at; NaN when unknown
}

func (sh *Helpers) defragmentation(ns string) defragmentation {
	return defragmentationOf(sh.collectionStatus(ns))
}

// defragmentationOf reads the reply of balancerCollectionStatus (spec 02 §2.8).
func defragmentationOf(status bson.Raw) defragmentation {
	d := defragmentation{left: math.NaN()}
	if rawdoc.Text(status, "firstComplianceViolation") != "defragmentingChunks" {
		return d
	}
	d.running, d.phase = true, rawdoc.Text(status, "details", "currentPhase")
	if v, err := status.LookupErr("details", "progress", "remainingChunksToProcess"); err == nil {
		d.left, _ = v.AsFloat64OK()
	}
	return d
}

// idle reports that the collection waits for the balancer to begin, or to clean
// up after a stop.
func (d defragmentation) idle() bool { return d.running && (d.phase == "" || d.phase == "none") }

func (d defragmentation) object(c *call, ns string) *goja.Object {
	o := c.JS.NewObject("ns", ns, "running", d.running)
	if !d.running {
		return o
	}
	script.Must(o.Set("phase", d.phase))
	if d.left == d.left {
		script.Must(o.Set("remainingChunks", script.Whole(d.left)))
	}
	if d.idle() {
		script.Must(o.Set("note", "the balancer has not taken it up: it is off, its window is closed, or its next round is to come"))
	}
	return o
}

func (d defragmentation) text() string {
	switch {
	case !d.running:
		return "not running"
	case d.idle():
		return "waits for the balancer"
	case d.left == d.left:
		return fmt.Sprintf("%s, %s left", d.phase, display.ChunksText(d.left))
	}
	return d.phase
}

// standing measures the phase; how long the next ones take, nobody can tell.
func (d defragmentation) standing(ns string, first float64) standing {
	s := standing{done: !d.running, why: ns + " is being defragmented (" + d.text() + ")"}
	if d.left == d.left && first == first {
		s.what = ns + " (" + d.phase + ")"
		s.amount = func() *display.Amount {
			return &display.Amount{Done: max(0, first-d.left), Left: d.left, Text: display.ChunksText}
		}
	}
	return s
}
