package call_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

func TestIdleCursorsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := mock.New(mock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := &tester{T: t, Router: router.New(c, nil, router.WithCursorTimeout(time.Minute)), Cluster: c}
		x.OK("app", d("insert", "few", "documents", bson.A{d("_id", 1), d("_id", 2), d("_id", 3)}))
		open := func() int64 {
			return x.OK("app", d("find", "few", "batchSize", 1)).Lookup("cursor", "id").Int64()
		}
		read := func(id int64) bson.D { return d("getMore", id, "collection", "few", "batchSize", 1) }
		idle, busy := open(), open()
		time.Sleep(40 * time.Second)
		x.OK("app", read(busy))
		time.Sleep(40 * time.Second)
		open() // the time to look for idle ones
		if code := x.Code("app", read(idle)); code != 43 {
			t.Errorf("an idle cursor: code %d, want 43", code)
		}
		x.OK("app", read(busy))
	})
}

// On real time idle cursors are closed though nobody opens others: a move that waits for its deletion waits
// for them.
func TestMovesWaitForIdleCursorsUntilTheirTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := mock.New(mock.Config{
			Topology: mock.DefaultTopology(2), RealTime: true, Parameters: map[string]any{"orphanCleanupDelaySecs": 0},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := &tester{T: t, Router: router.New(c, nil, router.WithCursorTimeout(time.Minute)), Cluster: c}
		x.OK("admin", d("balancerStop", 1))
		x.OK("admin", d("enableSharding", "app", "primaryShard", "shard0"))
		x.OK("admin", d("shardCollection", "app.c", "key", d("k", 1)))
		x.OK("app", d("insert", "c", "documents", bson.A{d("k", 1), d("k", 2), d("k", 3)}))
		x.OK("app", d("find", "c", "batchSize", 1))
		began := time.Now()
		x.OK("admin", d("moveRange", "app.c", "min", d("k", 0), "toShard", "shard1", "waitForDelete", true))
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("the move took %v", took)
		}
	})
}

func TestTooManyCursors(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "few", "documents", bson.A{d("_id", 1), d("_id", 2)}))
	find := d("find", "few", "batchSize", 1)
	for range 10_000 {
		x.OK("shop", find)
	}
	if code := x.Code("shop", find); code != 365 {
		t.Errorf("code %d, want 365", code)
	}
	x.OK("shop", d("find", "few")) // needs no cursor
}

// Cursors hold no more than so much: those that nobody reads go first, and one
// alone may be larger.
func TestCursorsHoldSoMuch(t *testing.T) {
	c, err := mock.New(mock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := &tester{T: t, Router: router.New(c, nil), Cluster: c}
	x.Router.Cursors.MaxBytes = 60_000
	docs := bson.A{}
	for i := range 11 {
		docs = append(docs, d("_id", i, "pad", make([]byte, 1000)))
	}
	x.OK("app", d("insert", "c", "documents", docs))
	open := func() int64 { // 11 KB are kept to be sorted
		return x.OK("app", d("find", "c", "sort", d("none", 1), "batchSize", 1)).Lookup("cursor", "id").Int64()
	}
	read := func(id int64, code int64) {
		t.Helper()
		got, _ := x.Run("app", d("getMore", id, "collection", "c", "batchSize", 1)).Lookup("code").AsInt64OK()
		if got != code {
			t.Errorf("code %d, want %d", got, code)
		}
	}
	first, second := open(), open()
	read(first, 0)
	third := open()
	read(second, 43)
	read(first, 0)
	read(third, 0)
	for range 10 {
		x.OK("app", d("killCursors", "c", "cursors", bson.A{first, third}))
		first, third = open(), open()
	}
	read(first, 0)
	big := bson.A{}
	for i := range 60 {
		big = append(big, d("_id", 100+i, "pad", make([]byte, 1000)))
	}
	x.OK("app", d("insert", "c", "documents", big))
	alone := open()
	read(alone, 0)
	read(third, 43)
}

// A pipeline that multiplies documents gives them as they are asked for; one that
// writes them must keep them, and ends before memory does.
func TestPipelinesGiveSoMuch(t *testing.T) {
	c, err := mock.New(mock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := &tester{T: t, Router: router.New(c, nil), Cluster: c}
	x.Router.Cursors.MaxBytes = 50_000
	docs := bson.A{}
	for i := range 60 {
		docs = append(docs, d("_id", i, "pad", make([]byte, 1000)))
	}
	x.OK("app", d("insert", "c", "documents", docs))
	x.OK("app", d("aggregate", "c", "pipeline", bson.A{}, "cursor", d()))
	cross := bson.A{d("$lookup", d("from", "c", "pipeline", bson.A{}, "as", "x")), d("$unwind", "$x")}
	reply := x.OK("app", d("aggregate", "c", "pipeline", cross, "cursor", d()))
	if n := len(reply.Lookup("cursor", "firstBatch").Array()); n > 300_000 || reply.Lookup("cursor", "id").Int64() == 0 {
		t.Errorf("a first batch of %d bytes, and the cursor %v", n, reply.Lookup("cursor", "id"))
	}
	if code := x.Code("app", d("aggregate", "c", "pipeline", append(cross, d("$out", "all")), "cursor", d())); code != 146 {
		t.Errorf("code %d", code)
	}
	x.OK("app", d("aggregate", "c", "pipeline", append(cross, d("$limit", 3)), "cursor", d()))
	x.OK("app", d("aggregate", "c", "pipeline", append(cross, d("$count", "n")), "cursor", d()))
}

// A batch that fails all over is answered: after a megabyte of texts the errors
// have none.
func TestManyWriteErrorsFitAReply(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	x := routertest.NewS0(t)
	long := strings.Repeat("k", 300)
	docs := make(bson.A, 100_000)
	for i := range docs {
		docs[i] = d("_id", long)
	}
	x.OK("shop", d("insert", "dup", "documents", docs[:1]))
	reply := x.Run("shop", d("insert", "dup", "documents", docs, "ordered", false))
	errs, err := reply.Lookup("writeErrors").Array().Values()
	if err != nil || len(errs) != len(docs) || len(reply) > 16<<20 {
		t.Fatalf("%d errors in %d bytes, %v", len(errs), len(reply), err)
	}
	first, last := errs[0].Document(), errs[len(errs)-1].Document()
	if first.Lookup("errmsg").StringValue() == "" || last.Lookup("errmsg").StringValue() != "" || last.Lookup("code").Int32() != 11000 {
		t.Errorf("the first error %s, the last %s", first, last)
	}
}

// A monitor that knew another process is told of this one at once.
func TestNewsOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := mock.New(mock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := &tester{T: t, Router: router.New(c, nil), Cluster: c}
		known := x.OK("admin", d("hello", 1)).Lookup("topologyVersion", "processId").ObjectID()
		for process, want := range map[bson.ObjectID]time.Duration{known: 10 * time.Second, {1}: 0} {
			start := time.Now()
			x.OK("admin", d("hello", 1, "topologyVersion", d("processId", process, "counter", int64(0)), "maxAwaitTimeMS", int64(10_000)))
			if took := time.Since(start); took != want {
				t.Errorf("process %v: answered after %v, want %v", process, took, want)
			}
		}
	})
}
