package router_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

// rules/03-commands §1.10: what a mongos has of its own, and what it has not.
func TestParametersOfAMongos(t *testing.T) {
	x := newS0(t)
	if n := x.ok("admin", d("getParameter", 1, "cursorTimeoutMillis", 1)).Lookup("cursorTimeoutMillis").Int64(); n != 600000 {
		t.Errorf("cursorTimeoutMillis is %d", n)
	}
	reply := x.ok("admin", d("getParameter", d("showDetails", true), "quiet", 1, "noSuchThing", 1))
	if reply.Lookup("quiet", "value").Boolean() || !reply.Lookup("quiet", "settableAtRuntime").Boolean() || !reply.Lookup("noSuchThing").IsZero() {
		t.Errorf("details: %s", reply)
	}
	all := x.ok("admin", d("getParameter", "*"))
	if all.Lookup("maxSessions").Int32() != 1000000 || !all.Lookup("balancerMigrationsThrottlingMs").IsZero() {
		t.Errorf("all: %s", all)
	}
	atRuntime := x.ok("admin", d("getParameter", d("allParameters", true, "setAt", "runtime")))
	if atRuntime.Lookup("quiet").IsZero() || !atRuntime.Lookup("maxSessions").IsZero() {
		t.Errorf("of the runtime: %s", atRuntime)
	}
	if was := x.ok("admin", d("setParameter", 1, "logLevel", 2, "quiet", true)).Lookup("was").Int32(); was != 0 {
		t.Errorf("was %d", was)
	}
	if n := x.ok("admin", d("getParameter", 1, "logLevel", 1)).Lookup("logLevel").Int32(); n != 2 {
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
		{d("setParameter", 1, "cursorTimeoutMillis", -1), 2},
		{d("setParameter", 1, "readHedgingMode", "sometimes"), 2},
	} {
		if code := x.code("admin", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	if !x.ok("admin", d("getParameter", 1, "quiet", 1)).Lookup("quiet").Boolean() {
		t.Error("a refused setParameter has set something")
	}
}

// Parameters of the balancer live on the config server, and work at once.
func TestParametersOfTheConfigServer(t *testing.T) {
	x := newS0(t)
	config := &tester{t: t, router: router.Member{ID: mock.ConfigServerID, Set: "cfg", Address: "127.0.0.1:27019"}.Of(x.router), cluster: x.cluster}
	if n := config.ok("admin", d("getParameter", 1, "orphanCleanupDelaySecs", 1)).Lookup("orphanCleanupDelaySecs").Int32(); n != 900 {
		t.Errorf("orphanCleanupDelaySecs is %d", n)
	}
	if was := config.ok("admin", d("setParameter", 1, "orphanCleanupDelaySecs", 5)).Lookup("was").Int32(); was != 900 {
		t.Errorf("was %d", was)
	}
	if n := x.cluster.Parameters().Int("orphanCleanupDelaySecs"); n != 5 {
		t.Errorf("the cluster waits %d seconds", n)
	}
	if code := config.code("admin", d("setParameter", 1, "chunkMigrationConcurrency", 501)); code != 2 {
		t.Errorf("out of range: code %d", code)
	}
	if code := config.code("admin", d("setParameter", 1, "disableResumableRangeDeleter", true)); code != 20 {
		t.Errorf("at start only: code %d", code)
	}
}
