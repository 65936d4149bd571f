package sh

import (
	"fmt"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// defragmentVersion is the release that added configureCollectionBalancing.
var defragmentVersion = catalog.ServerVersion{Major: 5, Minor: 3}

// shardDefragmentMethods returns the helpers that merge the small chunks of a collection.
func shardDefragmentMethods() []helper {
	return []helper{
		{"defragment", "ns?:string|object options?:object{all,chunkSize,wait," + waitOptionNames + "," + runOptionNames + "}",
			withMongosWarning(shDefragment),
			"Starts merging a collection's small chunks; with {all: true} shardsh's own engine does, of all; " +
				"{chunkSize: MB, wait: true, timeout, interval, progress}. " +
				runOptionsHelp},
		{"stopDefragment", "ns:string|object", requiringVersion("stopDefragment", defragmentVersion,
			func(c *call, sh *Helpers) goja.Value {
				return c.host.Display.ReplyValue(sh.configureBalancing(c.namespaceArgument(0),
					bson.E{Key: "defragmentCollection", Value: false}))
			}), "Stops a defragmentation; chunks that were merged stay merged."},
		{"defragmentStatus", "ns:string|object", requiringVersion("defragmentStatus", defragmentVersion,
			func(c *call, sh *Helpers) goja.Value {
				ns := c.namespaceArgument(0)
				return c.defragmentationObject(ns, sh.readDefragmentation(ns))
			}), "Returns whether a collection is being defragmented, its phase, and the remaining chunks."},
	}
}

func (h *Helpers) configureBalancing(ns string, options ...bson.E) bson.Raw {
	return h.runAdmin(append(bson.D{{Key: "configureCollectionBalancing", Value: ns}}, options...))
}

func shDefragment(c *call, sh *Helpers) goja.Value {
	names, at := c.namespacesArgument("defragment")
	o := c.options("defragment", at)
	all := o.flag("all", false)
	ofBalancer := []string{"chunkSize", "wait", "timeout", "interval", "keepWaiting"}
	if o.hasRunOption(ofBalancer...) || all || len(names) != 1 {
		switch {
		case all:
			o.refuseBalancerOptions("all", ofBalancer)
		case len(names) > 1:
			o.refuseBalancerOptions("several collections", ofBalancer)
		}
		return c.runPlanAction(sh, o, names, func(e action.RunOptions) planAction {
			return action.Defragment{Namespaces: names, All: all, RunOptions: e}
		})
	}
	ns := names[0]
	sh.requireVersion("defragment", defragmentVersion, "With {pauseBalancing: true} shardsh's own engine does it")
	command := []bson.E{{Key: "defragmentCollection", Value: true}}
	if v := o.value("chunkSize"); v != nil {
		command = append(command, bson.E{Key: "chunkSize",
			Value: c.chunkSizeArgument("Shard.defragment", "options.chunkSize", v)})
	}
	w := o.newWait("the balancer continues to defragment "+ns,
		fmt.Sprintf("sh.defragmentStatus(%q) shows its progress, sh.stopDefragment(%[1]q) stops it", ns))
	waits := o.flag("wait", false)
	reply := sh.configureBalancing(ns, command...)
	if !waits || rawdoc.IsFieldTruthy(reply, "dryRun") {
		return c.host.Display.ReplyValue(reply)
	}
	w.forecast = &waitForecast{sh: sh, goal: plan.Goal{Kind: plan.Defragment, Namespaces: []string{ns}}}
	var phase string
	first := int64(0) // remaining chunks of the phase at the first poll
	waited := w.waitUntilDone(func() workState {
		d := sh.readDefragmentation(ns)
		if d.Phase != phase {
			phase, first = d.Phase, d.RemainingChunks
			w.progress.Restart()
		}
		now := defragmentationState(ns, d, first)
		if !now.done {
			now.stuckReason = sh.balancerOffText(ns + " is not defragmented")
		}
		return now
	})
	return c.JS.NewObject("defragmented", true, "ns", ns, "waitedMS", waited.Milliseconds())
}

// readDefragmentation reads the progress of a collection's defragmentation.
func (h *Helpers) readDefragmentation(ns string) diagnosis.Defragmentation {
	seen := h.readCluster(live.ReaderOptions{Parts: live.BalanceStatuses, Namespaces: []string{ns}})
	return diagnosis.DefragmentationOf(seen.Collection(ns))
}

func (c *call) defragmentationObject(ns string, d diagnosis.Defragmentation) *goja.Object {
	o := c.JS.NewObject("ns", ns, "running", d.Running)
	if !d.Running {
		return o
	}
	script.Must(o.Set("phase", d.Phase))
	if d.RemainingChunks >= 0 {
		script.Must(o.Set("remainingChunks", d.RemainingChunks))
	}
	if d.IsWaiting() {
		script.Must(o.Set("note",
			"not started: the balancer is off, its window is closed, or its next round has not begun"))
	}
	return o
}

// defragmentationState returns the progress of the current phase; the forecast has the time for all
// phases.
func defragmentationState(ns string, d diagnosis.Defragmentation, first int64) workState {
	s := workState{done: !d.Running, unfinishedText: ns + " is being defragmented (" + d.String() + ")"}
	if d.RemainingChunks >= 0 && first >= 0 {
		s.activity = ns + " (" + d.Phase + ")"
		s.amount = func() *display.Amount {
			return &display.Amount{
				Done: float64(max(0, first-d.RemainingChunks)), Remaining: float64(d.RemainingChunks), Format: display.ChunksText,
			}
		}
	}
	return s
}
