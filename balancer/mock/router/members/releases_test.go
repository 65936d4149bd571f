package members_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// What a shard's own port answers by release: what changes collections is refused on all, and 9.0
// no longer knows the flag for the balancing of unsharded collections.
func TestMembersByRelease(t *testing.T) {
	for _, version := range []string{"8.0.10", "8.0.20", "8.1", "8.2.5", "8.2.6", "8.3", "9.0"} {
		release, err := catalog.ParseRelease(version)
		if err != nil {
			t.Fatal(err)
		}
		topology, err := mock.ParseTopology([]byte(routertest.StateS0))
		if err != nil {
			t.Fatal(err)
		}
		x := routertest.New(t, mock.Config{Topology: topology, Release: release})
		shard := &tester{T: t, Router: router.Member{Shard: "shardA", Set: "rsA", Address: "127.0.0.1:27018"}.NewNode(x.Router), Cluster: x.Cluster}
		for _, ddl := range []bson.D{
			d("create", "fresh"),
			d("drop", "orders"),
			d("dropDatabase", 1),
			d("collMod", "orders", "validator", d()),
			d("createIndexes", "orders", "indexes", bson.A{d("key", d("z", 1), "name", "z")}),
			d("dropIndexes", "orders", "index", "z"),
		} {
			if code := shard.Code("shop", ddl); code != 13 {
				t.Errorf("%s: %v on a shard answers %d", version, ddl, code)
			}
		}
		if code := shard.Code("admin", d("renameCollection", "shop.users", "to", "shop.people")); code != 13 {
			t.Errorf("%s: renameCollection on a shard answers %d", version, code)
		}
		flag := shard.Run("admin", d("getParameter", 1, "featureFlagBalanceUnshardedCollections", 1))
		on, known := flag.Lookup("featureFlagBalanceUnshardedCollections", "value").BooleanOK()
		if code, _ := flag.Lookup("code").AsInt64OK(); on || known == (version == "9.0") || known == (code == 72) {
			t.Errorf("%s: the flag for unsharded collections answers %s", version, flag)
		}
	}
}

// Counters of serverStatus on a shard, by the release that has them (manual, serverStatus; the fields of
// critical sections are those of the server's sharding_statistics.h).
func TestCountersByRelease(t *testing.T) {
	section := d("activeWaitersCount", int64(0), "activeCatchupCount", int64(0), "activeCommitCount", int64(0), "totalTimeWaiting", int64(0),
		"totalTimeActiveCatchupMillis", int64(0), "totalTimeActiveCommitMillis", int64(0))
	want, err := bson.Marshal(section)
	if err != nil {
		t.Fatal(err)
	}
	for version, has := range map[string]struct{ sections, killed bool }{
		"8.0.20": {false, false}, "8.1": {false, false}, "8.2.5": {false, true}, "8.3": {true, true}, "9.0": {true, true},
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
		shard := &tester{T: t, Router: router.Member{Shard: "shardA", Set: "rsA", Address: "127.0.0.1:27018"}.NewNode(x.Router), Cluster: x.Cluster}
		status := shard.OK("admin", d("serverStatus", 1))
		for _, name := range []string{"databaseCriticalSectionStatistics", "collectionCriticalSectionStatistics"} {
			got, there := status.Lookup("shardingStatistics", name).DocumentOK()
			if there != has.sections || there && got.String() != bson.Raw(want).String() {
				t.Errorf("%s: %s is %s", version, name, got)
			}
		}
		n, there := status.Lookup("metrics", "operation", "killedDueToRangeDeletion").Int64OK()
		if there != has.killed || n != 0 {
			t.Errorf("%s: killed by range deletions: %d, %t", version, n, there)
		}
	}
}
