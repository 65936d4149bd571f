package servers_test

import (
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// rules/03-commands §1.10: what a mongos has of its own, and what it has not.
func TestParametersOfAMongos(t *testing.T) {
	x := routertest.NewS0(t)
	if n := x.OK("admin", d("getParameter", 1, "cursorTimeoutMillis", 1)).Lookup("cursorTimeoutMillis").Int64(); n != 600000 {
		t.Errorf("cursorTimeoutMillis is %d", n)
	}
	reply := x.OK("admin", d("getParameter", d("showDetails", true), "quiet", 1, "noSuchThing", 1))
	if reply.Lookup("quiet", "value").Boolean() || !reply.Lookup("quiet", "settableAtRuntime").Boolean() || !reply.Lookup("noSuchThing").IsZero() {
		t.Errorf("details: %s", reply)
	}
	all := x.OK("admin", d("getParameter", "*"))
	if all.Lookup("maxSessions").Int32() != 1000000 || !all.Lookup("balancerMigrationsThrottlingMs").IsZero() {
		t.Errorf("all: %s", all)
	}
	atRuntime := x.OK("admin", d("getParameter", d("allParameters", true, "setAt", "runtime")))
	if atRuntime.Lookup("quiet").IsZero() || !atRuntime.Lookup("maxSessions").IsZero() {
		t.Errorf("of the runtime: %s", atRuntime)
	}
	if was := x.OK("admin", d("setParameter", 1, "logLevel", 2, "quiet", true)).Lookup("was").Int32(); was != 0 {
		t.Errorf("was %d", was)
	}
	if n := x.OK("admin", d("getParameter", 1, "logLevel", 1)).Lookup("logLevel").Int32(); n != 2 {
		t.Errorf("logLevel is %d", n)
	}
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("getParameter", 1), 72},
		{d("getParameter", 1, "balancerMigrationsThrottlingMs", 1), 72},
		{d("getParameter", 1, "featureCompatibilityVersion", 1), 72},
		{d("getParameter", d("allParameters", true, "setAt", "never")), 2},
		{d("setParameter", 1), 72},
		{d("setParameter", 1, "orphanCleanupDelaySecs", 1), 72},
		{d("setParameter", 1, "quiet", false, "noSuchThing", 1), 72},
		{d("setParameter", 1, "maxSessions", 5), 20},
		{d("setParameter", 1, "logLevel", "much"), 2},
		{d("getParameter", d("allParametres", true)), 40415},
		{d("setParameter", 1, "cursorTimeoutMillis", -1), 2},
		{d("setParameter", 1, "readHedgingMode", "sometimes"), 2},
	} {
		if code := x.Code("admin", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	if !x.OK("admin", d("getParameter", 1, "quiet", 1)).Lookup("quiet").Boolean() {
		t.Error("a refused setParameter has set something")
	}
}

// Parameters of the balancer live on the config server, and work at once.
func TestParametersOfTheConfigServer(t *testing.T) {
	x := routertest.NewS0(t)
	config := &tester{T: t, Router: router.Member{Shard: catalog.ConfigServerID, Set: "cfg", Address: "127.0.0.1:27019"}.NewNode(x.Router), Cluster: x.Cluster}
	if n := config.OK("admin", d("getParameter", 1, "orphanCleanupDelaySecs", 1)).Lookup("orphanCleanupDelaySecs").Int32(); n != 900 {
		t.Errorf("orphanCleanupDelaySecs is %d", n)
	}
	if was := config.OK("admin", d("setParameter", 1, "orphanCleanupDelaySecs", 5)).Lookup("was").Int32(); was != 900 {
		t.Errorf("was %d", was)
	}
	if n := x.Cluster.Parameters().Int("orphanCleanupDelaySecs"); n != 5 {
		t.Errorf("the cluster waits %d seconds", n)
	}
	for _, tt := range []struct {
		name  string
		value int
		code  int32
		text  string // of servers' sources: the generated validators, and those of migrations
	}{
		{"chunkMigrationConcurrency", 501, 72, "Chunk migration concurrency level must be positive and less than 500."},
		{"chunkMigrationConcurrency", 0, 72, "Chunk migration concurrency level must be positive and less than 500."},
		{"chunkMigrationConcurrency", 500, 0, ""},
		{"chunkMigrationFetcherMaxBufferedSizeBytesPerThread", 16793599, 72,
			"Chunk migration concurrency level must be 0 (no limit) or greater than or equal to 16793600."},
		{"chunkMigrationFetcherMaxBufferedSizeBytesPerThread", 16793600, 0, ""},
		{"chunkMigrationFetcherMaxBufferedSizeBytesPerThread", 0, 0, ""},
		{"orphanCleanupDelaySecs", -1, 0, ""},
		{"rangeDeleterBatchSize", -1, 2, "Invalid value for parameter rangeDeleterBatchSize: -1 is not greater than or equal to 0"},
		{"maxCatchUpPercentageBeforeBlockingWrites", 101, 2,
			"Invalid value for parameter maxCatchUpPercentageBeforeBlockingWrites: 101 is not less than or equal to 100"},
	} {
		reply := config.Run("admin", d("setParameter", 1, tt.name, tt.value))
		code, _ := reply.Lookup("code").Int32OK()
		if text, _ := reply.Lookup("errmsg").StringValueOK(); code != tt.code || text != tt.text {
			t.Errorf("%s %d: code %d %q, want %d %q", tt.name, tt.value, code, text, tt.code, tt.text)
		}
	}
	if code := config.Code("admin", d("setParameter", 1, "disableResumableRangeDeleter", true)); code != 20 {
		t.Errorf("at start only: code %d", code)
	}
}

// The largest timeout keeps idle cursors open for ever.
func TestCursorsWithoutTimeout(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("admin", d("setParameter", 1, "cursorTimeoutMillis", int64(math.MaxInt64)))
	x.OK("shop", d("insert", "plain", "documents", bson.A{d("_id", 1), d("_id", 2)}))
	cursor := x.OK("shop", d("find", "plain", "batchSize", 1)).Lookup("cursor", "id").Int64()
	x.Sleep(24 * time.Hour)
	x.OK("shop", d("getMore", cursor, "collection", "plain"))
	if n := x.OK("admin", d("getParameter", 1, "cursorTimeoutMillis", 1)).Lookup("cursorTimeoutMillis").Int64(); n != math.MaxInt64 {
		t.Errorf("cursorTimeoutMillis is %d", n)
	}
}
