package bindings

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// mockControl is the mock object: time, faults and virtual data of the mock
// cluster. It does nothing but send the mock's own commands to the server that
// the shell is connected to, wherever that runs.
type mockControl struct {
	script.Hidden
	s *Shell
}

const mockClass = "MockCluster"

func (s *Shell) newMock() goja.Value {
	o := s.JS.Instance(&mockControl{s: s}, prototype(s, mockClass, mockMethods()))
	s.JS.World.SetPrinter(o, func() string {
		if s.db == nil {
			return "MockCluster class not connected"
		}
		return "MockCluster class connected to " + s.db.on.Address + " via db " + s.db.Name
	})
	return o
}

// mockMethods returns what mock has; most are the command of the same name.
func mockMethods() []method[*mockControl] {
	return []method[*mockControl]{
		{"status", "", mockSends("mockStatus"), "Shows the time, which nodes are up, and the faults in force."},
		{"now", "", mockDate("mockNow"), "The cluster's time."},
		{"advance", "duration:string|number", mockDate("mockAdvance"),
			"Lets virtual time jump (\"2h\", or milliseconds) and returns the new time."},
		{"addShard", "options?:object", mockSends("mockAddShard"),
			"Adds an empty shard: {name, host, zones}, all optional."},
		{"crash", "shard:string", mockSends("mockCrash"), "Takes a shard, or \"config\", away."},
		{"restart", "shard?:string", mockSends("mockRestart"),
			"Brings a crashed shard or \"config\" back; without a name, all."},
		{"partition", "shard:string to:string", mockPair("mockPartition"),
			"Cuts two nodes off from each other: shards, \"config\", \"router\"."},
		{"heal", "shard?:string to?:string", mockPair("mockHeal"),
			"Ends a partition; with one node all of its, without any every fault but crashes."},
		{"slow", "shard:string options?:object", mockSends("mockSlow"),
			"Makes a node slow: {bandwidth: \"10MB\", latency: \"20ms\"}; or gives it {secondary: \"10s\"}, which is so " +
				"far behind, to wait for and to read from; or has its member tell {lag: \"14s\", queue: 60}; without them " +
				"it is as before."},
		{"failNext", "command:string options?:object", mockSends("mockFailNext"),
			"Lets commands fail: {times, after, code, errmsg, errorLabels, shard}, or {closeConnection}, or " +
				"{writeConcernError}."},
		{"sameMachineId", "shard:string to:string", mockPair("mockSameMachineId"),
			"Gives the second shard the machine id of the first; the balancer's next round fails and mends it."},
		{"stepDown", "", mockSends("mockStepDown"),
			"Gives the config server another primary, and with it a new balancer."},
		{"fill", "ns:string options:object", mockSends("mockFill"),
			"Lays virtual data over a collection's chunks: {bytes: \"10GB\", docs, distribution: \"even\" | \"skewed\" | " +
				"{shard: share}}."},
		{"save", "file:string", mockSends("mockSave"),
			"Writes the whole cluster to a file, for mock.load() and --snapshot."},
		{"load", "file:string", mockSends("mockLoad"), "Replaces the whole cluster by the one in a file."},
		{"invariants", "", mockSends("mockInvariants"), "Checks that nothing is lost, doubled or left uncovered."},
	}
}

// run sends one of the mock's commands. A server that does not know it is real.
func (m *mockControl) run(c *call, name string, value any, options goja.Value) bson.Raw {
	body := bson.D{{Key: name, Value: value}}
	if options != nil {
		body = c.JS.Merge(body, options)
	}
	reply, err := m.s.gateway.Send(m.s.requireDB().sibling("admin").Request(body))
	if server.CodeOf(err) == server.CommandNotFound {
		m.s.JS.ThrowCoded(script.InvalidInput, script.CodeInvalidOperation,
			"mock.%s works on the mock cluster only (this is a real server)", mockMethodOf(name))
	}
	if err != nil {
		m.s.gateway.Throw(err)
	}
	return reply
}

// mockMethodOf returns the method that a command belongs to: crash of
// mockCrash.
func mockMethodOf(command string) string {
	name := []byte(command[len("mock"):])
	name[0] |= 'a' - 'A'
	return string(name)
}

// subject returns the first argument, or 1 when there is none.
func (c *call) subject() any {
	if !c.Has(0) {
		return int32(1)
	}
	return c.JS.Value(c.Arg(0))
}

// mockSends sends the first argument as the command's value and the second,
// if any, as its options.
func mockSends(name string) func(*call, *mockControl) goja.Value {
	return func(c *call, m *mockControl) goja.Value {
		return c.s.display.Reply(m.run(c, name, c.subject(), c.Arg(1)))
	}
}

// mockPair sends one argument as it is and two as an array.
func mockPair(name string) func(*call, *mockControl) goja.Value {
	return func(c *call, m *mockControl) goja.Value {
		value := c.subject()
		if c.Has(1) {
			value = bson.A{value, c.JS.Value(c.Arg(1))}
		}
		return c.s.display.Reply(m.run(c, name, value, nil))
	}
}

// mockDate returns the time that a command answers with.
func mockDate(name string) func(*call, *mockControl) goja.Value {
	return func(c *call, m *mockControl) goja.Value {
		return script.Property(c.JS.World.DocToJS(m.run(c, name, c.subject(), nil)), "now")
	}
}
