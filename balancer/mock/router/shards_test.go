package router_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
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

func TestE92E93Refusals(t *testing.T) {
	x := newS0(t)
	if code := x.code("admin", d("removeShard", "nowhere")); code != 70 {
		t.Errorf("unknown: code %d", code)
	}
	x.ok("admin", d("updateZoneKeyRange", "shop.geo", "min", d("region", "DE"), "max", d("region", "DF"), "zone", "EU"))
	if code := x.code("admin", d("removeShard", "shardB")); code != 163 {
		t.Errorf("the last of a zone: code %d", code)
	}
	x.ok("admin", d("removeShard", "shardA"))
	x.ok("admin", d("removeShard", "shardC"))
	if code := x.code("admin", d("removeShard", "rsB/b1:27018")); code != 20 {
		t.Errorf("the last that does not drain: code %d", code)
	}
}

// E94: adding shards.
func TestE94AddShard(t *testing.T) {
	x := newS0(t)
	for _, tt := range []struct {
		command bson.D
		id      string
		code    int
	}{
		{d("addShard", "rsD/d1:27018"), "rsD", 0},
		{d("addShard", "rsD/d1:27018"), "rsD", 0},
		{d("addShard", "rsB/b1:27018"), "shardB", 0},
		{d("addShard", "rsB/b1:27018", "name", "other"), "", 20},
		{d("addShard", "rsX/b1:27018"), "", 20},
		{d("addShard", "rsE/e1:27018", "name", "shardA"), "", 20},
		{d("addShard", "rsE/e1:27018", "name", ""), "", 2},
		{d("addShard", "rsE/e1:27018", "name", 5), "", 14},
		{d("addShard", "rsE/e1:27018", "name", "config"), "", 2},
		{d("addShard", "rsE/e1:27018", "maxSize", 1), "", 72},
		{d("addShard", "e1:27018,e2:27018"), "", 9},
		{d("addShard", 5), "", 9},
		{d("addShard", "e1:27018"), "shard0000", 0},
		{d("addShard", "e2:27018"), "shard0001", 0},
	} {
		reply := x.run("admin", tt.command)
		code, _ := reply.Lookup("code").AsInt64OK()
		id, _ := reply.Lookup("shardAdded").StringValueOK()
		if int(code) != tt.code || id != tt.id {
			t.Errorf("%v answered %s", tt.command, reply)
		}
	}
	x.ok("admin", d("moveChunk", "shop.orders", "find", d("a", 10), "to", "shard0001"))
}

// E77, E78: the untracked collections move with the primary.
func TestE77MovePrimary(t *testing.T) {
	x := newS0(t)
	x.ok("admin", d("movePrimary", "shop", "to", "shardB"))
	version := x.ok("admin", d("getDatabaseVersion", "shop"))
	if version.Lookup("primaryShard").StringValue() != "shardB" || version.Lookup("dbVersion", "lastMod").Int32() != 2 {
		t.Errorf("version %s", version)
	}
	if n := x.ok("shop", d("count", "users")).Lookup("n").Int32(); n != 10 {
		t.Errorf("%d documents", n)
	}
	if shards := x.ok("shop", d("count", "users")).Lookup("shards").Document(); shards.Lookup("shardB").Int32() != 10 {
		t.Errorf("counted on %s", shards)
	}
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("movePrimary", "nope", "to", "shardB"), 26}, {d("movePrimary", "shop"), 40414}, {d("movePrimary", "shop", "to", ""), 4},
		{d("movePrimary", "shop", "to", "nowhere"), 70}, {d("movePrimary", "config", "to", "shardB"), 72},
	} {
		if code := x.code("admin", tt.command); code != tt.code {
			t.Errorf("%v: code %d", tt.command, code)
		}
	}
	x.cluster.Lock()
	defer x.cluster.Unlock()
	if err := x.cluster.Invariants(); err != nil {
		t.Error(err)
	}
}
