package sh

import (
	"context"
	"fmt"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Draining has its own commands since 8.3. Before, removeShard carries out all steps, one with each
// call (rules/03-commands §1.5).
var drainCommandsVersion = catalog.ServerVersion{Major: 8, Minor: 3}

// shardDrainMethods returns the helpers that drain a shard.
func shardDrainMethods() []helper {
	return []helper{
		{"drain", "shard:string options?:object{wait,remove,movePrimaries," + waitOptionNames + "," + runOptionNames + "}",
			shDrain,
			"Starts emptying a shard; {wait: true} waits until it is empty, {remove: true} then removes it; {movePrimaries: " +
				"true} moves the databases and unsharded collections that the balancer does not; timeout, interval, progress. " +
				runOptionsHelp},
		{"drainStatus", "shard:string", func(c *call, sh *Helpers) goja.Value {
			return c.host.Display.ReplyValue(sh.drainStatus(c.Text(0)))
		}, "Returns the progress of draining and what must be moved by hand; changes nothing."},
		{"stopDrain", "shard:string", shStopDrain, "Stops draining; the shard stays. From 8.3 on."},
		{"waitForDrain", "shard:string options?:object{" + waitOptionNames + "}", func(c *call, sh *Helpers) goja.Value {
			o := c.options("waitForDrain", 1)
			return sh.waitForDrain(c, o.newDrainWait(c.Text(0)), c.Text(0), drainFollowUp{})
		}, "Waits until a draining shard is empty; {timeout, interval, progress}. An error says what has to be done when " +
			"it is stuck, unless {keepWaiting: true}."},
	}
}

// startDrain sends the command that starts draining.
func (h *Helpers) startDrain(shard string) bson.Raw {
	release, _ := h.release()
	return h.runAdmin(live.StartDrainCommand(release, catalog.ShardID(shard)))
}

// commitDrain removes an empty shard. With an older feature compatibility version, during an upgrade,
// only removeShard can do that.
func (h *Helpers) commitDrain(shard string) bson.Raw {
	release, _ := h.release()
	if h.version().AtLeast(drainCommandsVersion) {
		seen := h.readCluster(live.ReaderOptions{Parts: live.Compatibility})
		release = seen.Snapshot.Parts().Compatibility.Release(release)
	}
	return h.runAdmin(live.CommitDrainCommand(release, catalog.ShardID(shard)))
}

// shDrain starts draining. For a shard that is already draining, it only reads the state: before 8.3, a
// second command would remove the shard when it is empty. If the shard is gone and was to be removed,
// an earlier call of shDrain removed it.
func shDrain(c *call, sh *Helpers) goja.Value {
	id := c.Text(0)
	o := c.options("drain", 1)
	remove := o.flag("remove", false)
	primaries := o.flag("movePrimaries", false)
	paced := o.hasRunOption("wait", "timeout", "interval", "keepWaiting")
	waits := o.flag("wait", remove) || remove || paced
	w := o.newDrainWait(id)
	if primaries && !waits {
		c.JS.ThrowInvalid("sh.drain: movePrimaries requires wait or remove: databases move after the chunks")
	}
	var reply bson.Raw
	entry := sh.shardEntry(id)
	gone := entry == nil && remove && sh.wasRemoved(id)
	switch {
	case paced && entry == nil && !gone:
		sh.throwNoShard(id)
	case paced:
		return c.runPlanAction(sh, o, nil, func(e action.RunOptions) planAction {
			return action.Drain{Shard: catalog.ShardID(id), Remove: remove, MovePrimaries: primaries, RunOptions: e}
		})
	case gone:
		return c.JS.NewObject("drained", true, "shard", id, "removed", true, "waitedMS", 0)
	case rawdoc.IsFieldTruthy(entry, "draining"):
		reply = sh.drainStatus(id)
	default:
		reply = sh.startDrain(id)
	}
	if !waits || rawdoc.IsFieldTruthy(reply, "dryRun") {
		return c.host.Display.ReplyValue(reply)
	}
	return sh.waitForDrain(c, w, id, drainFollowUp{remove: remove, movePrimaries: primaries})
}

func shStopDrain(c *call, sh *Helpers) goja.Value {
	id := c.Text(0)
	sh.requireVersion("stopDrain", drainCommandsVersion,
		fmt.Sprintf("It has no command for that; an administrator unsets the field "+
			"draining in the shard's document: db.getSiblingDB(\"config\").shards.updateOne({ _id: %q }, { "+
			"$unset: { draining: 1 } })", id))
	return c.host.Display.ReplyValue(sh.runAdmin(live.StopDrainCommand(catalog.ShardID(id))))
}

// wasRemoved reports whether the change log records the removal of a shard.
func (h *Helpers) wasRemoved(id string) bool {
	return action.WasRemoved(h.host.JS.Context(), h.current().Conn.Client, catalog.ShardID(id))
}

// shardEntry returns the catalog's entry of a shard; nil when there is none.
func (h *Helpers) shardEntry(id string) bson.Raw {
	return h.config().FindOne("shards", bson.D{{Key: "_id", Value: id}})
}

// drainStatus returns the document about the progress of a shard's draining. Servers since 8.3 return
// it. On older ones only removeShard reports the progress, but would start draining or remove the
// shard. There, drainStatus derives the document from the catalog.
func (h *Helpers) drainStatus(id string) bson.Raw {
	off := rawdoc.MustMarshal(bson.D{{Key: "state", Value: string(diagnosis.DrainOff)}, {Key: "shard", Value: id},
		{Key: "ok", Value: 1.0}})
	if h.version().AtLeast(drainCommandsVersion) {
		command := h.withMaxTime(live.DrainStatusCommand(catalog.ShardID(id)))
		reply, err := h.commandRunner().RunCommand(h.host.JS.Context(), "admin", command)
		switch {
		case mongoerr.Is(live.ServerError(err), mongoerr.IllegalOperation):
			return off // servers return no status for a shard that is not draining
		case err != nil:
			h.host.Gateway.Throw(err)
		}
		return reply
	}
	d := h.readDrain(id)
	if d.State == diagnosis.DrainOff {
		return off
	}
	return rawdoc.MustMarshal(bson.D{
		{Key: "state", Value: string(d.State)}, {Key: "shard", Value: id},
		{Key: "remaining", Value: bson.D{
			{Key: "chunks", Value: d.Chunks}, {Key: "dbs", Value: int64(len(d.Databases))},
			{Key: "jumboChunks", Value: d.Jumbo}, {Key: "collectionsToMove", Value: int64(len(d.Collections))},
		}},
		{Key: "dbsToMove", Value: d.Databases}, {Key: "collectionsToMove", Value: d.Collections}, {Key: "ok", Value: 1.0},
	})
}

// readDrain reads the progress of a shard's draining.
func (h *Helpers) readDrain(id string) diagnosis.Drain {
	release, _ := h.release()
	d, found, _ := live.ReadDrain(func(o live.ReaderOptions) (*catalog.Snapshot, error) {
		return h.readCluster(o).Snapshot, nil
	}, release, catalog.ShardID(id))
	if !found {
		h.throwNoShard(id)
	}
	return d
}

func (h helperOptions) newDrainWait(id string) *wait {
	return h.newWait("shard "+id+" keeps draining", fmt.Sprintf("sh.drainStatus(%q) shows its progress", id))
}

// drainFollowUp says what to do after the balancer has moved all chunks off a shard.
type drainFollowUp struct{ movePrimaries, remove bool }

// waitForDrain waits until a shard is empty, and then removes it if requested.
func (h *Helpers) waitForDrain(c *call, w *wait, id string, end drainFollowUp) goja.Value {
	first, byHand := int64(-1), false
	w.forecast = &waitForecast{
		sh: h, goal: plan.Goal{Kind: plan.Drain, Shard: catalog.ShardID(id)},
		callerHandles: func(f diagnosis.Finding) bool {
			return end.movePrimaries && f.Code == diagnosis.DrainNeedsOperator && !byHand
		},
	}
	waited := w.waitUntilDone(func() workState {
		d := h.readDrain(id)
		byHand = len(d.Disabled) > 0 || d.JumboToForce > 0
		switch {
		case d.IsDone():
			return workState{done: true}
		case d.State == diagnosis.DrainOff:
			c.JS.Throw(script.RuntimeErrorName, "shard %s is not draining: run sh.drain(%q)", id, id)
		case d.IsStuck() && end.movePrimaries && !byHand:
			w.progress.End()
			h.moveUnsharded(d)
			return workState{unfinishedText: d.String(), activity: "draining " + id}
		case d.IsStuck():
			return workState{stuckReason: w.forecast.remainingWorkText(d), unfinishedText: d.String()}
		}
		first = max(first, d.Chunks)
		stuck := h.balancerOffText("shard " + id + " is not empty")
		return workState{stuckReason: stuck, activity: "draining " + id, unfinishedText: d.String(),
			amount: func() *display.Amount {
				return &display.Amount{Done: float64(first - d.Chunks), Remaining: float64(d.Chunks), Format: display.ChunksText}
			}}
	})
	result := c.JS.NewObject("drained", true, "shard", id, "removed", end.remove, "waitedMS", waited.Milliseconds())
	if end.remove {
		w.sendUntilDone(func() { h.removeDrained(id) }, func() bool { return h.shardEntry(id) == nil })
	}
	return result
}

// removeDrained removes an empty shard.
func (h *Helpers) removeDrained(id string) {
	reply := h.commitDrain(id)
	state := rawdoc.Text(reply, "state")                                  // in the reply of removeShard
	committed := state == "" && h.version().AtLeast(drainCommandsVersion) // the new command returns no state
	if state != "completed" && !committed {
		h.host.JS.Throw(script.RuntimeErrorName, "shard %s was not removed: %s", id, rawdoc.Text(reply, "msg"))
	}
}

// moveUnsharded moves databases and unsharded collections off a shard that has no more chunks for the
// balancer to move.
func (h *Helpers) moveUnsharded(d diagnosis.Drain) {
	takers := action.TargetShardsFor(h.readCluster(live.ReaderOptions{Parts: live.Shards | live.Databases}).Snapshot,
		d.Shard)
	admin := func(_ context.Context, command bson.D) (bson.Raw, error) { return h.runAdmin(command), nil }
	if err := action.MoveUnsharded(h.host.JS.Context(), admin, d, takers, h.host.JS.Out.Warn); err != nil {
		h.host.JS.Throw(script.RuntimeErrorName, "%s", err)
	}
}
