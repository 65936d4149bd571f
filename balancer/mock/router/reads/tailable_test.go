package reads_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

func newCapped(t *testing.T) *tester {
	t.Helper()
	x := routertest.NewRecordedState(t)
	x.OK("doc1", d("create", "log", "capped", true, "size", 4096, "max", 3))
	x.OK("doc1", d("insert", "log", "documents", bson.A{d("_id", 1)}))
	return x
}

func openCursor(x *tester, command bson.D) int64 {
	x.T.Helper()
	return x.OK("doc1", command).Lookup("cursor", "id").AsInt64()
}

// nextBatch reads a cursor of doc1.log on.
func nextBatch(x *tester, id int64, more ...any) (ids []any, left int64) {
	x.T.Helper()
	reply := x.OK("doc1", append(d("getMore", id, "collection", "log"), d(more...)...))
	values, _ := reply.Lookup("cursor", "nextBatch").Array().Values()
	for _, v := range values {
		var id any
		if err := v.Document().Lookup("_id").Unmarshal(&id); err != nil {
			x.T.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids, reply.Lookup("cursor", "id").AsInt64()
}

func TestTailableCursorsStayOpen(t *testing.T) {
	x := newCapped(t)
	id := openCursor(x, d("find", "log", "tailable", true, "filter", d("_id", d("$ne", 2))))
	if id == 0 {
		t.Fatal("the cursor is closed")
	}
	if got, left := nextBatch(x, id); len(got) != 0 || left != id {
		t.Errorf("at the end: %v, cursor %d", got, left)
	}
	x.OK("doc1", d("insert", "log", "documents", bson.A{d("_id", 2), d("_id", 3)}))
	if got, left := nextBatch(x, id); !routertest.Same(got, 3) || left != id {
		t.Errorf("after two inserts: %v, cursor %d", got, left)
	}
	limited := openCursor(x, d("find", "log", "tailable", true, "limit", 4))
	x.OK("doc1", d("insert", "log", "documents", bson.A{d("_id", 4), d("_id", 5)}))
	if got, left := nextBatch(x, limited); !routertest.Same(got, 4) || left != 0 {
		t.Errorf("a limit of one more: %v, cursor %d", got, left)
	}
}

func TestTailableCursorsThatEnd(t *testing.T) {
	x := newCapped(t)
	id := openCursor(x, d("find", "log", "tailable", true))
	more := d("getMore", id, "collection", "log")
	for i := range 5 {
		x.OK("doc1", d("insert", "log", "documents", bson.A{d("_id", 10+i)}))
	}
	if code := x.Code("doc1", more); code != 136 {
		t.Errorf("documents were dropped before they were read: code %d, want 136", code)
	}
	if code := x.Code("doc1", more); code != 43 {
		t.Errorf("after that: code %d, want 43", code)
	}
	id = openCursor(x, d("find", "log", "tailable", true))
	x.OK("doc1", d("drop", "log"))
	if code := x.Code("doc1", d("getMore", id, "collection", "log")); code != 175 {
		t.Errorf("the collection was dropped: code %d, want 175", code)
	}
	x.OK("doc1", d("create", "empty", "capped", true, "size", 4096))
	if id := openCursor(x, d("find", "empty", "tailable", true)); id != 0 {
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
		{d("getMore", openCursor(x, d("find", "c", "batchSize", 1)), "collection", "c", "maxTimeMS", 5), 2},
	} {
		if code := x.Code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
}

// On virtual time a wait for data jumps to its end: nobody can write meanwhile.
func TestAwaitDataOnVirtualTime(t *testing.T) {
	x := newCapped(t)
	id := openCursor(x, d("find", "log", "tailable", true, "awaitData", true))
	for _, tt := range []struct {
		more []any
		want time.Duration
	}{{nil, time.Second}, {[]any{"maxTimeMS", 250}, 250 * time.Millisecond}} {
		before := x.Cluster.Clock().Now()
		if got, left := nextBatch(x, id, tt.more...); len(got) != 0 || left != id {
			t.Errorf("%v: %v, cursor %d", tt.more, got, left)
		}
		if took := x.Cluster.Clock().Now().Sub(before).Round(10 * time.Millisecond); took != tt.want {
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
		x := &tester{T: t, Router: router.New(c, nil), Cluster: c}
		x.OK("doc1", d("create", "log", "capped", true, "size", 4096))
		x.OK("doc1", d("insert", "log", "documents", bson.A{d("_id", 1)}))
		id := openCursor(x, d("find", "log", "tailable", true, "awaitData", true))
		inserted := make(chan bson.Raw)
		go func() {
			time.Sleep(2 * time.Second)
			inserted <- x.Run("doc1", d("insert", "log", "documents", bson.A{d("_id", 2)}))
		}()
		start := time.Now()
		got, left := nextBatch(x, id, "maxTimeMS", 5000)
		if took := time.Since(start).Round(100 * time.Millisecond); !routertest.Same(got, 2) || left != id || took != 2*time.Second {
			t.Errorf("%v, cursor %d after %v", got, left, took)
		}
		if reply := <-inserted; reply.Lookup("n").AsInt64() != 1 {
			t.Errorf("the insert: %s", reply)
		}
		start = time.Now()
		if got, _ := nextBatch(x, id, "maxTimeMS", 300); len(got) != 0 || time.Since(start) != 300*time.Millisecond {
			t.Errorf("%v after %v", got, time.Since(start))
		}
	})
}

// An empty first batch says nothing about the end.
func TestFirstBatchOfNone(t *testing.T) {
	x := routertest.NewRecordedState(t)
	for name, command := range map[string]bson.D{
		"find":            d("find", "c", "batchSize", 0),
		"find of nothing": d("find", "c", "batchSize", 0, "filter", d("k", "none")),
		"aggregate":       d("aggregate", "c", "pipeline", bson.A{}, "cursor", d("batchSize", 0)),
	} {
		if id := openCursor(x, command); id == 0 {
			t.Errorf("%s: no cursor", name)
		}
	}
	if id := openCursor(x, d("find", "c", "batchSize", 3, "singleBatch", true)); id != 0 {
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
		x := &tester{T: t, Router: router.New(c, nil, router.WithCursorTimeout(time.Minute)), Cluster: c}
		x.OK("doc1", d("insert", "log", "documents", bson.A{d("_id", 1), d("_id", 2)}))
		id := openCursor(x, d("find", "log", "batchSize", 1, "noCursorTimeout", true))
		time.Sleep(time.Hour)
		openCursor(x, d("find", "log", "batchSize", 1)) // the time to look for idle ones
		if got, _ := nextBatch(x, id); !routertest.Same(got, 2) {
			t.Errorf("%v", got)
		}
	})
}
