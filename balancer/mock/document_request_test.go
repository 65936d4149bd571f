package mock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

// A command knows what came of its own questions only, whatever other commands
// ran while it waited.
func TestRequestsDoNotMix(t *testing.T) {
	for name, realTime := range map[string]bool{"virtual": false, "real": true} {
		t.Run(name, func(t *testing.T) {
			m := newCluster(t, topologyOf(t, 2, 4, "1MB", 100), mock.Config{RealTime: realTime})
			c := m.cluster
			c.Lock()
			defer c.Unlock()
			if err := c.Faults().FailNext(mock.Failure{Command: "find", Shard: "s00", Times: 1,
				Code: mongoerr.HostNotFound}); err != nil {
				t.Fatal(err)
			}
			first, _ := c.BeginRequest("find")
			if err := first.Contact("big.data", nil); !mongoerr.Is(err, mongoerr.HostNotFound) {
				t.Fatalf("the first find: %v", err)
			}
			ended := false
			other := func() {
				second, _ := c.BeginRequest("find")
				if reads, err := second.CaptureReads("big.data", nil); err != nil || len(reads) != second.ShardsReached() {
					t.Errorf("the second find: %d reads, %d reached, %v", len(reads), second.ShardsReached(), err)
				}
				ended = true
			}
			beside(t, c, realTime, other)
			if err := c.ClockUnderLock().Await(t.Context(), time.Time{}, func() bool { return ended }); err != nil {
				t.Fatal(err)
			}
			if err := first.Contact("big.data", nil); !mongoerr.Is(err, mongoerr.HostNotFound) || first.ShardsReached() != 0 {
				t.Errorf("after the other command the first one has %v and reached %d shards", err, first.ShardsReached())
			}
		})
	}
}

// beside runs a command while the caller, who holds the lock, waits.
func beside(t *testing.T, c *mock.Cluster, realTime bool, command func()) {
	if !realTime {
		command()
		return
	}
	go func() {
		c.Lock()
		defer c.Unlock()
		command()
		if err := c.Faults().Heal("router"); err != nil { // whoever waits looks again
			t.Error(err)
		}
	}()
}

// What a command reached is its own number, and begins with none.
func TestReachedIsTheRequestsOwn(t *testing.T) {
	m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"settings":{"balancer":{"mode":"off"}},
		"collections":[{"ns":"big.data","key":{"k":1},"chunks":[{"shard":"a"},{"min":{"k":5},"shard":"b"}]}]}`, mock.Config{})
	m.cluster.Lock()
	defer m.cluster.Unlock()
	find, _ := m.cluster.BeginRequest("find")
	if _, err := find.CaptureReads("big.data", nil); err != nil {
		t.Fatal(err)
	}
	insert, _ := m.cluster.BeginRequest("insert")
	before := insert.ShardsReached()
	doc, err := bson.Marshal(d("_id", 1, "k", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := insert.Insert("big.data", doc); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(before, insert.ShardsReached(), find.ShardsReached()); got != "0 1 2" {
		t.Errorf("reached %s shards, want 0 1 2", got)
	}
}

// What others do between two documents of one insert, who have the lock then, counts
// for the second.
func TestInsertSeesWhatOthersDo(t *testing.T) {
	tests := map[string]struct {
		between        func(c *mock.Cluster, ns string) error
		code           mongoerr.Code // of the second document
		plain, sharded string        // where documents are then, and how many
	}{
		"nothing": {between: func(*mock.Cluster, string) error { return nil }, plain: "a 2", sharded: "a 2"},
		"drop": {between: func(c *mock.Cluster, ns string) error {
			if !c.Collections().Drop(ns) {
				return errors.New("nothing to drop")
			}
			return nil
		}, plain: "a 1", sharded: "a 1"},
		"movePrimary": {between: func(c *mock.Cluster, _ string) error { return c.Databases().MovePrimary("app", "b") },
			plain: "b 2", sharded: "a 2"},
		"view": {between: func(c *mock.Cluster, ns string) error {
			c.Collections().Drop(ns)
			return c.BackgroundRequest().CreateView(ns, "app", mock.View{ViewOn: "other"})
		}, code: mongoerr.CommandNotSupportedOnView},
		"crash": {between: func(c *mock.Cluster, _ string) error { return c.Faults().Crash("a") },
			code: mongoerr.HostUnreachable},
		"failed": {between: failInserts, code: mongoerr.HostNotFound},
	}
	for name, tt := range tests {
		for ns, want := range map[string]string{"app.plain": tt.plain, "app.sharded": tt.sharded} {
			t.Run(name+" "+ns, func(t *testing.T) {
				c := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"databases":[{"name":"app","primary":"a"}],
					"collections":[{"ns":"app.sharded","key":{"_id":1},"chunks":[{"shard":"a"}]}],
					"settings":{"balancer":{"mode":"off"}}}`, mock.Config{}).cluster
				c.Lock()
				defer c.Unlock()
				insert, _ := c.BeginRequest("insert")
				if err := insert.Insert(ns, raw(t, d("_id", 1))); err != nil {
					t.Fatal(err)
				}
				err := c.ClockUnderLock().WithoutLock(func() error {
					c.Lock()
					defer c.Unlock()
					return tt.between(c, ns)
				})
				if err != nil {
					t.Fatal(err)
				}
				err = insert.Insert(ns, raw(t, d("_id", 2)))
				if want == "" {
					if !mongoerr.Is(err, tt.code) {
						t.Errorf("the second document: %v, want code %d", err, tt.code)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				find := c.BackgroundRequest()
				reads, err := find.CaptureReads(ns, nil)
				if err != nil || len(reads) != 1 {
					t.Fatalf("%d reads, %v", len(reads), err)
				}
				if got := fmt.Sprint(reads[0].Shard, " ", find.CountOn(reads[0], ns)); got != want {
					t.Errorf("shard and documents %s, want %s", got, want)
				}
			})
		}
	}
}

// A view that is made while the validator looks at a document refuses it, and the next one.
func TestInsertSeesAViewMadeMeanwhile(t *testing.T) {
	const ns = "app.plain"
	c := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"databases":[{"name":"app","primary":"a"}],
		"settings":{"balancer":{"mode":"off"}}}`, mock.Config{}).cluster
	c.Lock()
	defer c.Unlock()
	if err := c.BackgroundRequest().CreateCollection(ns, bson.D{{Key: "validator", Value: raw(t, d("a", 1))}}); err != nil {
		t.Fatal(err)
	}
	insert, _ := c.BeginRequest("insert")
	makeView := sync.OnceValue(func() error {
		c.Lock()
		defer c.Unlock()
		c.Collections().Drop(ns)
		return c.BackgroundRequest().CreateView(ns, "app", mock.View{ViewOn: "other"})
	})
	insert.SetContext(t.Context(), time.Time{}, func(compute func(context.Context) error) error {
		return c.ClockUnderLock().WithoutLock(func() error { return errors.Join(compute(t.Context()), makeView()) })
	})
	for i := range 3 {
		if err := insert.Insert(ns, raw(t, d("_id", i, "a", 1))); !mongoerr.Is(err, mongoerr.CommandNotSupportedOnView) {
			t.Errorf("document %d: %v, want code %d", i, err, mongoerr.CommandNotSupportedOnView)
		}
	}
}

// failInserts lets one shard refuse inserts that come to it from now on.
func failInserts(c *mock.Cluster, _ string) error {
	return c.Faults().FailNext(mock.Failure{Command: "insert", Shard: "a", Times: 1, Code: mongoerr.HostNotFound})
}
