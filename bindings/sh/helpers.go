package sh

import (
	"slices"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Helpers is the object sh: helpers for administrators of sharded clusters (rules/04-objects §5). It
// uses the connection of the current database.
type Helpers struct {
	script.OpaqueObject
	host     *Host
	database *server.Database // nil for the current database
}

// helperTables returns all methods of sh, in the order of its help: those of mongosh, those that only
// shardsh has, which require a mongos, and those of the old shell.
func helperTables() [][]helper {
	return slices.Concat(
		[][]helper{shardMethods(), shardSettingMethods(), shardMoveCollectionMethods()},
		requiringMongos(shardBalanceMethods(), shardDrainMethods(), shardDefragmentMethods(), shardPresplitMethods(),
			shardQuiesceMethods(), shardPauseMethods(), shardJobMethods(), shardHistoryMethods(), shardVerifyMethods(),
			shardAuditMethods(), shardChunkMethods(), shardWindowMethods(), shardWhyMethods(),
			shardPlanMethods(), shardApplyMethods(), shardRunMethods(), shardForecastMethods(), shardWhatIfMethods(),
			shardCommandMethods(), shardMapMethods(), shardSnapshotMethods(), shardDiffMethods(), shardAdviseMethods(),
			shardHeatMethods()),
		[][]helper{shardOldShellMethods()},
	)
}

// current returns the database whose connection the helpers use.
func (h *Helpers) current() *server.Database {
	if h.database != nil {
		return h.database
	}
	return h.host.current()
}

// runAdmin sends a helper's command to the admin database.
func (h *Helpers) runAdmin(body bson.D) bson.Raw { return h.current().RunAdmin(h.withMaxTime(body)) }

// withMaxTime adds the time limit of the settings to a command.
func (h *Helpers) withMaxTime(body bson.D) bson.D {
	if ms := h.host.MaxTimeMS(); ms > 0 && !server.HasField(body, "maxTimeMS") {
		body = append(body, bson.E{Key: "maxTimeMS", Value: ms})
	}
	return body
}

func (h *Helpers) config() *server.Database { return h.current().Sibling("config") }

// warnUnlessMongos warns when the connection is not to a mongos, once for each database object. The helper
// continues (rules/04-objects §5.1).
func (h *Helpers) warnUnlessMongos() {
	d := h.current()
	if h.host.isFirstMongosCheck(d) && !d.Conn.IsMongos() {
		h.host.JS.Out.Warn("Warning: MongoshWarning: [" + script.CodeNoMongos +
			"] You are not connected to a mongos. This command may not work as expected.")
	}
}

// withMongosWarning wraps a helper with warnUnlessMongos, which runs after the argument checks.
func withMongosWarning(f func(*call, *Helpers) goja.Value) func(*call, *Helpers) goja.Value {
	return func(c *call, sh *Helpers) goja.Value {
		sh.warnUnlessMongos()
		return f(c, sh)
	}
}

// requiringMongos wraps helpers so that they throw unless connected to a mongos: a shard or a config
// server would reply for itself rather than for the cluster.
func requiringMongos(lists ...[]helper) [][]helper {
	for _, list := range lists {
		for i, m := range list {
			list[i].call = func(c *call, sh *Helpers) goja.Value {
				if on := sh.current().Conn; !on.IsMongos() {
					c.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeNoMongos,
						"sh.%s requires a mongos, and %s is not one: connect to a mongos", m.name, on.Address)
				}
				return m.call(c, sh)
			}
		}
	}
	return lists
}

// simpleCommand returns a helper that sends its arguments under the given names; missing arguments are
// left out. One additional argument is a document of further fields (rules/04-objects §5.3).
func simpleCommand(names ...string) func(*call, *Helpers) goja.Value {
	return func(c *call, sh *Helpers) goja.Value {
		var body bson.D
		for i, name := range names {
			if c.Has(i) {
				body = append(body, bson.E{Key: name, Value: c.JS.BSONValue(c.Arg(i))})
			}
		}
		return c.host.Display.ReplyValue(sh.runAdmin(c.JS.Merge(body, c.Arg(len(names)))))
	}
}

func shardMethods() []helper {
	return []helper{
		{"enableSharding", "database:string primaryShard?:string options?:object{@enableSharding}",
			withMongosWarning(withMongosHint(simpleCommand("enableSharding", "primaryShard"))),
			"Creates a database if it does not exist, on a shard of choice."},
		{"commitReshardCollection", "ns:string", withMongosHint(simpleCommand("commitReshardCollection")),
			"Commits a resharding as soon as possible."},
		{
			"abortReshardCollection",
			"ns:string",
			withMongosHint(simpleCommand("abortReshardCollection")),
			"Aborts a resharding.",
		},
		{"shardCollection", "ns:string key:object unique?:boolean|object{@shardCollection} options?:object{@shardCollection}",
			withMongosWarning(withMongosHint(func(c *call, sh *Helpers) goja.Value {
				return c.host.Display.ReplyValue(sh.runAdmin(c.shardKeyCommand("shardCollection")))
			})), "Shards a collection by a key."},
		{"reshardCollection", "ns:string key:object unique?:boolean|object{" + reshardOptionNames + "} options?:object{" +
			reshardOptionNames + "}", withMongosWarning(withMongosHint(shReshard)),
			"Shards a collection by another key and shows the progress; {progress: false} hides it."},
		{
			"status",
			"verbose?:boolean|object{verbose,full} configDB?:object",
			withMongosWarning(func(c *call, sh *Helpers) goja.Value {
				return c.host.shardingStatus(sh.current(), c.configArgument(sh, 1), c.statusOptions(0))
			}),
			"Shows the shards, the balancer and the sharded collections; true for everything, {full: true} for mongosh's " +
				"layout on a terminal too.",
		},
		{"addShard", "url:string options?:object{@addShard}", withMongosWarning(simpleCommand("addShard")),
			"Adds a replica set to the cluster as a shard."},
		{"addShardToZone", "shard:string zone:string", withMongosWarning(simpleCommand("addShardToZone", "zone")),
			"Adds a shard to a zone."},
		{"addShardTag", "shard:string zone:string", withMongosWarning(simpleCommand("addShardToZone", "zone")),
			"The old name of addShardToZone."},
		{"updateZoneKeyRange", "ns:string min:object max:object zone:any",
			withMongosWarning(shUpdateZoneKeyRange),
			"Assigns a range of shard keys to a zone; null removes it."},
		{"addTagRange", "ns:string min:object max:object zone:any",
			withMongosWarning(shUpdateZoneKeyRange),
			"The old name of updateZoneKeyRange."},
		{"removeRangeFromZone", "ns:string min:object max:object", withMongosWarning(shRemoveRangeFromZone),
			"Removes a range of shard keys from its zone."},
		{
			"removeTagRange",
			"ns:string min:object max:object",
			withMongosWarning(shRemoveRangeFromZone),
			"The old name of removeRangeFromZone.",
		},
		{"removeShardFromZone", "shard:string zone:string", withMongosWarning(shRemoveShardFromZone),
			"Removes a shard from a zone."},
		{"removeShardTag", "shard:string zone:string", withMongosWarning(shRemoveShardFromZone),
			"The old name of removeShardFromZone."},
		{"enableAutoSplit", "", withMongosWarning(shAutoSplit(true)), "Switches splitting on; servers before 6.0.3."},
		{"disableAutoSplit", "", withMongosWarning(shAutoSplit(false)), "Switches splitting off; servers before 6.0.3."},
		{"splitAt", "ns:string middle:object options?:object{@split}", withMongosWarning(simpleCommand("split", "middle")),
			"Splits a chunk at a shard key."},
		{"splitFind", "ns:string query:object options?:object{@split}", withMongosWarning(simpleCommand("split", "find")),
			"Splits the chunk that holds a document at its middle."},
		{"moveChunk", "ns:string query:object to:string options?:object{@moveChunk}",
			withMongosWarning(shMoveChunk),
			"Moves the chunk that holds a document to a shard."},
		{
			"moveRange",
			"ns:string toShard:string min?:object max?:object options?:object{@moveRange}",
			withMongosWarning(shMoveRange),
			"Moves a range of shard keys to a shard; one of the bounds may be missing.",
		},
		{"balancerCollectionStatus", "ns:string", simpleCommand("balancerCollectionStatus"),
			"Returns whether a collection is balanced, and if not, why."},
	}
}

// shardKeyCommand returns a command with a namespace, a key, and unique or options as the third
// argument.
func (c *call) shardKeyCommand(name string) bson.D {
	key := c.JS.Document(c.Arg(1))
	c.JS.CheckKeyOrder(c.Arg(1), key)
	body := bson.D{{Key: name, Value: c.Text(0)}, {Key: "key", Value: key}}
	if script.TypeOf(c.Arg(2)) == "boolean" {
		body = append(body, bson.E{Key: "unique", Value: c.Arg(2).ToBoolean()})
	} else {
		body = c.JS.Merge(body, c.Arg(2))
	}
	return c.JS.Merge(body, c.Arg(3))
}

// withMongosHint wraps a helper: it adds "Are you connected to mongos?" to the error of an unknown
// command.
func withMongosHint(f func(*call, *Helpers) goja.Value) func(*call, *Helpers) goja.Value {
	return func(c *call, sh *Helpers) (v goja.Value) {
		if ex := c.JS.Runtime.Try(func() { v = f(c, sh) }); ex != nil {
			if e, ok := ex.Value().(*goja.Object); ok {
				if code := script.Property(e, "code"); code != nil && code.ToInteger() == int64(mongoerr.CommandNotFound) {
					script.Define(e, "message",
						c.JS.Runtime.ToValue(script.OptionalText(e.Get("message"))+". Are you connected to mongos?"))
				}
			}
			panic(ex)
		}
		return v
	}
}

// StatusOptions are the options of sh.status().
type StatusOptions struct {
	Verbose       bool // all chunks and zones, whole documents
	MongoshLayout bool // mongosh's layout, even on a terminal
}

func (c *call) statusOptions(i int) StatusOptions {
	if c.Object(i) == nil {
		verbose := c.Arg(i).ToBoolean()
		return StatusOptions{Verbose: verbose, MongoshLayout: verbose}
	}
	o := c.options("status", i)
	verbose := o.flag("verbose", false)
	return StatusOptions{Verbose: verbose, MongoshLayout: o.flag("full", verbose)}
}

// configArgument returns the config database in an argument, or the current one.
func (c *call) configArgument(sh *Helpers, i int) *server.Database {
	if d, ok := script.Receiver[Database](c.Arg(i)); ok {
		return d.ServerDatabase()
	}
	return sh.config()
}

// namespaceArgument returns the namespace in an argument, which may be a string or a collection.
func (c *call) namespaceArgument(i int) string {
	if coll, ok := script.Receiver[Collection](c.Arg(i)); ok {
		return coll.Namespace()
	}
	return c.Text(i)
}
