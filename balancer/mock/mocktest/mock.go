package mocktest

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// Mock controls the faults and the time of a cluster made by Start. A node is a shard id, "config" or
// "router". An error fails the test. docs/mock.md describes each fault.
type Mock struct {
	t       testing.TB
	handler wire.Handler
	client  *wire.ClientConn
	routers []string
}

// Routers returns the connection strings of all routers. The first one is the result of Start.
func (m *Mock) Routers() []string { return slices.Clone(m.routers) }

// Crash stops a node until Restart.
func (m *Mock) Crash(node string) { m.t.Helper(); m.Command("mockCrash", node) }

// Restart restarts a crashed node.
func (m *Mock) Restart(node string) { m.t.Helper(); m.Command("mockRestart", node) }

// Partition cuts the network between two nodes.
func (m *Mock) Partition(a, b string) { m.t.Helper(); m.Command("mockPartition", bson.A{a, b}) }

// Heal ends all faults except crashes.
func (m *Mock) Heal() { m.t.Helper(); m.Command("mockHeal", 1) }

// Slow adds a latency to each round trip to a node. A latency of 0 removes it.
func (m *Mock) Slow(node string, latency time.Duration) {
	m.t.Helper()
	var how []bson.E
	if latency > 0 {
		how = append(how, bson.E{Key: "latency", Value: latency.String()})
	}
	m.Command("mockSlow", node, how...)
}

// Failure describes how commands fail.
type Failure struct {
	// After is the number of commands that succeed first, Times the number of commands that fail then; 0
	// counts as 1.
	After, Times int
	// Code is the server's error code; 0 stands for HostUnreachable (6).
	Code int
	// CloseConnection closes the connection without an answer.
	CloseConnection bool
}

// FailNext makes the next commands of a name fail.
func (m *Mock) FailNext(command string, f Failure) {
	m.t.Helper()
	how := []bson.E{{Key: "after", Value: f.After}, {Key: "times", Value: max(f.Times, 1)}}
	if f.Code != 0 {
		how = append(how, bson.E{Key: "code", Value: f.Code})
	}
	if f.CloseConnection {
		how = append(how, bson.E{Key: "closeConnection", Value: true})
	}
	m.Command("mockFailNext", command, how...)
}

// StepDown makes another member the primary of the config server.
func (m *Mock) StepDown() { m.t.Helper(); m.Command("mockStepDown", 1) }

// Advance moves virtual time forward and runs the events due by then.
func (m *Mock) Advance(d time.Duration) { m.t.Helper(); m.Command("mockAdvance", d.Milliseconds()) }

// Fill adds virtual documents of the given total size to a sharded collection.
func (m *Mock) Fill(namespace string, bytes int64) {
	m.t.Helper()
	m.Command("mockFill", namespace, bson.E{Key: "bytes", Value: bytes})
}

// Save writes the whole cluster with its documents to a file for WithSnapshot.
func (m *Mock) Save(path string) { m.t.Helper(); m.Command("mockSave", path) }

// Broken returns the violated invariants: chunks have no gaps, each document is visible exactly once. It
// is empty if the cluster is intact.
func (m *Mock) Broken() (broken []string) {
	m.t.Helper()
	var reply struct {
		Broken []string `bson:"broken"`
	}
	if err := bson.Unmarshal(m.Command("mockInvariants", 1), &reply); err != nil {
		m.t.Fatal(err)
	}
	return reply.Broken
}

// Command sends a command directly to the cluster's admin database and returns the reply. It is for
// commands without a method of Mock.
func (m *Mock) Command(name string, value any, more ...bson.E) bson.Raw {
	m.t.Helper()
	if m.handler == nil {
		m.t.Fatal("mocktest: give the Mock to Start with WithMock")
	}
	command := append(bson.D{{Key: name, Value: value}}, more...)
	body, err := bson.Marshal(append(command, bson.E{Key: "$db", Value: "admin"}))
	if err != nil {
		m.t.Fatalf("%s: %v", name, err)
	}
	reply := m.handler.Handle(context.Background(),
		wire.Request{Database: "admin", Command: name, Body: body, Client: m.client})
	if ok, isNumber := reply.Lookup("ok").AsFloat64OK(); !isNumber || ok != 1 {
		m.t.Fatalf("%s: %s", name, reply)
	}
	return reply
}
