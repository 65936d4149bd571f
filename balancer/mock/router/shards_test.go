package router_test

import (
	"testing"
	"time"
)

// E91 to E93: a shard is removed in steps.
func TestE91RemoveShard(t *testing.T) {
	x := newS0(t)
	remove := d("removeShard", "shardC")
	reply := x.ok("admin", remove)
	if reply.Lookup("state").StringValue() != "started" || reply.Lookup("dbsToMove", "0").StringValue() != "logs" || reply.Lookup("shard").StringValue() != "shardC" {
		t.Errorf("first call: %s", reply)
	}
	reply = x.ok("admin", remove)
	remaining := reply.Lookup("remaining").Document()
	if reply.Lookup("state").StringValue() != "ongoing" || remaining.Lookup("chunks").Int64() != 1 || remaining.Lookup("dbs").Int64() != 1 || remaining.Lookup("jumboChunks").Int64() != 0 {
		t.Errorf("second call: %s", reply)
	}
	if code := x.code("admin", d("moveChunk", "shop.orders", "find", d("a", 10), "to", "shardC")); code != 70 {
		t.Errorf("moving to a draining shard: code %d", code)
	}
	x.ok("admin", d("movePrimary", "logs", "to", "shardA"))
	x.ok("admin", d("balancerStart", 1))
	x.sleep(time.Minute)
	reply = x.ok("admin", remove)
	if reply.Lookup("state").StringValue() != "completed" {
		t.Errorf("last call: %s", reply)
	}
	if code := x.code("admin", remove); code != 70 {
		t.Errorf("again: code %d", code)
	}
	if n := x.ok("config", d("count", "shards")).Lookup("n").Int32(); n != 2 {
		t.Errorf("%d shards are left", n)
	}
	// The former shard still holds a collection of a database there is.
	if code := x.code("admin", d("addShard", "rsC/c1:27018")); code != 96 {
		t.Errorf("adding it again: code %d", code)
	}
	x.ok("admin", d("movePrimary", "logs", "to", "shardB"))
	x.sleep(time.Hour)
	x.cluster.Lock()
	defer x.cluster.Unlock()
	if err := x.cluster.Invariants(); err != nil {
		t.Error(err)
	}
}
