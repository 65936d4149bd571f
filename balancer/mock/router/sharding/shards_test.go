package sharding_test

import (
	"testing"
	"time"

	"shardsh/balancer/mock/router/routertest"
)

// E91 to E93: a shard is removed in steps.
func TestE91RemoveShard(t *testing.T) {
	x := routertest.NewS0(t)
	remove := d("removeShard", "shardC")
	reply := x.OK("admin", remove)
	if reply.Lookup("state").StringValue() != "started" || reply.Lookup("dbsToMove", "0").StringValue() != "logs" || reply.Lookup("shard").StringValue() != "shardC" {
		t.Errorf("first call: %s", reply)
	}
	reply = x.OK("admin", remove)
	remaining := reply.Lookup("remaining").Document()
	if reply.Lookup("state").StringValue() != "ongoing" || remaining.Lookup("chunks").Int64() != 1 || remaining.Lookup("dbs").Int64() != 1 || remaining.Lookup("jumboChunks").Int64() != 0 {
		t.Errorf("second call: %s", reply)
	}
	if code := x.Code("admin", d("moveChunk", "shop.orders", "find", d("a", 10), "to", "shardC")); code != 70 {
		t.Errorf("moving to a draining shard: code %d", code)
	}
	x.OK("admin", d("movePrimary", "logs", "to", "shardA"))
	x.OK("admin", d("balancerStart", 1))
	x.Sleep(time.Minute)
	reply = x.OK("admin", remove)
	if reply.Lookup("state").StringValue() != "completed" {
		t.Errorf("last call: %s", reply)
	}
	if code := x.Code("admin", remove); code != 70 {
		t.Errorf("again: code %d", code)
	}
	if n := x.OK("config", d("count", "shards")).Lookup("n").Int32(); n != 2 {
		t.Errorf("%d shards are left", n)
	}
	// The former shard still holds a collection of a database there is.
	if code := x.Code("admin", d("addShard", "rsC/c1:27018")); code != 96 {
		t.Errorf("adding it again: code %d", code)
	}
	x.OK("admin", d("movePrimary", "logs", "to", "shardB"))
	x.Sleep(time.Hour)
	x.Cluster.Lock()
	defer x.Cluster.Unlock()
	if err := x.Cluster.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// Addresses that are in the cluster already (the servers' addshard tests).
func TestAddingWhatIsThere(t *testing.T) {
	x := routertest.NewS0(t)
	for address, code := range map[string]int32{
		"rsA/a1:27018":      0,
		"rsA/a2:27018":      0,
		"a1:27018":          20, // its set is not named
		"other/a1:27018":    20,
		"rsA/new:27018":     20,
		"cfg/mock:27019":    96,
		"mock:27019":        96,
		"fresh/fresh:27018": 0,
	} {
		if got, _ := x.Run("admin", d("addShard", address)).Lookup("code").Int32OK(); got != code {
			t.Errorf("adding %s: code %d, want %d", address, got, code)
		}
	}
	const own = "Cannot add mock:27019 as a shard since it is a config server"
	if text, _ := x.Run("admin", d("addShard", "mock:27019")).Lookup("errmsg").StringValueOK(); text != own {
		t.Errorf("got %q, want %q", text, own)
	}
}
