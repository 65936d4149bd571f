// Package routertest provides tests of the router and of its command packages with a Tester, which sends
// commands, and with clusters.
package routertest

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// Tester sends commands directly to a router.
type Tester struct {
	T       *testing.T
	Router  *router.Router
	Cluster *mock.Cluster
}

// New returns a router of a new cluster. The default start time is 2026-01-01 12:00 UTC.
func New(t *testing.T, cfg mock.Config) *Tester {
	t.Helper()
	if cfg.Start.IsZero() {
		cfg.Start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	}
	c, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &Tester{T: t, Router: router.New(c, nil), Cluster: c}
}

// NewFromTopology returns a router of a cluster with the topology in the text of a topology file.
func NewFromTopology(t *testing.T, topology string) *Tester {
	t.Helper()
	parsed, err := mock.ParseTopology([]byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	return New(t, mock.Config{Topology: parsed})
}

// Run sends a command and returns the reply.
func (t *Tester) Run(db string, command bson.D) bson.Raw {
	t.T.Helper()
	body, err := bson.Marshal(command)
	if err != nil {
		t.T.Fatal(err)
	}
	return t.Router.Handle(context.Background(), wire.Request{
		Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 1, Remote: "test:1"},
	})
}

// OK sends a command that must succeed, and returns the reply.
func (t *Tester) OK(db string, command bson.D) bson.Raw {
	t.T.Helper()
	reply := t.Run(db, command)
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n != 1 {
		t.T.Fatalf("%v answered %s", command, reply)
	}
	if errs := reply.Lookup("writeErrors"); !errs.IsZero() {
		t.T.Fatalf("%v answered %s", command, reply)
	}
	return reply
}

// Code sends a command that must fail, and returns the error code, 0 if the error has none.
func (t *Tester) Code(db string, command bson.D) int {
	t.T.Helper()
	reply := t.Run(db, command)
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n == 1 {
		t.T.Fatalf("%v succeeded: %s", command, reply)
	}
	n, _ := reply.Lookup("code").AsInt64OK()
	return int(n)
}

// Sleep advances the clock of the cluster.
func (t *Tester) Sleep(d time.Duration) {
	t.T.Helper()
	if err := t.Cluster.Clock().Sleep(context.Background(), d); err != nil {
		t.T.Fatal(err)
	}
}

// D returns a document from alternating names and values.
func D(pairs ...any) bson.D {
	doc := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		doc = append(doc, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return doc
}
