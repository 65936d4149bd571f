package reads_test

import (
	"maps"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// A donor keeps a range that it gave away while a cursor is open that was opened before, and deletes it when the
// cursor has ended, in whatever way; cursors that are opened later, on other shards or of other collections
// don't count (rules/02-migration-and-metadata §5.6).
func TestRangesAreDeletedAfterCursors(t *testing.T) {
	start := func() *tester {
		x := routertest.New(t, mock.Config{Parameters: map[string]any{"orphanCleanupDelaySecs": 0}})
		x.OK("admin", d("balancerStop", 1))
		x.OK("admin", d("enableSharding", "app", "primaryShard", "shard0"))
		for _, name := range []string{"c", "other"} {
			x.OK("admin", d("shardCollection", "app."+name, "key", d("k", 1)))
			docs := bson.A{}
			for k := range 10 {
				docs = append(docs, d("_id", k, "k", k))
			}
			x.OK("app", d("insert", name, "documents", docs))
		}
		x.OK("admin", d("split", "app.c", "middle", d("k", 5)))
		return x
	}
	open := func(x *tester, name string, filter bson.D) int64 {
		id, _ := x.OK("app", d("find", name, "filter", filter, "batchSize", 2)).Lookup("cursor", "id").AsInt64OK()
		if id == 0 {
			t.Fatal("no cursor is open")
		}
		return id
	}
	move := func(x *tester) {
		x.OK("admin", d("moveRange", "app.c", "min", d("k", 5), "toShard", "shard1"))
		x.Sleep(time.Minute)
	}
	pending := func(x *tester) int { return x.Cluster.Statistics().RangeDeletionCount("shard0") }
	for name, end := range map[string]func(x *tester, id int64){
		"killCursors": func(x *tester, id int64) { x.OK("app", d("killCursors", "c", "cursors", bson.A{id})) },
		"the end of it": func(x *tester, id int64) {
			x.OK("app", d("getMore", id, "collection", "c", "batchSize", 100))
		},
		"the end of what it reads": func(x *tester, _ int64) { x.OK("app", d("drop", "c")) },
	} {
		x := start()
		id := open(x, "c", d())
		move(x)
		if name != "the end of what it reads" && pending(x) != 1 {
			t.Errorf("%s: %d ranges wait for the cursor, want 1", name, pending(x))
		}
		if n := x.OK("app", d("count", "c")).Lookup("n").AsInt64(); n < 10 {
			t.Errorf("%s: %d documents", name, n)
		}
		later := open(x, "c", d("k", d("$lt", 5)))
		end(x, id)
		x.Sleep(time.Minute)
		if pending(x) != 0 && name != "the end of what it reads" {
			t.Errorf("%s: the range is still there", name)
		}
		x.Run("app", d("killCursors", "c", "cursors", bson.A{later}))
	}
	for name, idle := range map[string]struct {
		read, timeout bool
		want          int
	}{
		"left alone": {false, true, 0}, "read meanwhile": {true, true, 1}, "without a time-out": {false, false, 1},
	} {
		x := start()
		id := x.OK("app", d("find", "c", "batchSize", 2, "noCursorTimeout", !idle.timeout)).Lookup("cursor", "id").AsInt64()
		move(x)
		x.Sleep(7 * time.Minute)
		if idle.read {
			x.OK("app", d("getMore", id, "collection", "c", "batchSize", 1))
		}
		x.Sleep(7 * time.Minute)
		if pending(x) != idle.want {
			t.Errorf("a cursor, %s: %d ranges wait, want %d", name, pending(x), idle.want)
		}
	}
	for name, before := range map[string]func(x *tester){
		"of another collection": func(x *tester) { open(x, "other", d()) },
		"none":                  func(*tester) {},
		"all in one batch": func(x *tester) {
			x.OK("app", d("find", "c", "batchSize", 100))
		},
	} {
		x := start()
		before(x)
		move(x)
		if pending(x) != 0 {
			t.Errorf("a cursor, %s: the range waits", name)
		}
	}
}

// A move that waits for its deletion waits for cursors, and ends when they do.
func TestMovesWaitForCursorsToDelete(t *testing.T) {
	x := routertest.New(t, mock.Config{Parameters: map[string]any{"orphanCleanupDelaySecs": 0}})
	x.OK("admin", d("balancerStop", 1))
	x.OK("admin", d("enableSharding", "app", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "app.c", "key", d("k", 1)))
	x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 1, "k", 1), d("_id", 2, "k", 2), d("_id", 3, "k", 3)}))
	x.OK("admin", d("split", "app.c", "middle", d("k", 3)))
	id := x.OK("app", d("find", "c", "batchSize", 1)).Lookup("cursor", "id").AsInt64()
	if code := x.Code("admin", d("moveRange", "app.c", "min", d("k", 3), "toShard", "shard1", "waitForDelete", true,
		"maxTimeMS", 60_000)); code != 50 {
		t.Errorf("the move ended with code %d, want 50", code)
	}
	x.OK("app", d("killCursors", "c", "cursors", bson.A{id}))
	x.Sleep(time.Minute)
	if n := x.Cluster.Statistics().RangeDeletionCount("shard0"); n != 0 {
		t.Errorf("%d ranges are left", n)
	}
}

// Range deletions wait for no cursor on a secondary. One that began before the range was given away goes on
// without its documents up to 8.1, and is killed from 8.2 on, unless a parameter says otherwise; one that began
// later has nothing of the range to lose.
func TestRangeDeletionsAndReadsOfSecondaries(t *testing.T) {
	off := map[string]any{"terminateSecondaryReadsOnOrphanCleanup": false}
	for _, tt := range []struct {
		name        string
		release     catalog.Release
		fcv         string
		parameters  map[string]any
		flaws       mock.ServerBugs
		early, late int
		code        int // of early, with which it ends
	}{
		{"8.0", catalog.Release80, "", nil, mock.ServerBugs{}, 5, 10, 0},
		{"8.0, mended", catalog.Release80, "", nil, mock.ServerBugs{FixSecondaryReads: true}, 0, 10, 175},
		{"8.2", catalog.Release82, "", nil, mock.ServerBugs{}, 0, 10, 175},
		{"8.2 with the compatibility version 8.0", catalog.Release82, "8.0", nil, mock.ServerBugs{}, 5, 10, 0},
		{"8.2, switched off", catalog.Release82, "", off, mock.ServerBugs{}, 5, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parameters := map[string]any{"orphanCleanupDelaySecs": 30}
			maps.Copy(parameters, tt.parameters)
			x := routertest.New(t, mock.Config{Release: tt.release, FCV: tt.fcv, Parameters: parameters, ServerBugs: tt.flaws})
			x.OK("admin", d("balancerStop", 1))
			x.OK("admin", d("enableSharding", "app", "primaryShard", "shard0"))
			x.OK("admin", d("shardCollection", "app.c", "key", d("k", 1)))
			docs := bson.A{}
			for k := range 10 {
				docs = append(docs, d("_id", k, "k", k))
			}
			x.OK("app", d("insert", "c", "documents", docs))
			x.OK("admin", d("split", "app.c", "middle", d("k", 5)))
			open := func() int64 {
				// The projection leaves the key out: what is lost goes by the whole documents.
				find := d("find", "c", "sort", d("k", 1), "projection", d("_id", 1), "batchSize", 0,
					"$readPreference", d("mode", "secondaryPreferred"))
				return x.OK("app", find).Lookup("cursor", "id").AsInt64()
			}
			read := func(id int64) (n, code int) {
				reply := x.Run("app", d("getMore", id, "collection", "c", "batchSize", 100))
				batch, _ := reply.Lookup("cursor", "nextBatch").ArrayOK()
				values, _ := batch.Values()
				got, _ := reply.Lookup("code").AsInt64OK()
				return len(values), int(got)
			}
			early := open()
			x.OK("admin", d("moveRange", "app.c", "min", d("k", 5), "toShard", "shard1"))
			late := open()
			x.Sleep(time.Minute)
			if n := x.Cluster.Statistics().RangeDeletionCount("shard0"); n != 0 {
				t.Errorf("%d ranges wait for a cursor on a secondary", n)
			}
			if n, code := read(early); n != tt.early || code != tt.code {
				t.Errorf("the early one: %d documents and code %d, want %d and %d", n, code, tt.early, tt.code)
			}
			if n, code := read(late); n != tt.late || code != 0 {
				t.Errorf("the late one: %d documents and code %d, want %d", n, code, tt.late)
			}
		})
	}
}
