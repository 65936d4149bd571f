package sh

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The timeout and the poll interval of the old waiting helpers.
const (
	oldWaitTimeout  = 60 * time.Second
	oldWaitInterval = 200 * time.Millisecond
)

// shardOldShellMethods returns the helpers of the old shell (rules/04-objects §5.5).
func shardOldShellMethods() []helper {
	return []helper{
		{"waitForBalancer", "onOrNot?:any timeout?:number|string interval?:number|string", shWaitForBalancer,
			"Waits for the balancer to end its round, or to complete another."},
		{"waitForBalancerOff", "timeout?:number|string interval?:number|string", func(c *call, sh *Helpers) goja.Value {
			sh.waitForRoundEnd(c.timeoutAndInterval("waitForBalancerOff", 0))
			return nil
		}, "Waits until no balancer round is running."},
		{"awaitBalancerRound", "timeout?:number|string interval?:number|string", func(c *call, sh *Helpers) goja.Value {
			sh.waitForRound(c.timeoutAndInterval("awaitBalancerRound", 0))
			return nil
		}, "Waits until the balancer has completed another round."},
		{"awaitCollectionBalance", "collection:object|string timeout?:number|string interval?:number|string",
			shAwaitCollectionBalance,
			"Waits until a collection is balanced and free of orphans."},
		{"waitForPingChange", "pings:object timeout?:number|string interval?:number|string", shWaitForPingChange,
			"Waits until mongos processes have reported again."},
		{"waitForDLock", "", noLockHelper("waitForDLock"), ""},
		{"getBalancerLockDetails", "", noLockHelper("getBalancerLockDetails"), ""},
		{"getBalancerHost", "", noLockHelper("getBalancerHost"), ""},
		{"getBalancerWindow", "configDB?:object", func(c *call, sh *Helpers) goja.Value {
			doc := c.host.setting(c.configArgument(sh, 0), "balancer")
			if _, err := doc.LookupErr("activeWindow"); err != nil {
				return goja.Null()
			}
			return c.host.fieldValue(doc, "activeWindow")
		}, "Returns the times between which the balancer works, or null."},
		{"getActiveMigrations", "configDB?:object", func(c *call, sh *Helpers) goja.Value {
			var items []any
			seen := c.host.readCluster(sh.current(), c.configArgument(sh, 0), live.ReaderOptions{Parts: live.RunningMigrations})
			for _, m := range listedMigrations(seen) {
				items = append(items, c.JS.NewObject("_id", m.Namespace, "when", c.host.timeOrNull(m.Since)))
			}
			return c.JS.Runtime.NewArray(items...)
		}, "Returns the migrations in progress."},
		{"getRecentFailedRounds", "configDB?:object", func(c *call, sh *Helpers) goja.Value {
			f := c.host.failedRounds(
				c.host.readCluster(sh.current(), c.configArgument(sh, 0), live.ReaderOptions{Parts: live.Rounds}),
			)
			o := c.JS.NewObject("count", f.count, "lastErr", "", "lastTime", goja.Undefined())
			if f.count > 0 {
				script.Must(o.Set("lastErr", f.message))
				script.Must(o.Set("lastTime", f.when))
			}
			return o
		}, "Returns how many of the last five rounds failed."},
		{"getRecentMigrations", "configDB?:object", func(c *call, sh *Helpers) goja.Value {
			var items []any
			seen := c.host.readCluster(sh.current(), c.configArgument(sh, 0),
				live.ReaderOptions{Parts: live.MigrationOutcomes, OutcomeSpan: outcomesSpan})
			for _, m := range recentOutcomes(seen) {
				id := cmp.Or(m.Error, "Success")
				o := c.JS.NewObject("_id", id, "count", m.Count)
				if m.From != "" {
					script.Must(o.Set("from", string(m.From)))
					script.Must(o.Set("to", string(m.To)))
				}
				items = append(items, o)
			}
			return c.JS.Runtime.NewArray(items...)
		}, "Returns how the migrations of the last day ended."},
		{"getShouldAutoSplit", "configDB?:object", func(c *call, sh *Helpers) goja.Value {
			doc := c.host.setting(c.configArgument(sh, 0), "autosplit")
			return c.JS.Runtime.ToValue(doc == nil || rawdoc.IsFieldTruthy(doc, "enabled"))
		}, ""},
		{"_getBalancerStatus", "", func(c *call, sh *Helpers) goja.Value {
			return c.host.Display.ReplyValue(sh.balancerStatus())
		}, ""},
		{"_getConfigDB", "", func(c *call, sh *Helpers) goja.Value {
			sh.requireMongos()
			return c.host.Objects.Database(sh.config())
		}, ""},
		{"_checkMongos", "", func(_ *call, sh *Helpers) goja.Value { sh.requireMongos(); return nil }, ""},
		{"_checkFullName", "ns:string", func(c *call, _ *Helpers) goja.Value {
			if !strings.Contains(c.Text(0), ".") {
				c.JS.Throw("Error", "needs a fully qualified namespace")
			}
			return nil
		}, ""},
		{"_adminCommand", "command:object|string skipCheck?:any", shAdminCommand, ""},
		{"_dataFormat", "bytes:any", func(c *call, _ *Helpers) goja.Value {
			return c.JS.Runtime.ToValue(plaintext.DistributionSizeText(c.Arg(0).ToFloat()))
		}, ""},
		{"_collRE", "collection:any", func(c *call, _ *Helpers) goja.Value {
			re, err := c.JS.Runtime.New(c.JS.Runtime.GlobalObject().Get("RegExp"),
				c.JS.Runtime.ToValue("^"+regexp.QuoteMeta(c.namespaceArgument(0))+"-.*"))
			c.JS.Check(err)
			return re
		}, ""},
		{"_pchunk", "chunk:object", func(c *call, _ *Helpers) goja.Value {
			chunk := c.Object(0)
			return c.JS.Runtime.ToValue("[" + c.host.Display.OldJSON(chunk.Get("min"), true) + "] -> [" +
				c.host.Display.OldJSON(chunk.Get("max"), true) + "]")
		}, ""},
		{"_lastMigration", "of?:any", shLastMigration, ""},
	}
}

// noLockHelper returns a stub for a helper about the balancer lock, which existed until 3.2.
func noLockHelper(name string) func(*call, *Helpers) goja.Value {
	return func(c *call, _ *Helpers) goja.Value {
		c.JS.Out.WarnOnce("sh." + name +
			"() has no effect: the balancer runs on the config server primary and holds no lock.")
		return goja.Null()
	}
}

func (h *Helpers) requireMongos() {
	if !h.current().Conn.IsMongos() {
		h.host.JS.Throw("Error", "not connected to a mongos")
	}
}

// shAdminCommand returns errors instead of throwing them.
func shAdminCommand(c *call, sh *Helpers) goja.Value {
	if !c.Arg(1).ToBoolean() {
		sh.requireMongos()
	}
	var body any
	if goja.IsString(c.Arg(0)) {
		body = server.Command(c.Text(0))
	} else {
		body = c.JS.Document(c.Arg(0))
	}
	reply, err := c.host.Gateway.Send(sh.current().Sibling("admin").Request(body))
	if err == nil {
		return c.host.Display.ReplyValue(reply)
	}
	if raw := server.ReplyOf(err); raw != nil {
		return c.host.Display.ReplyValue(raw)
	}
	c.host.Gateway.Throw(err)
	return nil
}

func (h *Helpers) readRounds() (inRound bool, number int64) {
	b := h.readBalancer()
	return b.InRound, b.Rounds
}

func (h *Helpers) waitForRoundEnd(timeout, interval time.Duration) {
	ended := h.host.JS.Poll(timeout, interval, func() bool {
		in, _ := h.readRounds()
		return !in
	})
	if !ended {
		h.host.JS.Throw("Error", "a balancer round was still running after %v", timeout)
	}
}

func (h *Helpers) waitForRound(timeout, interval time.Duration) {
	if why := h.balancerOffText("no round begins"); why != "" {
		h.host.JS.Throw(script.UnreachableStateErrorName, "%s", why)
	}
	_, before := h.readRounds()
	grown := h.host.JS.Poll(timeout, interval, func() bool {
		in, now := h.readRounds()
		return now > before || in && now == 0 // servers before 3.4 do not count rounds: one observed round is sufficient
	})
	if !grown {
		h.host.JS.Throw("Error", "no balancer round within %v", timeout)
	}
}

// timeoutAndInterval returns the arguments of a helper that waits, from position at on.
func (c *call) timeoutAndInterval(helper string, at int) (timeout, interval time.Duration) {
	helper = "Shard." + helper
	return c.Duration(helper, "timeout", at, oldWaitTimeout), c.Duration(helper, "interval", at+1, oldWaitInterval)
}

func shWaitForBalancer(c *call, sh *Helpers) goja.Value {
	timeout, interval := c.timeoutAndInterval("waitForBalancer", 1)
	if c.Arg(0).ToBoolean() {
		sh.waitForRound(timeout, interval)
	} else {
		sh.waitForRoundEnd(timeout, interval)
	}
	return nil
}

func shAwaitCollectionBalance(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	timeout, interval := c.timeoutAndInterval("awaitCollectionBalance", 1)
	db, coll, _ := strings.Cut(ns, ".")
	ahead := &waitForecast{sh: sh, goal: plan.Goal{Kind: plan.Balance, Namespaces: []string{ns}}}
	balanced := c.JS.Poll(timeout, interval, func() bool {
		seen := sh.readCluster(live.ReaderOptions{Parts: live.BalanceStatuses, Namespaces: []string{ns}})
		if diagnosis.BalanceOf(seen.Snapshot, seen.Collection(ns)).Balanced {
			return true
		}
		ahead.throwIfStuck()
		return false
	})
	if !balanced {
		c.JS.Throw("Error", "%s was not balanced within %v", ns, timeout)
	}
	clean := c.JS.Poll(timeout, interval, func() bool {
		orphans := 0.0
		for _, doc := range sh.current().Sibling(db).AggregateAll(coll,
			bson.D{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}}) {
			orphans += rawdoc.Number(doc, "storageStats", "numOrphanDocs")
		}
		return orphans == 0
	})
	if !clean {
		c.JS.Throw("Error", "%s still had orphans after %v", ns, timeout)
	}
	return nil
}

// shWaitForPingChange returns the pings that did not change before the timeout.
func shWaitForPingChange(c *call, sh *Helpers) goja.Value {
	waiting := script.Items(c.Object(0))
	config := sh.config()
	timeout, interval := c.timeoutAndInterval("waitForPingChange", 1)
	c.JS.Poll(timeout, interval, func() bool {
		var left []goja.Value
		for _, v := range waiting {
			before := c.JS.Document(v)
			now := config.FindOne("mongos", bson.D{{Key: "_id", Value: before.Lookup("_id")}})
			if now != nil && now.Lookup("ping").Equal(before.Lookup("ping")) {
				left = append(left, v)
			}
		}
		waiting = left
		return len(waiting) == 0
	})
	items := make([]any, len(waiting))
	for i, v := range waiting {
		items[i] = v
	}
	return c.JS.Runtime.NewArray(items...)
}

func shLastMigration(c *call, sh *Helpers) goja.Value {
	filter := bson.D{{Key: "what", Value: bson.Regex{Pattern: "^moveChunk"}}}
	if coll, ok := script.Receiver[Collection](c.Arg(0)); ok {
		filter = append(filter, bson.E{Key: "ns", Value: coll.Namespace()})
	} else if d, ok := script.Receiver[Database](c.Arg(0)); ok {
		filter = append(filter, bson.E{Key: "ns", Value: bson.Regex{Pattern: "^" +
			regexp.QuoteMeta(d.ServerDatabase().Name+".")}})
	} else if goja.IsString(c.Arg(0)) {
		filter = append(filter, bson.E{Key: "ns", Value: c.Text(0)})
	}
	docs := sh.config().FindAll("changelog", filter, server.SortField("time", -1), server.LimitField(1))
	if len(docs) == 0 {
		return goja.Null()
	}
	entry := c.JS.Values.DocToJS(docs[0])
	c.host.Display.Print([]goja.Value{entry})
	return entry
}
