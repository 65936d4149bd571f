package sharding_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// rules/03-commands §1.5: the config server becomes a shard, and a dedicated one again.
func TestConfigShard(t *testing.T) {
	x := routertest.NewS0(t)
	to := d("transitionToDedicatedConfigServer", 1)
	if code := x.Code("admin", to); code != 70 {
		t.Errorf("not a shard: code %d", code)
	}
	x.OK("admin", d("transitionFromDedicatedConfigServer", 1))
	x.OK("admin", d("transitionFromDedicatedConfigServer", 1))
	if code := x.Code("admin", d("transitionFromDedicatedConfigServer", 1, "foo", 1)); code != 40415 {
		t.Errorf("unknown field: code %d", code)
	}
	for i := range 10 {
		x.OK("shop", d("insert", "orders", "documents", bson.A{d("_id", i, "a", i)}))
	}
	x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "config"))
	if n := x.OK("shop", d("count", "orders", "query", d("a", d("$gte", 0)))).Lookup("n").Int32(); n != 10 {
		t.Errorf("%d documents on the config shard", n)
	}
	if code := x.Code("admin", d("removeShard", "config")); code != 20 {
		t.Errorf("removeShard of it: code %d", code)
	}
	state := func() string { return x.OK("admin", to).Lookup("state").StringValue() }
	if s := state(); s != "started" {
		t.Errorf("state %q", s)
	}
	if s := state(); s != "ongoing" {
		t.Errorf("state %q", s)
	}
	x.OK("admin", d("balancerStart", 1))
	x.Sleep(time.Minute)
	reply := x.OK("admin", to)
	if reply.Lookup("state").StringValue() != "pendingDataCleanup" || reply.Lookup("pendingRangeDeletions").Int64() != 1 || reply.Lookup("firstNonEmptyCollection").StringValue() != "shop.orders" {
		t.Errorf("before the range deleter ran: %s", reply)
	}
	x.Sleep(20 * time.Minute)
	if s := state(); s != "completed" {
		t.Errorf("state %q", s)
	}
	if n := x.OK("shop", d("count", "orders", "query", d("a", d("$gte", 0)))).Lookup("n").Int32(); n != 10 {
		t.Errorf("%d documents in the end", n)
	}
	x.CheckInvariants()
}

// How long the transition takes once chunks and databases have gone: up to 8.2.6 until the ranges that
// were moved away are deleted, then no time (SERVER-103990).
func TestConfigShardByRelease(t *testing.T) {
	for version, waits := range map[string]bool{
		"8.0.10": true, "8.0.20": true, "8.1": true, "8.2.5": true, "8.2.6": true, "8.2.7": false, "8.3": false, "9.0": false,
	} {
		release, err := catalog.ParseRelease(version)
		if err != nil {
			t.Fatal(err)
		}
		topology, err := mock.ParseTopology([]byte(routertest.StateS0))
		if err != nil {
			t.Fatal(err)
		}
		x := routertest.New(t, mock.Config{Topology: topology, Release: release})
		x.OK("admin", d("transitionFromDedicatedConfigServer", 1))
		for i := range 10 {
			x.OK("shop", d("insert", "orders", "documents", bson.A{d("_id", i, "a", i)}))
		}
		x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "config"))
		to := d("transitionToDedicatedConfigServer", 1)
		x.OK("admin", to)
		x.OK("admin", d("balancerStart", 1))
		x.Sleep(time.Minute)
		want := "completed"
		if waits {
			want = "pendingDataCleanup"
		}
		if state := x.OK("admin", to).Lookup("state").StringValue(); state != want {
			t.Errorf("%s: %s, not %s", version, state, want)
		}
		x.Sleep(2 * time.Hour)
		if waits {
			if state := x.OK("admin", to).Lookup("state").StringValue(); state != "completed" {
				t.Errorf("%s: %s in the end", version, state)
			}
		}
		if n := x.OK("shop", d("count", "orders", "query", d("a", d("$gte", 0)))).Lookup("n").Int32(); n != 10 {
			t.Errorf("%s: %d documents in the end", version, n)
		}
		x.OK("admin", d("transitionFromDedicatedConfigServer", 1)) // and back, with nothing of before
		x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "config"))
		x.CheckInvariants()
	}
}

func TestDefaultConcerns(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("admin", d("getDefaultRWConcern", 1))
	if reply.Lookup("defaultWriteConcern", "w").StringValue() != "majority" || reply.Lookup("defaultReadConcernSource").StringValue() != "implicit" {
		t.Errorf("at first: %s", reply)
	}
	reply = x.OK("admin", d("setDefaultRWConcern", 1, "defaultReadConcern", d("level", "majority"), "defaultWriteConcern", d("w", 1)))
	if reply.Lookup("defaultReadConcern", "level").StringValue() != "majority" || reply.Lookup("defaultWriteConcernSource").StringValue() != "global" {
		t.Errorf("after setting: %s", reply)
	}
	if doc := x.First("config", d("find", "settings", "filter", d("_id", "ReadWriteConcernDefaults"))); doc.Lookup("defaultWriteConcern", "w").Int32() != 1 {
		t.Errorf("setting %s", doc)
	}
	x.OK("admin", d("setDefaultRWConcern", 1, "defaultReadConcern", d()))
	if source := x.OK("admin", d("getDefaultRWConcern", 1)).Lookup("defaultReadConcernSource").StringValue(); source != "implicit" {
		t.Errorf("source %q", source)
	}
	x.CheckRefusals("admin", []routertest.Refusal{
		{d("setDefaultRWConcern", 1), 2},
		{d("setDefaultRWConcern", 1, "defaultReadConcern", d("level", "snapshot")), 2},
		{d("setDefaultRWConcern", 1, "defaultWriteConcern", d("w", 0)), 2},
		{d("setDefaultRWConcern", 1, "defaultWriteConcern", d()), 20},
		{d("setDefaultRWConcern", 1, "defaultWriteConcern", 5), 14},
		{d("getDefaultRWConcern", 1, "foo", 1), 40415},
	})
}

func TestRefusalsOfAMongos(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.Run("admin", d("replSetGetStatus", 1))
	if reply.Lookup("ok").Double() != 0 || reply.Lookup("info").StringValue() != "mongos" || !reply.Lookup("code").IsZero() {
		t.Errorf("replSetGetStatus: %s", reply)
	}
	if reply := x.OK("shop", d("profile", -1)); reply.Lookup("was").Type != bson.TypeInt32 || reply.Lookup("sampleRate").Type != bson.TypeDouble {
		t.Errorf("profile: %s", reply)
	}
	x.OK("admin", d("setFeatureCompatibilityVersion", "8.0", "confirm", true))
	x.CheckRefusals("admin", []routertest.Refusal{
		{d("profile", 1), 2},
		{d("profile", "x"), 14},
		{d("setFeatureCompatibilityVersion", "8.0"), 7369100},
		{d("setFeatureCompatibilityVersion", "9", "confirm", true), 2},
		{d("setFeatureCompatibilityVersion", "7.3", "confirm", true), 238},
		{d("setFeatureCompatibilityVersion", 8, "confirm", true), 14},
		{d("splitChunk", "shop.orders"), 59},
		{d("cleanupOrphaned", "shop.orders"), 59},
		{d("shardingState", 1), 59},
		{d("_configsvrMoveRange", "shop.orders"), 59},
		{d("_flushRoutingTableCacheUpdates", "shop.orders"), 59},
		{d("checkShardingIndex", "shop.orders"), 59},
		{d("replSetGetConfig", 1), 59},
		{d("atlasVersion", 1), 59},
	})
}

// A config server that becomes a dedicated one while its donor does not know yet that a migration has committed
// waits for that; with the fault it drops the range deletion, and who waits for that waits for ever (SERVER-125663).
func TestConfigShardWithUnreadyDeletion(t *testing.T) {
	for _, flawed := range []bool{false, true} {
		topology, err := mock.ParseTopology([]byte(routertest.StateS0))
		if err != nil {
			t.Fatal(err)
		}
		x := routertest.New(t, mock.Config{
			Topology: topology, Release: catalog.Release82.WithPatch(7), ServerBugs: mock.ServerBugs{DropsUnreadyDeletions: flawed},
		})
		x.OK("admin", d("balancerStop", 1))
		x.OK("admin", d("transitionFromDedicatedConfigServer", 1))
		x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "config"))
		to := d("transitionToDedicatedConfigServer", 1)
		x.OK("admin", to)
		left := false
		x.Cluster.Migrations().Watch(func(e mock.MigrationEvent) {
			if e.Name != "committed" {
				return
			}
			r, err := x.Cluster.ShardMembership().RemoveConfigShard()
			if left = r.Completed; err != nil {
				t.Error(err)
			}
		})
		code, _ := x.Run("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "shardC", "_waitForDelete", true,
			"maxTimeMS", 60_000)).Lookup("code").AsInt64OK()
		want := map[bool]int64{true: 50}[flawed]
		if left != flawed || code != want {
			t.Errorf("flawed %v: completed %v, and the move ends with %d, want %d", flawed, left, code, want)
		}
		if flawed {
			continue
		}
		if state := x.OK("admin", to).Lookup("state").StringValue(); state != "completed" {
			t.Errorf("%s in the end", state)
		}
	}
}

// Releases before 7.0 change the feature compatibility version without a confirmation.
func TestOldReleasesNeedNoConfirmation(t *testing.T) {
	x := routertest.New(t, mock.Config{Topology: mock.DefaultTopology(2), Release: catalog.Release60})
	x.OK("admin", d("setFeatureCompatibilityVersion", "6.0"))
}

// The error has the place of the name that is not a text.
func TestNamesOfClusterParameters(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.Run("admin", d("getClusterParameter", bson.A{"defaultMaxTimeMS", 5}))
	const want = "BSON field 'getClusterParameter.getClusterParameter.1' is the wrong type 'int', expected type 'string'"
	if got, _ := reply.Lookup("errmsg").StringValueOK(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
