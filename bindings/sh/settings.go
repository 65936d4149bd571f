package sh

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardSettingMethods returns the helpers that switch the balancer and the auto-merger.
func shardSettingMethods() []helper {
	return []helper{
		{"enableBalancing", "ns:string|object", withMongosWarning(shSetCollection("noBalance", "$set", false)),
			"Enables the balancing of a collection."},
		{"disableBalancing", "ns:string|object", withMongosWarning(shDisableBalancing),
			"Disables the balancing of a collection."},
		{
			"enableMigrations",
			"ns:string|object",
			withMongosWarning(shMigrations(true)),
			"Allows all migrations of a collection again.",
		},
		{"disableMigrations", "ns:string|object", withMongosWarning(shMigrations(false)),
			"Forbids all migrations of a collection, by hand too."},
		{"getBalancerState", "configDB?:object", withMongosWarning(func(c *call, sh *Helpers) goja.Value {
			doc := c.host.setting(c.configArgument(sh, 0), "balancer")
			return c.JS.Runtime.ToValue(doc == nil || !rawdoc.IsFieldTruthy(doc, "stopped"))
		}), "Returns whether the balancer is enabled."},
		{"isBalancerRunning", "configDB?:object", withMongosWarning(shIsBalancerRunning),
			"Returns the reply of balancerStatus: a document, which is never false."},
		{"startBalancer", "timeout?:number|string interval?:number|string", withMongosWarning(shBalancer(true)),
			"Enables the balancer."},
		{"stopBalancer", "timeout?:number|string interval?:number|string", withMongosWarning(shBalancer(false)),
			"Disables the balancer and waits for its round to end."},
		{"setBalancerState", "on:boolean", withMongosWarning(func(c *call, sh *Helpers) goja.Value {
			return sh.switchBalancer(c, c.Arg(0).ToBoolean(), balancerTimeoutMS, func() (timeout, interval time.Duration) {
				return oldWaitTimeout, oldWaitInterval
			})
		}), "Enables or disables the balancer."},
		{"getShardedDataDistribution", "options?:object", shDataDistribution,
			"Returns data and orphans of each collection on each shard."},
		{"startAutoMerger", "", withMongosWarning(shAutoMerger(true)), "Enables the auto-merger."},
		{"stopAutoMerger", "", withMongosWarning(shAutoMerger(false)), "Disables the auto-merger."},
		{"isAutoMergerEnabled", "", withMongosWarning(func(c *call, sh *Helpers) goja.Value {
			doc := c.host.setting(sh.config(), "automerge")
			return c.JS.Runtime.ToValue(doc == nil || rawdoc.IsFieldTruthy(doc, "enabled"))
		}), "Returns whether the auto-merger is enabled."},
		{"disableAutoMerger", "ns:string|object", withMongosWarning(shSetCollection("enableAutoMerge", "$set", false)),
			"Disables the auto-merger for a collection."},
		{"enableAutoMerger", "ns:string|object", withMongosWarning(shSetCollection("enableAutoMerge", "$unset", int32(1))),
			"Enables the auto-merger for a collection."},
		{"checkMetadataConsistency", "options?:object{@checkMetadataConsistency}",
			withMongosWarning(func(c *call, sh *Helpers) goja.Value {
				object, start := c.host.Objects.Cursor(sh.current().Sibling("admin"),
					c.JS.Merge(server.Command("checkMetadataConsistency"), c.Arg(0)))
				start()
				return object
			}), "Checks the sharding metadata of the cluster for inconsistencies."},
	}
}

const balancerTimeoutMS int32 = 60_000

func shBalancer(on bool) func(*call, *Helpers) goja.Value {
	return func(c *call, sh *Helpers) goja.Value {
		longest, interval := c.timeoutAndInterval(map[bool]string{true: "startBalancer", false: "stopBalancer"}[on], 0)
		timeout := any(balancerTimeoutMS)
		switch {
		case goja.IsString(c.Arg(0)):
			timeout = longest.Milliseconds()
		case c.Has(0):
			timeout = c.JS.BSONValue(c.Arg(0))
		}
		return sh.switchBalancer(c, on, timeout, func() (time.Duration, time.Duration) { return longest, interval })
	}
}

// switchBalancer switches the balancer. timeout and interval apply to servers without a command that
// waits.
func (h *Helpers) switchBalancer(
	c *call, on bool, timeout any, wait func() (timeout, interval time.Duration)) goja.Value {
	if c.host.Gateway.HasGuard() && h.lacksModes() { // the guard shows the command that would be sent
		return h.switchBefore34(c, on, 0, 0)
	}
	name := "balancerStop"
	if on {
		name = "balancerStart"
	}
	reply, err := c.host.Gateway.Send(h.current().Sibling("admin").Request(
		server.Command(name, bson.E{Key: "maxTimeMS", Value: timeout})))
	switch {
	case err == nil:
		return c.host.Display.ReplyValue(reply)
	case h.isBefore34(err):
		longest, interval := wait()
		return h.switchBefore34(c, on, longest, interval)
	}
	c.host.Gateway.Throw(err)
	return nil
}

func (h *Helpers) balancerStatus() bson.Raw {
	reply, err := h.host.Gateway.Send(
		h.current().Sibling("admin").Request(server.Command("balancerStatus"), server.Repeatable),
	)
	switch {
	case err == nil:
		return reply
	case h.isBefore34(err):
		return h.statusBefore34()
	}
	h.host.Gateway.Throw(err)
	return nil
}

func shIsBalancerRunning(c *call, sh *Helpers) goja.Value {
	status := sh.balancerStatus()
	if c.host.Compat {
		return c.JS.Runtime.ToValue(rawdoc.IsFieldTruthy(status, "inBalancerRound"))
	}
	return c.host.Display.ReplyValue(status)
}

// setting returns a document of config.settings; nil if there is none.
func (h *Host) setting(config *server.Database, id string) bson.Raw {
	return config.FindOne("settings", bson.D{{Key: "_id", Value: id}})
}

// updateConfig updates a document of the config database with a majority write concern.
func (c *call) updateConfig(config *server.Database, collection, id string, update bson.D, upsert bool,
	wtimeout int32) (result *goja.Object, matched int64) {
	st := bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "u", Value: update}}
	if upsert {
		st = append(st, bson.E{Key: "upsert", Value: true})
	}
	majority := bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: wtimeout}}
	return c.host.Objects.Update(config, collection, rawdoc.MustMarshal(st), rawdoc.MustMarshal(majority))
}

// updateSetting updates a document of config.settings, or inserts it.
func (c *call) updateSetting(config *server.Database, id string, update bson.D) goja.Value {
	result, _ := c.updateConfig(config, "settings", id, update, true, 30_000)
	return result
}

// shSetCollection returns a helper that sets a field of a collection's entry in the catalog. For an
// unknown name, it prints a warning on the error stream, because nothing changes. It returns the result
// that recorded clusters return (rules/04-objects §5.3 requires an error).
func shSetCollection(field, operator string, value any) func(*call, *Helpers) goja.Value {
	return func(c *call, sh *Helpers) goja.Value {
		ns := c.namespaceArgument(0)
		update := bson.D{{Key: operator, Value: bson.D{{Key: field, Value: value}}}}
		result, matched := c.updateConfig(sh.config(), "collections", ns, update, false, 60_000)
		if matched == 0 && !c.host.Gateway.HasGuard() {
			sh.warnNothingChanged("no sharded collection "+ns, namespaceName, ns)
		}
		return result
	}
}

// shDisableBalancing also makes a run that has disabled the collection leave it disabled at its end.
func shDisableBalancing(c *call, sh *Helpers) goja.Value {
	result := shSetCollection("noBalance", "$set", true)(c, sh)
	if c.host.Gateway.HasGuard() {
		return result
	}
	// Users who may not read the lease can't hold it.
	kept, err := live.KeepBalancingDisabled(c.JS.Context(), live.NewCommandRunner(sh.current().Conn.Client),
		c.namespaceArgument(0))
	if kept && err == nil {
		c.JS.Out.Warn("A run of shardsh has paused it: its balancing stays disabled when that run ends.")
	}
	return result
}

func shMigrations(allow bool) func(*call, *Helpers) goja.Value {
	return func(c *call, sh *Helpers) goja.Value {
		return c.host.Display.ReplyValue(sh.runAdmin(bson.D{
			{Key: "setAllowMigrations", Value: c.namespaceArgument(0)}, {Key: "allowMigrations", Value: allow},
		}))
	}
}

func shAutoMerger(on bool) func(*call, *Helpers) goja.Value {
	return func(c *call, sh *Helpers) goja.Value {
		update := bson.D{{Key: "$set", Value: bson.D{{Key: "enabled", Value: on}}}}
		return c.updateSetting(sh.config(), "automerge", update)
	}
}

func shAutoSplit(on bool) func(*call, *Helpers) goja.Value {
	return func(c *call, sh *Helpers) goja.Value {
		if sh.version().AtLeast(catalog.ServerVersion{Major: 6, Patch: 3}) {
			c.JS.Out.WarnDeprecated("sh.enableAutoSplit() and sh.disableAutoSplit() have no effect on servers since 6.0.3.")
		}
		update := bson.D{{Key: "$set", Value: bson.D{{Key: "enabled", Value: on}}}}
		return c.updateSetting(sh.config(), "autosplit", update)
	}
}

// shDataDistribution requests the first batch immediately, so that it throws the error of an old
// server.
func shDataDistribution(c *call, sh *Helpers) goja.Value {
	stage := rawdoc.MustMarshal(bson.D{{Key: "$shardedDataDistribution", Value: c.JS.DocumentOrEmpty(c.Arg(0))}})
	object, start := c.host.Objects.Cursor(sh.current().Sibling("admin"), bson.D{
		{Key: "aggregate", Value: int32(1)}, {Key: "pipeline", Value: bson.A{stage}}, {Key: "cursor", Value: bson.D{}},
	})
	if ex := c.JS.Runtime.Try(start); ex != nil {
		if e, ok := ex.Value().(*goja.Object); ok {
			if code := script.Property(e, "code"); code != nil && code.ToInteger() == int64(mongoerr.UnknownStage) {
				text := "sh.getShardedDataDistribution only works on mongos and servers from version 6.0.3 on"
				script.Define(e, "message",
					c.JS.Runtime.ToValue(text+" [Original Error: "+script.OptionalText(e.Get("message"))+"]"))
			}
		}
		panic(ex)
	}
	return object
}
