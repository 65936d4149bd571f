package mocktest

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mock/workload"
)

// Mock controls the faults and the time of a cluster of Start. Nodes are shards, "config" and
// "router". An error fails the test. docs/mock.md describes each fault.
type Mock struct {
	t       testing.TB
	handler wire.Handler
	client  *wire.Client
	routers []string
}

// Routers returns the connection strings of all routers, that of Start first.
func (m *Mock) Routers() []string { return slices.Clone(m.routers) }

// Crash lets a node answer nothing until it is restarted.
func (m *Mock) Crash(node string) { m.t.Helper(); m.Command("mockCrash", node) }

// Restart brings a node back.
func (m *Mock) Restart(node string) { m.t.Helper(); m.Command("mockRestart", node) }

// Partition cuts two nodes off from each other.
func (m *Mock) Partition(a, b string) { m.t.Helper(); m.Command("mockPartition", bson.A{a, b}) }

// Heal ends every fault but crashes.
func (m *Mock) Heal() { m.t.Helper(); m.Command("mockHeal", 1) }

// Slow lets each round trip to a node take longer; with 0 it is fast again.
func (m *Mock) Slow(node string, latency time.Duration) {
	m.t.Helper()
	var how []bson.E
	if latency > 0 {
		how = append(how, bson.E{Key: "latency", Value: latency.String()})
	}
	m.Command("mockSlow", node, how...)
}

// Failure is how commands fail.
type Failure struct {
	// After commands go through first, then Times commands fail; 0 times is once.
	After, Times int
	// Code is the server's error; 0 is HostUnreachable (6).
	Code int
	// CloseConnection gives no answer at all.
	CloseConnection bool
}

// FailNext lets the next commands of a name fail.
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

// StepDown gives the config server another primary.
func (m *Mock) StepDown() { m.t.Helper(); m.Command("mockStepDown", 1) }

// Advance lets virtual time jump, and what is due happen.
func (m *Mock) Advance(d time.Duration) { m.t.Helper(); m.Command("mockAdvance", d.Milliseconds()) }

// Fill puts so many bytes of virtual documents into a sharded collection.
func (m *Mock) Fill(namespace string, bytes int64) {
	m.t.Helper()
	m.Command("mockFill", namespace, bson.E{Key: "bytes", Value: bytes})
}

// Workload has an application's operations on a sharded collection counted, and sampled
// where configureQueryAnalyzer asks for it, as virtual time passes.
func (m *Mock) Workload(s workload.Spec) {
	m.t.Helper()
	mix := bson.D{{Key: "reads", Value: s.Mix.Reads}, {Key: "inserts", Value: s.Mix.Inserts},
		{Key: "updates", Value: s.Mix.Updates}, {Key: "deletes", Value: s.Mix.Deletes}}
	m.Command("mockWorkload", s.Namespace, bson.E{Key: "rate", Value: s.Rate}, bson.E{Key: "keys", Value: s.Keys},
		bson.E{Key: "mix", Value: mix}, bson.E{Key: "moves", Value: s.Moves}, bson.E{Key: "wave", Value: s.Wave},
		bson.E{Key: "count", Value: s.Count}, bson.E{Key: "scatter", Value: s.Scatter},
		bson.E{Key: "documentBytes", Value: s.DocumentBytes})
}

// Save puts the whole cluster, with its documents, into a file for WithSnapshot.
func (m *Mock) Save(path string) { m.t.Helper(); m.Command("mockSave", path) }

// Broken returns what does not hold of what always must: chunks without gaps, each
// document visible once. It is empty on a cluster that lost nothing.
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

// Command sends a command to the cluster's admin database, past the network, and
// returns the reply. It is for what has no method here.
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
