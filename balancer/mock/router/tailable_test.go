package router_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

func newCapped(t *testing.T) *tester {
	t.Helper()
	x := newRecordedState(t)
	x.ok("doc1", d("create", "log", "capped", true, "size", 4096, "max", 3))
	x.ok("doc1", d("insert", "log", "documents", bson.A{d("_id", 1)}))
	return x
}

func (x *tester) open(command bson.D) int64 {
	x.t.Helper()
	return x.ok("doc1", command).Lookup("cursor", "id").AsInt64()
}

// next reads a cursor of doc1.log on.
func (x *tester) next(id int64, more ...any) (ids []any, left int64) {
	x.t.Helper()
	reply := x.ok("doc1", append(d("getMore", id, "collection", "log"), d(more...)...))
	values, _ := reply.Lookup("cursor", "nextBatch").Array().Values()
	for _, v := range values {
		var id any
		if err := v.Document().Lookup("_id").Unmarshal(&id); err != nil {
			x.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids, reply.Lookup("cursor", "id").AsInt64()
}

func TestTailableCursorsStayOpen(t *testing.T) {
	x := newCapped(t)
	id := x.open(d("find", "log", "tailable", true, "filter", d("_id", d("$ne", 2))))
	if id == 0 {
		t.Fatal("the cursor is closed")
	}
	if got, left := x.next(id); len(got) != 0 || left != id {
		t.Errorf("at the end: %v, cursor %d", got, left)
	}
	x.ok("doc1", d("insert", "log", "documents", bson.A{d("_id", 2), d("_id", 3)}))
	if got, left := x.next(id); !same(got, 3) || left != id {
		t.Errorf("after two inserts: %v, cursor %d", got, left)
	}
	limited := x.open(d("find", "log", "tailable", true, "limit", 4))
	x.ok("doc1", d("insert", "log", "documents", bson.A{d("_id", 4), d("_id", 5)}))
	if got, left := x.next(limited); !same(got, 4) || left != 0 {
		t.Errorf("a limit of one more: %v, cursor %d", got, left)
	}
}

func TestTailableCursorsThatEnd(t *testing.T) {
	x := newCapped(t)
	id := x.open(d("find", "log", "tailable", true))
	more := d("getMore", id, "collection", "log")
	for i := range 5 {
		x.ok("doc1", d("insert", "log", "documents", bson.A{d("_id", 10+i)}))
	}
	if code := x.code("doc1", more); code != 136 {
		t.Errorf("documents were dropped before they were read: code %d, want 136", code)
	}
	if code := x.code("doc1", more); code != 43 {
		t.Errorf("after that: code %d, want 43", code)
	}
	id = x.open(d("find", "log", "tailable", true))
	x.ok("doc1", d("drop", "log"))
	if code := x.code("doc1", d("getMore", id, "collection", "log")); code != 175 {
		t.Errorf("the collection was dropped: code %d, want 175", code)
	}
	x.ok("doc1", d("create", "empty", "capped", true, "size", 4096))
	if id := x.open(d("find", "empty", "tailable", true)); id != 0 {
		t.Error("a cursor of an empty collection is open")
	}
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("find", "c", "tailable", true), 2},
		{d("find", "log", "awaitData", true), 9},
		{d("find", "log", "tailable", true, "singleBatch", true), 2},
		{d("find", "log", "tailable", true, "sort", d("_id", 1)), 2},
		{d("getMore", x.open(d("find", "c", "batchSize", 1)), "collection", "c", "maxTimeMS", 5), 2},
	} {
		if code := x.code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
}

// On virtual time a wait for data jumps to its end: nobody can write meanwhile.
func TestAwaitDataOnVirtualTime(t *testing.T) {
	x := newCapped(t)
	id := x.open(d("find", "log", "tailable", true, "awaitData", true))
	for _, tt := range []struct {
		more []any
		want time.Duration
	}{{nil, time.Second}, {[]any{"maxTimeMS", 250}, 250 * time.Millisecond}} {
		before := x.cluster.Clock().Now()
		if got, left := x.next(id, tt.more...); len(got) != 0 || left != id {
			t.Errorf("%v: %v, cursor %d", tt.more, got, left)
		}
		if took := x.cluster.Clock().Now().Sub(before).Round(10 * time.Millisecond); took != tt.want {
			t.Errorf("%v: waited %v, want %v", tt.more, took, tt.want)
		}
	}
}

func TestAwaitDataOnRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := mock.New(mock.Config{RealTime: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := &tester{t: t, router: router.New(c, nil), cluster: c}
		x.ok("doc1", d("create", "log", "capped", true, "size", 4096))
		x.ok("doc1", d("insert", "log", "documents", bson.A{d("_id", 1)}))
		id := x.open(d("find", "log", "tailable", true, "awaitData", true))
		inserted := make(chan bson.Raw)
		go func() {
			time.Sleep(2 * time.Second)
			inserted <- x.run("doc1", d("insert", "log", "documents", bson.A{d("_id", 2)}))
		}()
		start := time.Now()
		got, left := x.next(id, "maxTimeMS", 5000)
		if took := time.Since(start).Round(100 * time.Millisecond); !same(got, 2) || left != id || took != 2*time.Second {
			t.Errorf("%v, cursor %d after %v", got, left, took)
		}
		if reply := <-inserted; reply.Lookup("n").AsInt64() != 1 {
			t.Errorf("the insert: %s", reply)
		}
		start = time.Now()
		if got, _ := x.next(id, "maxTimeMS", 300); len(got) != 0 || time.Since(start) != 300*time.Millisecond {
			t.Errorf("%v after %v", got, time.Since(start))
		}
	})
}

// An empty first batch says nothing about the end.
func TestFirstBatchOfNone(t *testing.T) {
	x := newRecordedState(t)
	for name, command := range map[string]bson.D{
		"find":            d("find", "c", "batchSize", 0),
		"find of nothing": d("find", "c", "batchSize", 0, "filter", d("k", "none")),
		"aggregate":       d("aggregate", "c", "pipeline", bson.A{}, "cursor", d("batchSize", 0)),
	} {
		if id := x.open(command); id == 0 {
			t.Errorf("%s: no cursor", name)
		}
	}
	if id := x.open(d("find", "c", "batchSize", 3, "singleBatch", true)); id != 0 {
		t.Error("a single batch has a cursor")
	}
}

func TestCursorsWithoutTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := mock.New(mock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := &tester{t: t, router: router.New(c, nil, router.WithIdleCursors(time.Minute)), cluster: c}
		x.ok("doc1", d("insert", "log", "documents", bson.A{d("_id", 1), d("_id", 2)}))
		id := x.open(d("find", "log", "batchSize", 1, "noCursorTimeout", true))
		time.Sleep(time.Hour)
		x.open(d("find", "log", "batchSize", 1)) // the time to look for idle ones
		if got, _ := x.next(id); !same(got, 2) {
			t.Errorf("%v", got)
		}
	})
}
