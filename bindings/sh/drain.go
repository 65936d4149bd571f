package sh

import (
	"fmt"
	"strings"

	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Since 8.3 draining has commands of its own; before, removeShard does all of it,
// step by step (spec 03 §1.5).
var withDrainCommands = server.Version{8, 3, 0}

// configShardID is the shard the config servers are, if they are one. It leaves
// by commands of its own.
const configShardID = "config"

// shardDrainMethods() empty a shard.
func shardDrainMethods() []helper {
	return []helper{
		{"drain", "shard:string options?:object", checked(shDrain),
			"Starts emptying a shard; {wait: true} waits until it is empty, {remove: true} then removes it; timeout, interval, progress."},
		{"drainStatus", "shard:string", checked(func(c *call, sh *Helpers) goja.Value {
			return c.s.Display.Reply(sh.draining(c.Text(0)))
		}), "Returns how far draining is and what must be moved by hand; changes nothing."},
		{"stopDrain", "shard:string", checked(shStopDrain), "Ends draining; the shard stays. Servers since 8.3."},
		{"waitForDrain", "shard:string options?:object", checked(func(c *call, sh *Helpers) goja.Value {
			o := c.options("waitForDrain", 1, waitOptionNames()...)
			return sh.waitForDrain(c, o, c.Text(0), false)
		}), "Waits until a draining shard is empty; {timeout, interval, progress}."},
	}
}

// drainCommand is a command about a shard, or about the config shard.
func drainCommand(shard, name, ofConfigShard string) bson.D {
	if shard == configShardID {
		return server.Command(ofConfigShard)
	}
	return bson.D{{Key: name, Value: shard}}
}

// startDrain sends what starts draining.
func (sh *Helpers) startDrain(shard string) bson.Raw {
	if sh.version().AtLeast(withDrainCommands) {
		return sh.admin(drainCommand(shard, "startShardDraining", "startTransitionToDedicatedConfigServer"))
	}
	return sh.admin(drainCommand(shard, "removeShard", "transitionToDedicatedConfigServer"))
}

// commitDrain removes an empty shard.
func (sh *Helpers) commitDrain(shard string) bson.Raw {
	if sh.version().AtLeast(withDrainCommands) {
		return sh.admin(drainCommand(shard, "commitShardRemoval", "commitTransitionToDedicatedConfigServer"))
	}
	return sh.admin(drainCommand(shard, "removeShard", "transitionToDedicatedConfigServer"))
}

// shDrain starts draining. A shard that drains already is only looked at: before
// 8.3 the same command once more would remove it when it is empty.
func shDrain(c *call, sh *Helpers) goja.Value {
	id := c.Text(0)
	o := c.options("drain", 1, waitOptionNames("wait", "remove")...)
	remove := o.flag("remove", false)
	waits := o.flag("wait", remove) || remove
	var reply bson.Raw
	if sh.isDraining(id) {
		reply = sh.draining(id)
	} else {
		reply = sh.startDrain(id)
	}
	if !waits || rawdoc.TruthyAt(reply, "dryRun") {
		return c.s.Display.Reply(reply)
	}
	return sh.waitForDrain(c, o, id, remove)
}

func shStopDrain(c *call, sh *Helpers) goja.Value {
	id := c.Text(0)
	sh.need("stopDrain", withDrainCommands, fmt.Sprintf("It has no command for that; MongoDB's way there is that an administrator takes the "+
		"field draining out of the shard's document by hand, db.getSiblingDB(\"config\").shards.updateOne({ _id: %q }, { $unset: { draining: 1 } })", id))
	return c.s.Display.Reply(sh.admin(drainCommand(id, "stopShardDraining", "stopTransitionToDedicatedConfigServer")))
}

func (sh *Helpers) isDraining(id string) bool {
	return rawdoc.TruthyAt(sh.config().FindOne("shards", bson.D{{Key: "_id", Value: id}}), "draining")
}

// States of a draining, as servers since 8.3 call them.
const (
	drainOff     = "notDraining"
	drainOngoing = "ongoing"
	drainEmpty   = "drainingComplete"
)

// draining is how far a shard's draining is. Servers since 8.3 are asked for it.
// On older ones only removeShard tells, and that would start draining or remove
// the shard, so the same document is read from the catalog.
func (sh *Helpers) draining(id string) bson.Raw {
	if sh.version().AtLeast(withDrainCommands) {
		return sh.admin(drainCommand(id, "shardDrainingStatus", "getTransitionToDedicatedConfigServerStatus"))
	}
	s, config := sh.s, sh.config()
	entry := config.FindOne("shards", bson.D{{Key: "_id", Value: id}})
	if entry == nil {
		s.JS.ThrowInvalid("There is no shard %s: sh.listShards() has their names", id)
	}
	if !rawdoc.TruthyAt(entry, "draining") {
		return rawdoc.Of(bson.D{{Key: "state", Value: drainOff}, {Key: "shard", Value: id}, {Key: "ok", Value: 1.0}})
	}
	dbs := names(config.FindAll("databases", bson.D{{Key: "primary", Value: id}}, server.SortedBy("_id", 1)))
	collections := sh.unshardedOn(id)
	chunks := sh.countChunks(bson.D{{Key: "shard", Value: id}})
	state := drainOngoing
	if chunks == 0 && len(dbs) == 0 {
		state = drainEmpty
	}
	return rawdoc.Of(bson.D{
		{Key: "state", Value: state}, {Key: "shard", Value: id},
		{Key: "remaining", Value: bson.D{
			{Key: "chunks", Value: chunks}, {Key: "dbs", Value: int64(len(dbs))},
			{Key: "jumboChunks", Value: sh.countChunks(bson.D{{Key: "shard", Value: id}, {Key: "jumbo", Value: true}})},
			{Key: "collectionsToMove", Value: int64(len(collections))},
		}},
		{Key: "dbsToMove", Value: dbs}, {Key: "collectionsToMove", Value: collections}, {Key: "ok", Value: 1.0},
	})
}

func names(docs []bson.Raw) []string {
	list := make([]string, len(docs))
	for i, d := range docs {
		list[i] = rawdoc.Text(d, "_id")
	}
	return list
}

// unshardedOn lists the unsharded collections the catalog has on a shard.
func (sh *Helpers) unshardedOn(id string) []string {
	list := []string{}
	for _, entry := range sh.config().FindAll("collections", bson.D{{Key: "unsplittable", Value: true}}, server.SortedBy("_id", 1)) {
		if sh.countChunks(append(ChunkFilter(entry), bson.E{Key: "shard", Value: id})) > 0 {
			list = append(list, rawdoc.Text(entry, "_id"))
		}
	}
	return list
}

func (sh *Helpers) countChunks(filter bson.D) int64 {
	counted := sh.config().AggregateAll("chunks",
		bson.D{{Key: "$match", Value: filter}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: bson.D{{Key: "$sum", Value: int32(1)}}}}}},
	)
	if len(counted) == 0 {
		return 0
	}
	return rawdoc.Int(counted[0], "n")
}

// drained reports that a status leaves nothing to move.
func drained(status bson.Raw) bool {
	switch rawdoc.Text(status, "state") {
	case drainEmpty, "completed":
		return true
	case drainOngoing:
		remaining, ok := status.Lookup("remaining").DocumentOK()
		return ok && rawdoc.Number(remaining, "chunks") == 0 && rawdoc.Number(remaining, "dbs") == 0
	}
	return false
}

// waitForDrain waits until a shard is empty, and removes it if asked to.
func (sh *Helpers) waitForDrain(c *call, o helperOptions, id string, remove bool) goja.Value {
	w := o.wait("shard " + id + " goes on draining")
	first := -1.0
	waited := w.until(func() standing {
		status := sh.draining(id)
		if drained(status) {
			return standing{done: true}
		}
		if rawdoc.Text(status, "state") == drainOff {
			c.JS.Throw(script.RuntimeError, "shard %s is not draining: sh.drain(%q)", id, id)
		}
		sh.refuseWhatMustBeMoved(id, status)
		sh.needBalancer("shard " + id + " is not empty")
		left := rawdoc.Number(status, "remaining", "chunks")
		first = max(first, left)
		return standing{what: "draining " + id, why: drainText(id, status), amount: func() *display.Amount {
			return &display.Amount{Done: first - left, Left: left, Text: display.ChunksText}
		}}
	})
	result := c.JS.NewObject("drained", true, "shard", id, "removed", remove, "waitedMS", waited.Milliseconds())
	if remove {
		if reply := sh.commitDrain(id); !sh.version().AtLeast(withDrainCommands) && rawdoc.Text(reply, "state") != "completed" {
			c.JS.Throw(script.RuntimeError, "shard %s was not removed: %s", id, rawdoc.Text(reply, "msg"))
		}
	}
	return result
}

// refuseWhatMustBeMoved ends a wait for what the balancer will not do: nothing is
// left but databases, unsharded collections, and chunks it may not touch.
func (sh *Helpers) refuseWhatMustBeMoved(id string, status bson.Raw) {
	collections := stringsAt(status, "collectionsToMove")
	alone, chunks := sh.leftAloneOn(id)
	var todo []string
	for _, ns := range alone {
		todo = append(todo, fmt.Sprintf("sh.enableBalancing(%q) or sh.enableMigrations(%q)", ns, ns))
	}
	for _, ns := range collections {
		todo = append(todo, fmt.Sprintf("sh.moveCollection(%q, <shard>)", ns))
	}
	for _, name := range stringsAt(status, "dbsToMove") {
		todo = append(todo, fmt.Sprintf("sh.movePrimary(%q, <shard>)", name))
	}
	if len(todo) == 0 || int64(rawdoc.Number(status, "remaining", "chunks")) > chunks+int64(len(collections)) {
		return
	}
	sh.s.JS.Throw(script.RuntimeError, "shard %s has no chunks left that the balancer moves; the rest is yours: %s", id, strings.Join(todo, ", "))
}

// leftAloneOn lists the collections on a shard that the balancer may not touch,
// and counts their chunks there.
func (sh *Helpers) leftAloneOn(id string) (list []string, chunks int64) {
	counts := sh.s.chunkCountsOf(sh.config(), bson.D{{Key: "shard", Value: id}})
	for _, entry := range sh.s.shardedCollections(sh.config()) {
		if n, _ := counts[chunkKey(entry)].total(); n > 0 && leftAlone(entry) != "" {
			list, chunks = append(list, rawdoc.Text(entry, "_id")), chunks+n
		}
	}
	return list, chunks
}

func stringsAt(doc bson.Raw, field string) (list []string) {
	array, _ := doc.Lookup(field).ArrayOK()
	values, _ := array.Values()
	for _, v := range values {
		if text, ok := v.StringValueOK(); ok {
			list = append(list, text)
		}
	}
	return list
}

func drainText(id string, status bson.Raw) string {
	text := fmt.Sprintf("shard %s is draining, %s left", id, display.ChunksText(rawdoc.Number(status, "remaining", "chunks")))
	if jumbo := rawdoc.Number(status, "remaining", "jumboChunks"); jumbo > 0 {
		text += fmt.Sprintf(" (%s jumbo)", plaintext.PlainNumber(jumbo))
	}
	if dbs := stringsAt(status, "dbsToMove"); len(dbs) > 0 {
		text += ", databases to move: " + strings.Join(dbs, " ")
	}
	return text
}
