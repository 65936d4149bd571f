package live_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// threeEvenChunks are n collections on all three shards, evenly.
func threeEvenChunks(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, `%s{"ns": "shop.c%03d", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}, "bytes": "90MB", "docs": 9},
			{"shard": "b", "max": {"k": 9}, "bytes": "90MB", "docs": 9}, {"shard": "c", "bytes": "90MB", "docs": 9}]}`, strings.Repeat(",", min(i, 1)), i)
	}
	return `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"stopped": true}}, "collections": [` +
		list.String() + `]}`
}

// took returns how much of a cluster's time something takes.
func (c conformance) took(work func()) time.Duration {
	now := func() time.Time {
		c.cluster.Lock()
		defer c.cluster.Unlock()
		return c.cluster.Now()
	}
	began := now()
	work()
	return now().Sub(began)
}

// A shard that is down is waited for 20 s by each command (recording 20-live, 10-shard-down):
// a look waits for it some seconds in all, and says what it could not have and why.
func TestLooksDoNotWaitForAShardThatIsDown(t *testing.T) {
	for _, parts := range []live.Part{live.DefaultPartsAndStatus | live.ExplanationData, live.BalancerParts, live.Identity | live.Shards |
		live.Collections | live.BalanceStatuses | live.Sizes | live.RunningMigrations} {
		c := served(t, catalog.Release80, threeEvenChunks(40), asItIs)
		c.ok(t, "admin", e("mockCrash", "b"))
		var seen *catalog.Snapshot
		took := c.took(func() {
			var err error
			if seen, err = live.NewReader(c.client, live.ReaderOptions{Parts: parts}).Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		if took > 10*time.Second { // virtual time adds up what waits side by side
			t.Errorf("parts %b: it took %s", parts, took)
		}
		gaps := map[string]int{}
		for _, gap := range seen.Parts().Source.Gaps {
			if !gap.Down {
				t.Errorf("%+v", gap)
			}
			gaps[gap.What]++
		}
		if gaps["sizes"] == 0 || gaps["operations"] == 0 {
			t.Errorf("parts %b: gaps are %v", parts, gaps)
		}
		if gaps["balance"] > 10 {
			t.Errorf("parts %b: %d gaps of balance", parts, gaps["balance"])
		}
	}
}

// checkMetadataConsistency waits for the lock of what is resharded or moved (recordings
// 20-live, 03 and 04).
func TestConsistencyDoesNotWaitForALock(t *testing.T) {
	c := served(t, catalog.Release80, `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": "200GB", "docs": 1000000}]}]}`, asItIs)
	moving := make(chan error, 1)
	go func() {
		moving <- c.client.Database("admin").RunCommand(t.Context(), bson.D{e("reshardCollection", "x.y"),
			e("key", bson.D{e("z", 1)}), e("numInitialChunks", 1), e("maxTimeMS", 1000)}).Err()
	}()
	if err := <-moving; err == nil || !strings.Contains(err.Error(), "time limit") {
		t.Fatal(err)
	}
	took := c.took(func() {
		_, err := live.CheckMetadataConsistency(t.Context(), live.NewCommandRunner(c.client), false)
		if err == nil || !strings.Contains(err.Error(), "it waits for the lock of x.y") {
			t.Error(err)
		}
	})
	if took > 4*time.Second {
		t.Errorf("it took %s", took)
	}
}
