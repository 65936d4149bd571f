package mock_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// tested is db.c of orders, on servers with test commands that delete orphans at once.
func tested(t *testing.T) *model {
	t.Helper()
	return orders(t, func(cfg *mock.Config) {
		cfg.Parameters["enableTestCommands"] = true
		cfg.Parameters["orphanCleanupDelaySecs"] = 0
	})
}

// pause turns a fail point on or off.
func (m *model) pause(t *testing.T, name string, mode any) {
	t.Helper()
	m.ok(t, "admin", d("configureFailPoint", name, "mode", mode))
}

// shardOf is where the chunk with a key is.
func (m *model) shardOf(t *testing.T, min bson.D) string {
	t.Helper()
	reply := m.ok(t, "config", d("find", "chunks", "filter", d("min", min)))
	shard, _ := reply.Lookup("cursor", "firstBatch", "0", "shard").StringValueOK()
	return shard
}

// A migration waits at each of the servers' fail points, and commits when the point is turned off.
func TestMigrationsHangAtFailPoints(t *testing.T) {
	for _, point := range []string{"moveChunkHangAtStep1", "moveChunkHangAtStep2", "moveChunkHangAtStep3",
		"moveChunkHangAtStep4", "migrateThreadHangAtStep3", "migrateThreadHangAtStep4", "migrateThreadHangAtStep5",
		"migrateThreadHangAtStep6"} {
		t.Run(point, func(t *testing.T) {
			m := tested(t)
			move := d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", "shard2")
			m.pause(t, point, "alwaysOn")
			m.refused(t, "admin", append(move, bson.E{Key: "maxTimeMS", Value: 60000}), 50)
			m.ok(t, "admin", d("waitForFailPoint", point, "timesEntered", 1, "maxTimeMS", 1000))
			m.refused(t, "admin", d("waitForFailPoint", point, "timesEntered", 2, "maxTimeMS", 1000), 50)
			m.sleep(time.Hour)
			if shard := m.shardOf(t, d("a", 40)); shard != "shard1" {
				t.Fatalf("the chunk is on %s", shard)
			}
			m.pause(t, point, "off")
			m.sleep(time.Minute)
			if shard := m.shardOf(t, d("a", 40)); shard != "shard2" {
				t.Errorf("the chunk is on %s", shard)
			}
			if n := m.documents(t, "c"); n != 120 {
				t.Errorf("%d documents, want 120", n)
			}
		})
	}
}

// Nothing turns a fail point off while a command waits on virtual time: it ends.
func TestNobodyWaitsForAFailPointForEver(t *testing.T) {
	m := tested(t)
	m.pause(t, "moveChunkHangAtStep4", "alwaysOn")
	m.refused(t, "admin", d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", "shard2"), 6)
}

// The other modes: so many wait, or so many go through.
func TestModesOfPauses(t *testing.T) {
	m := tested(t)
	move := func(to string) bson.D {
		return d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", to, "maxTimeMS", 10000)
	}
	m.pause(t, "moveChunkHangAtStep2", d("skip", 1))
	m.ok(t, "admin", move("shard2"))
	m.ok(t, "admin", move("shard1")) // the first of the other donor
	m.refused(t, "admin", move("shard2"), 50)
	m.pause(t, "moveChunkHangAtStep2", "off")
	m.sleep(time.Minute)
	m.pause(t, "moveChunkHangAtStep2", d("times", 1))
	m.ok(t, "admin", move("shard1"))
	if n := m.ok(t, "admin", d("configureFailPoint", "moveChunkHangAtStep2", "mode", "off")).Lookup("count").AsInt64(); n != 2 {
		t.Errorf("entered %d times, want 2", n)
	}
	m.refused(t, "admin", d("configureFailPoint", "moveChunkHangAtStep9", "mode", "off"), 2)
}

// Who waits looks again every 100 ms, and each look is one of the times: the point is over by itself.
func TestPauseForSomeTimes(t *testing.T) {
	took := func(times int) time.Duration {
		m := tested(t)
		if times > 0 {
			m.pause(t, "moveChunkHangAtStep2", d("times", times))
		}
		start := m.cluster.Now()
		m.ok(t, "admin", d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", "shard2"))
		return m.cluster.Now().Sub(start)
	}
	if got, want := took(30)-took(0), 3*time.Second; got != want {
		t.Errorf("30 times took %v, want %v", got, want)
	}
}

// With a probability some looks find it on: some moves wait, and none waits for ever.
func TestPauseWithAProbability(t *testing.T) {
	const moves = 20
	m := tested(t)
	m.pause(t, "moveChunkHangAtStep2", d("activationProbability", 0.5))
	for i := range moves {
		to := []string{"shard2", "shard1"}[i%2]
		m.ok(t, "admin", d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", to))
	}
	off := m.ok(t, "admin", d("configureFailPoint", "moveChunkHangAtStep2", "mode", "off"))
	if n := off.Lookup("count").AsInt64(); n == 0 || n >= moves {
		t.Errorf("%d of %d moves waited", n, moves)
	}
}

// A resharding waits in the state before the one that a fail point names; aborting ends the wait.
func TestReshardingsHangAtFailPoints(t *testing.T) {
	for point, state := range map[string]string{
		"reshardingPauseCoordinatorBeforeInitializing":      "",
		"reshardingPauseCoordinatorBeforeCloning":           "preparing-to-donate",
		"reshardingPauseCoordinatorInSteadyState":           "applying",
		"reshardingPauseCoordinatorBeforeBlockingWrites":    "applying",
		"reshardingPauseCoordinatorBeforeDecisionPersisted": "blocking-writes",
	} {
		for _, abort := range []bool{false, true} {
			m := tested(t)
			before := m.entry(t, ns).Lookup("uuid")
			m.pause(t, point, "alwaysOn")
			m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 3, "maxTimeMS", 60000), 50)
			if got, _ := m.entry(t, ns).Lookup("reshardingFields", "state").StringValueOK(); got != state {
				t.Errorf("%s: it waits in the state %q, want %q", point, got, state)
			}
			if abort {
				m.ok(t, "admin", d("abortReshardCollection", ns))
			}
			m.pause(t, point, "off")
			m.sleep(time.Minute)
			if same := m.entry(t, ns).Lookup("uuid").Equal(before); same != abort {
				t.Errorf("%s, aborted %t: the collection is the same: %t", point, abort, same)
			}
		}
	}
}

func TestRangeDeletionsAreSuspended(t *testing.T) {
	m := tested(t)
	m.pause(t, "suspendRangeDeletion", "alwaysOn")
	m.ok(t, "admin", d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", "shard2"))
	m.sleep(time.Hour)
	if n := m.rangeDeletions("shard1"); n != 1 {
		t.Errorf("%d range deletions, want the one that waits", n)
	}
	m.pause(t, "suspendRangeDeletion", "off")
	m.sleep(time.Minute)
	if n := m.rangeDeletions("shard1"); n != 0 {
		t.Errorf("%d range deletions, want none", n)
	}
}

func (m *model) rangeDeletions(on catalog.ShardID) int {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	return len(m.cluster.RangeDeleter().Tasks(on))
}

// Each node has its own: what is set on one leaves the others as they are.
func TestNodesHaveTheirOwnFailPoints(t *testing.T) {
	const point = "suspendRangeDeletion"
	m := tested(t)
	set := func(on catalog.ShardID, active bool) (count int64) {
		m.cluster.Lock()
		defer m.cluster.Unlock()
		return m.cluster.FailPoints().Configure(point, on, mock.FailPointMode{Active: active})
	}
	set("shard1", true)
	set("shard2", true)
	m.ok(t, "admin", d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", "shard0"))
	m.ok(t, "admin", d("moveRange", ns, "min", d("a", 80), "max", d("a", 120), "toShard", "shard0"))
	check := func(when string, one, two int) {
		t.Helper()
		m.sleep(time.Minute)
		if a, b := m.rangeDeletions("shard1"), m.rangeDeletions("shard2"); a != one || b != two {
			t.Errorf("%s: %d and %d range deletions, want %d and %d", when, a, b, one, two)
		}
	}
	check("both suspended", 1, 1)
	if n := set("shard2", false); n != 1 {
		t.Errorf("shard2's was entered %d times, want 1", n)
	}
	check("one goes on", 1, 0)
	if n := m.ok(t, "admin", d("configureFailPoint", point, "mode", "off")).Lookup("count").AsInt64(); n != 2 {
		t.Errorf("all were entered %d times, want 2", n)
	}
	check("all go on", 0, 0)
}
