package mock_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A shard that a resharding is about to fill has something to lose: its removal
// is not completed before the resharding has ended and the balancer has emptied
// the shard again.
func TestAShardThatAReshardingWillFillIsNotRemoved(t *testing.T) {
	for name, command := range map[string]bson.D{
		"reshardCollection": d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 3,
			"shardDistribution", bson.A{d("shard", "shard3"), d("shard", "shard1")}),
		"moveCollection":    d("moveCollection", "db.plain", "toShard", "shard3"),
		"unshardCollection": d("unshardCollection", ns, "toShard", "shard3"),
	} {
		t.Run(name, func(t *testing.T) {
			m := orders(t)
			m.ok(t, "admin", d("addShard", "rs3/127.0.0.1:27021", "name", "shard3"))
			m.ok(t, "admin", d("balancerStop", 1))
			m.refused(t, "admin", append(command, bson.E{Key: "maxTimeMS", Value: 1}), 50)
			m.ok(t, "admin", d("removeShard", "shard3"))
			reply := m.ok(t, "admin", d("removeShard", "shard3"))
			if state := reply.Lookup("state").StringValue(); state != "ongoing" {
				t.Errorf("the removal is %s while the operation will use the shard: %s", state, reply)
			}
			if n, _ := reply.Lookup("remaining", "chunks").AsInt64OK(); n < 1 {
				t.Errorf("what the operation will place counts as nothing: %s", reply)
			}
			m.sleep(time.Minute)
			m.holdsAll(t, 122)
			m.ok(t, "admin", d("balancerStart", 1))
			if name != "reshardCollection" { // what is not sharded is moved by hand
				m.ok(t, "admin", d("moveCollection", unshardedBy(command), "toShard", "shard1"))
			}
			m.sleep(time.Hour)
			reply = m.ok(t, "admin", d("removeShard", "shard3"))
			if state := reply.Lookup("state").StringValue(); state != "completed" {
				t.Errorf("the shard is empty and its removal is %s: %s", state, reply)
			}
			m.holdsAll(t, 122)
		})
	}
}

// unshardedBy is the collection that a command leaves whole on one shard.
func unshardedBy(command bson.D) any { return command[0].Value }

// holdsAll demands that all documents of orders are there and nothing is broken.
func (m *model) holdsAll(t *testing.T, want int64) {
	t.Helper()
	if n := m.documents(t, "c") + m.documents(t, "plain"); n != want {
		t.Errorf("%d documents, want %d", n, want)
	}
	m.holds(t)
}

// A shard can be taken out of the catalog by hand, too: the commit looks.
func TestAReshardingDoesNotCommitToAShardThatIsGone(t *testing.T) {
	m := orders(t)
	m.refused(t, "admin", d("moveCollection", "db.plain", "toShard", "shard2", "maxTimeMS", 1), 50)
	m.refused(t, "admin", d("unshardCollection", ns, "toShard", "shard2", "maxTimeMS", 1), 50)
	m.cluster.LoseShard("shard2")
	m.sleep(time.Minute)
	if n := m.documents(t, "plain"); n != 2 {
		t.Errorf("%d documents, want 2", n)
	}
	m.ok(t, "admin", d("moveCollection", "db.plain", "toShard", "shard1"))
}

// A shard that was removed and another one that has its name now are not the
// same: what was copied to the first is not on the second.
func TestAMigrationDoesNotCommitToAnotherShardOfThatName(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("balancerStop", 1))
	m.ok(t, "admin", d("addShard", "rs3/127.0.0.1:27021", "name", "shard3"))
	m.refused(t, "admin", d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", "shard3",
		"maxTimeMS", 120), 50)
	m.ok(t, "admin", d("removeShard", "shard3"))
	if reply := m.ok(t, "admin", d("removeShard", "shard3")); reply.Lookup("state").StringValue() != "completed" {
		t.Fatalf("the removal is not completed: %s", reply)
	}
	m.ok(t, "admin", d("addShard", "rs9/127.0.0.1:27031", "name", "shard3"))
	m.sleep(time.Minute)
	m.holdsAll(t, 122)
}

// Zones of a collection that is not sharded are for a key to come, whether the
// catalog tracks the collection or not.
func TestZonesOfATrackedCollectionAreForAKeyToCome(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("moveCollection", "db.plain", "toShard", "shard1"))
	m.ok(t, "admin", d("addShardToZone", "shard0", "zone", "Z"))
	m.ok(t, "admin", d("updateZoneKeyRange", "db.plain", "min", d("x", 1), "max", d("x", 9), "zone", "Z"))
	m.holdsAll(t, 122)
}
