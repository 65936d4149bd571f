// Package mock implements the object mock of scripts: time, faults and virtual data of the mock
// cluster.
package mock

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// mockObject is the object mock. It only sends the mock's own commands to the server that the shell is
// connected to, wherever the server runs.
type mockObject struct {
	script.OpaqueObject
	Host
}

// Host provides what the object needs from the shell.
type Host struct {
	JS      *script.Engine
	Gateway *server.Gateway
	// Reply converts a server's reply for scripts.
	Reply func(bson.Raw) goja.Value
	// DB returns the current database; nil without a connection.
	DB func() *server.Database
}

// Class is the name of mock's class in help texts.
const Class = "MockCluster"

// helpColumn is the column of explanations in mock.help(): mongosh has no such object.
const helpColumn = 20

// New returns the object mock.
func New(h Host) goja.Value {
	class := script.PrototypeFromTables(h.JS, Class, methods)
	var rows [][2]string
	for _, m := range methods() {
		rows = append(rows, [2]string{m.Name, m.Help})
	}
	h.JS.Help.DefineHelp(class, func() string { return h.JS.Out.HelpTableFrom(helpColumn, Class+" Class", rows) })
	o := h.JS.NewInstance(&mockObject{Host: h}, class)
	h.JS.Values.SetPrinter(o, func() string {
		d := h.DB()
		if d == nil {
			return "MockCluster class not connected"
		}
		return "MockCluster class connected to " + d.Conn.Address + " via db " + d.Name
	})
	return o
}

// methods returns the methods of mock; most of them send the command of the same name.
func methods() script.Methods[*mockObject] {
	return script.Methods[*mockObject]{
		{"status", "", commandMethod("mockStatus"), "Shows the time, which nodes are up, and the faults in force."},
		{"now", "", methodReturningTime("mockNow"), "The cluster's time."},
		{"advance", "duration:string|number", methodReturningTime("mockAdvance"),
			"Lets virtual time jump (\"2h\", or milliseconds) and returns the new time."},
		{"addShard", "options?:object", commandMethod("mockAddShard"),
			"Adds an empty shard: {name, host, zones}, all optional."},
		{"crash", "shard:string", commandMethod("mockCrash"), "Takes a shard, or \"config\", away."},
		{"restart", "shard?:string", commandMethod("mockRestart"),
			"Brings a crashed shard or \"config\" back; without a name, all."},
		{"partition", "shard:string to:string", pairMethod("mockPartition"),
			"Cuts two nodes off from each other: shards, \"config\", \"router\"."},
		{"heal", "shard?:string to?:string", pairMethod("mockHeal"),
			"Ends a partition; with one node all of its partitions, without nodes all faults but crashes."},
		{"slow", "shard:string options?:object", commandMethod("mockSlow"),
			"Makes a node slow: {bandwidth: \"10MB\", latency: \"20ms\"}; or gives it a secondary that is " +
				"{secondary: \"10s\"} behind, for writes to wait for and to read from; or makes its member report " +
				"{lag: \"14s\", queue: 60}; or sets a router's clock {ahead: \"1m\"}; without options it is as before."},
		{"failNext", "command:string options?:object", commandMethod("mockFailNext"),
			"Makes commands fail: {times, after, code, errmsg, errorLabels, shard}, or {closeConnection}, or " +
				"{writeConcernError}."},
		{"sameMachineId", "shard:string to:string", pairMethod("mockSameMachineId"),
			"Gives the second shard the machine id of the first; the balancer's next round fails and mends it."},
		{"stepDown", "options?:object", func(c *script.Call, m *mockObject) goja.Value {
			return m.Reply(m.run(c, "mockStepDown", int32(1), c.Arg(0)))
		}, "Gives the config server another primary, and with it a new balancer: {timeZone: \"America/Los_Angeles\"}."},
		{"changeFCV", "version:string options?:object", commandMethod("mockChangeFCV"),
			"Begins setFeatureCompatibilityVersion and returns at once: {takes: \"10m\"}. To 9.0, no chunk is split, " +
				"merged or moved meanwhile."},
		{"install", "options:object", func(c *script.Call, m *mockObject) goja.Value {
			return m.Reply(m.run(c, "mockInstall", int32(1), c.Arg(0)))
		}, "Installs another version on members or routers: {version: \"8.2.6\", shard: \"a\"}, configServers: true, " +
			"member, router: \"host:port\", routers: true; on all if none is named."},
		{"fill", "ns:string options:object", commandMethod("mockFill"),
			"Fills a collection's chunks with virtual data: {bytes: \"10GB\", docs, distribution: \"even\" | \"skewed\" | " +
				"{shard: share}}."},
		{"workload", "options:object", sendWorkload,
			"Counts an application's operations as time passes, and runs none: {ns, rate: 5000, keys: \"zipf 1.1\" | " +
				"\"latest\" | \"hot 5% 80%\" | \"key 50%\" | \"uniform\", mix: {reads: 60, inserts: 10, updates: 30}, " +
				"moves: \"daily\", wave: \"daily\", count: 10000, scatter: 0.1}; rate 0 ends it."},
		{"save", "file:string", commandMethod("mockSave"),
			"Writes the whole cluster to a file, for mock.load() and --snapshot."},
		{"load", "file:string", commandMethod("mockLoad"), "Replaces the whole cluster by the one in a file."},
		{"invariants", "", commandMethod("mockInvariants"), "Checks that nothing is lost, doubled or left uncovered."},
	}
}

// run sends one of the mock's commands with options, without the omitted options. An unknown
// command means that the server is not a mock.
func (m *mockObject) run(c *script.Call, name string, value any, options goja.Value, omitted ...string) bson.Raw {
	body := bson.D{{Key: name, Value: value}}
	if options != nil {
		body = c.JS.Merge(body, options, omitted...)
	}
	reply, err := m.Gateway.Send(server.RequireDatabase(m.JS, m.DB()).Sibling("admin").Request(body))
	if server.CodeOf(err) == mongoerr.CommandNotFound {
		m.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeInvalidOperation,
			"mock.%s works on the mock cluster only (this is a real server)", methodOf(name))
	}
	if err != nil {
		m.Gateway.Throw(err)
	}
	return reply
}

// methodOf returns the method of a command: crash for mockCrash.
func methodOf(command string) string {
	name := []byte(command[len("mock"):])
	name[0] |= 'a' - 'A'
	return string(name)
}

// firstArgOrOne returns the first argument, or 1 when there is none.
func firstArgOrOne(c *script.Call) any {
	if !c.Has(0) {
		return int32(1)
	}
	return c.JS.BSONValue(c.Arg(0))
}

// commandMethod sends the first argument as the command's value and the second,
// if any, as its options.
func commandMethod(name string) func(*script.Call, *mockObject) goja.Value {
	return func(c *script.Call, m *mockObject) goja.Value {
		return m.Reply(m.run(c, name, firstArgOrOne(c), c.Arg(1)))
	}
}

// sendWorkload sends mockWorkload with the namespace as its value and the other options.
func sendWorkload(c *script.Call, m *mockObject) goja.Value {
	ns := m.JS.Document(c.Arg(0)).Lookup("ns")
	if ns.IsZero() {
		m.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeInvalidOperation,
			"mock.workload needs ns: a sharded collection")
	}
	return m.Reply(m.run(c, "mockWorkload", ns, c.Arg(0), "ns"))
}

// pairMethod sends one argument as it is, or two arguments as an array.
func pairMethod(name string) func(*script.Call, *mockObject) goja.Value {
	return func(c *script.Call, m *mockObject) goja.Value {
		value := firstArgOrOne(c)
		if c.Has(1) {
			value = bson.A{value, c.JS.BSONValue(c.Arg(1))}
		}
		return m.Reply(m.run(c, name, value, nil))
	}
}

// methodReturningTime returns a method that sends a command and returns the time in the reply.
func methodReturningTime(name string) func(*script.Call, *mockObject) goja.Value {
	return func(c *script.Call, m *mockObject) goja.Value {
		return script.Property(c.JS.Values.DocToJS(m.run(c, name, firstArgOrOne(c), nil)), "now")
	}
}
