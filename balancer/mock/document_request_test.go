package mock_test

import (
	"fmt"
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
			if err := first.Ask("big.data", nil); !mongoerr.Is(err, mongoerr.HostNotFound) {
				t.Fatalf("the first find: %v", err)
			}
			ended := false
			other := func() {
				second, _ := c.BeginRequest("find")
				if reads, err := second.Reads("big.data", nil); err != nil || len(reads) != second.Reached() {
					t.Errorf("the second find: %d reads, %d reached, %v", len(reads), second.Reached(), err)
				}
				ended = true
			}
			beside(t, c, realTime, other)
			if err := c.Await(t.Context(), time.Time{}, func() bool { return ended }); err != nil {
				t.Fatal(err)
			}
			if err := first.Ask("big.data", nil); !mongoerr.Is(err, mongoerr.HostNotFound) || first.Reached() != 0 {
				t.Errorf("after the other command the first one has %v and reached %d shards", err, first.Reached())
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
	if _, err := find.Reads("big.data", nil); err != nil {
		t.Fatal(err)
	}
	insert, _ := m.cluster.BeginRequest("insert")
	before := insert.Reached()
	doc, err := bson.Marshal(d("_id", 1, "k", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := insert.Insert("big.data", doc); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(before, insert.Reached(), find.Reached()); got != "0 1 2" {
		t.Errorf("reached %s shards, want 0 1 2", got)
	}
}
