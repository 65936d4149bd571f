package router_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// tester sends commands straight to a router.
type tester struct {
	t       *testing.T
	router  *router.Router
	cluster *mock.Cluster
}

// newTester is a router in front of a new cluster, at noon of 2026-01-01.
func newTester(t *testing.T, cfg mock.Config) *tester {
	t.Helper()
	cfg.Start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &tester{t: t, router: router.New(c, nil), cluster: c}
}

// described is newTester with a topology as its file has it.
func described(t *testing.T, topology string) *tester {
	t.Helper()
	parsed, err := mock.ParseTopology([]byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	return newTester(t, mock.Config{Topology: parsed})
}

// run sends a command and gives the reply.
func (x *tester) run(db string, command bson.D) bson.Raw {
	x.t.Helper()
	body, err := bson.Marshal(command)
	if err != nil {
		x.t.Fatal(err)
	}
	return x.router.Handle(context.Background(), wire.Request{
		Database: db, Command: command[0].Key, Body: body, Client: &wire.Client{ID: 1, Remote: "test:1"},
	})
}

// ok sends a command that must succeed.
func (x *tester) ok(db string, command bson.D) bson.Raw {
	x.t.Helper()
	reply := x.run(db, command)
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n != 1 {
		x.t.Fatalf("%v answered %s", command, reply)
	}
	if errs := reply.Lookup("writeErrors"); !errs.IsZero() {
		x.t.Fatalf("%v answered %s", command, reply)
	}
	return reply
}

// code sends a command that must fail, and gives its code; 0 without one.
func (x *tester) code(db string, command bson.D) int {
	x.t.Helper()
	reply := x.run(db, command)
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n == 1 {
		x.t.Fatalf("%v succeeded: %s", command, reply)
	}
	n, _ := reply.Lookup("code").AsInt64OK()
	return int(n)
}

func (x *tester) sleep(d time.Duration) {
	x.t.Helper()
	if err := x.cluster.Clock().Sleep(context.Background(), d); err != nil {
		x.t.Fatal(err)
	}
}

func d(pairs ...any) bson.D {
	doc := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		doc = append(doc, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return doc
}
