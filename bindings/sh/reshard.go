package sh

import (
	"context"
	"sync"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// reshardOptionNames are the options of reshardCollection, and those of the helper.
const reshardOptionNames = "@reshardCollection,progress,interval"

// shardMoveCollectionMethods returns the helpers that move whole collections and manage shards.
func shardMoveCollectionMethods() []helper {
	return []helper{
		{"shardAndDistributeCollection",
			"ns:string key:object unique?:boolean|object{@shardCollection} options?:object{@shardCollection}",
			withMongosHint(shShardAndDistribute),
			"Shards a collection and spreads its data at once."},
		{
			"moveCollection",
			"ns:string toShard:string options?:object{@moveCollection}",
			simpleCommand("moveCollection", "toShard"),
			"Moves an unsharded collection to a shard.",
		},
		{"abortMoveCollection", "ns:string", simpleCommand("abortMoveCollection"), "Aborts a moveCollection."},
		{"unshardCollection", "ns:string toShard?:string options?:object{@unshardCollection}",
			simpleCommand("unshardCollection", "toShard"),
			"Moves a sharded collection to one shard and unshards it."},
		{"abortUnshardCollection", "ns:string", simpleCommand("abortUnshardCollection"), "Aborts an unshardCollection."},
		{"listShards", "filter?:object", withMongosWarning(shListShards), "Returns the shards."},
		{"isConfigShardEnabled", "", withMongosWarning(shIsConfigShard),
			"Returns whether the config server is also a shard."},
		{"shardDrainingStatus", "shard?:string", withMongosWarning(func(c *call, sh *Helpers) goja.Value {
			var id any = int32(1)
			if c.Has(0) {
				id = c.Text(0)
			}
			return c.host.Display.ReplyValue(sh.runAdmin(bson.D{{Key: "shardDrainingStatus", Value: id}}))
		}), "Returns the progress of draining."},
		{"getTransitionToDedicatedConfigServerStatus", "", withMongosWarning(func(c *call, sh *Helpers) goja.Value {
			return c.host.Display.ReplyValue(sh.runAdmin(server.Command("getTransitionToDedicatedConfigServerStatus")))
		}), "Returns the progress of draining the config shard."},
	}
}

// shReshard sends reshardCollection, which replies when the resharding has ended, and shows its
// progress meanwhile. The options progress and interval belong to the helper.
func shReshard(c *call, sh *Helpers) goja.Value {
	body := c.shardKeyCommand("reshardCollection")
	p := c.host.Display.NewProgress(true)
	kept := bson.D{}
	for _, e := range body {
		v, _ := e.Value.(bson.RawValue)
		switch {
		case e.Key == "progress":
			p = c.host.Display.NewProgress(catalog.IsTruthyInJS(v))
		case e.Key == "interval" && p != nil:
			p.Interval = max(c.DurationOf("Shard.reshardCollection", "options.interval", c.JS.FromGo(v)), time.Millisecond)
		case e.Key != "interval":
			kept = append(kept, e)
		}
	}
	// No progress is shown on the mock's virtual time; in a session, which runs one command at a time;
	// and if a guard or a confirmation may keep the command from being sent.
	if p == nil || !script.IsWallClock(c.JS.Clock) || c.host.Gateway.HasGuard() || c.host.Gateway.NeedsConfirmation() ||
		sh.current().Session != nil {
		return c.host.Display.ReplyValue(sh.runAdmin(kept))
	}
	return c.host.Display.ReplyValue(sh.runWithProgress(sh.withMaxTime(kept), c.Text(0), p))
}

// runWithProgress runs a command in a separate goroutine, waits for it, and shows the progress of the
// operation on ns. The command has no session: Ctrl-C ends the wait and kills nothing.
func (h *Helpers) runWithProgress(body bson.D, ns string, p *display.Progress) bson.Raw {
	s := h.host
	r := h.current().Sibling("admin").Request(body)
	answered, err := s.Gateway.RunSendHook(r)
	if err != nil {
		s.Gateway.Throw(err)
	}
	pause, finished := context.WithCancel(s.JS.Context())
	var reply bson.Raw
	var running sync.WaitGroup
	running.Go(func() {
		defer finished()
		reply, err = r.DB().RunCommand(s.JS.Context(), r.Body, r.Options()).Raw()
	})
	defer p.End()
	defer running.Wait()
	for s.JS.Clock.Sleep(pause, p.Interval) == nil {
		p.Show(reshardProgress(h.readResharding(ns)))
	}
	running.Wait()
	answered(reply, err)
	if err != nil && s.JS.Context().Err() != nil {
		p.End()
		s.JS.Out.Warn("Stopped waiting; the resharding of " + ns + " continues: sh.abortReshardCollection aborts it.")
		s.JS.Abort(context.Cause(s.JS.Context()))
	}
	reply, err = s.Gateway.HandleReply(reply, err)
	if err != nil {
		s.Gateway.Throw(err)
	}
	s.Gateway.CheckWriteConcern(reply)
	return reply
}

// readResharding reads the cluster's report on the resharding of a collection. The result has only the
// name if the cluster reports nothing.
func (h *Helpers) readResharding(ns string) catalog.ActiveResharding {
	seen, err := h.host.tryReadCluster(h.current(), h.config(), live.ReaderOptions{Parts: live.RunningReshardings})
	if err == nil {
		if r, found := diagnosis.ReshardingOf(seen.Snapshot, ns); found {
			return r
		}
	}
	return catalog.ActiveResharding{Namespace: ns}
}

// reshardProgress returns the state of a resharding, and how much the recipients have copied. The total
// is the recipients' own estimate.
func reshardProgress(r catalog.ActiveResharding) (string, *display.Amount) {
	text := "resharding " + r.Namespace
	if r.State != "" {
		text += " (" + r.State + ")"
	}
	if r.Remaining > 0 {
		text += ", servers estimate " + humanize.Duration(r.Remaining) + " left"
	}
	if r.TotalBytes == 0 {
		return text, nil
	}
	left := float64(max(0, r.TotalBytes-r.CopiedBytes))
	return text, &display.Amount{Done: float64(r.CopiedBytes), Remaining: left, Format: humanize.Bytes[float64]}
}

// shShardAndDistribute shards the collection, then reshards it to the same key, which distributes the
// data. Two of the options are passed on. It checks the server's version first: an older server would
// shard the collection and reject the second command.
func shShardAndDistribute(c *call, sh *Helpers) goja.Value {
	sh.requireVersion("shardAndDistributeCollection", catalog.ServerVersion{Major: 8}, "")
	body := c.shardKeyCommand("shardCollection")
	sh.runAdmin(body)
	reshard := bson.D{{Key: "reshardCollection", Value: c.Text(0)}, body[1], {Key: "forceRedistribution", Value: true}}
	for _, e := range body[2:] {
		if e.Key == "numInitialChunks" || e.Key == "collation" {
			reshard = append(reshard, e)
		}
	}
	return c.host.Display.ReplyValue(sh.runAdmin(reshard))
}

func (h *Helpers) listShards(filter goja.Value) []bson.Raw {
	body := server.Command("listShards")
	if filter != nil && !goja.IsUndefined(filter) {
		body = append(body, bson.E{Key: "filter", Value: h.host.JS.Document(filter)})
	}
	list, _ := h.runAdmin(body).Lookup("shards").ArrayOK()
	values, _ := list.Values()
	docs := []bson.Raw{}
	for _, v := range values {
		if doc, ok := v.DocumentOK(); ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

func shListShards(c *call, sh *Helpers) goja.Value {
	return c.JS.DocumentArray(sh.listShards(c.Arg(0)))
}

func shIsConfigShard(c *call, sh *Helpers) goja.Value {
	for _, doc := range sh.listShards(nil) {
		if rawdoc.Text(doc, "_id") != string(catalog.ConfigServerID) {
			continue
		}
		o := c.JS.NewObject("enabled", true, "host", c.JS.Values.ToJS(doc.Lookup("host")))
		if tags, err := doc.LookupErr("tags"); err == nil {
			script.Must(o.Set("tags", c.JS.Values.ToJS(tags)))
		}
		return o
	}
	return c.JS.NewObject("enabled", false)
}
