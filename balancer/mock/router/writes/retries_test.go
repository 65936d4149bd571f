package writes_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// retryable adds what makes a write retryable.
func retryable(command bson.D, txn int64, more ...any) bson.D {
	return append(append(command, d("lsid", routertest.LSID(1), "txnNumber", txn)...), d(more...)...)
}

func counter(x *tester, id int) int32 {
	x.T.Helper()
	reply := x.OK("shop", d("find", "counters", "filter", d("_id", id)))
	n, _ := reply.Lookup("cursor", "firstBatch", "0", "n").Int32OK()
	return n
}

// A write that comes again takes effect once and is answered as the first time.
func TestRetriedWrites(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "counters", "documents", bson.A{d("_id", 1, "n", 0), d("_id", 2, "n", 0), d("_id", 3, "n", 0)}))
	up := func(id int) bson.D { return d("q", d("_id", id), "u", d("$inc", d("n", 1))) }
	for i, command := range []bson.D{
		d("insert", "counters", "documents", bson.A{d("_id", 10), d("_id", 11)}),
		d("update", "counters", "updates", bson.A{up(1), up(2)}),
		d("update", "counters", "updates", bson.A{d("q", d("_id", 20), "u", d("$inc", d("n", 1)), "upsert", true)}),
		d("delete", "counters", "deletes", bson.A{d("q", d("_id", 3), "limit", 1)}),
		d("findAndModify", "counters", "query", d("_id", 1), "update", d("$inc", d("n", 1)), "new", true),
		d("findAndModify", "counters", "query", d("_id", 2), "remove", true),
	} {
		first := x.OK("shop", retryable(command, int64(i+1)))
		again := x.OK("shop", retryable(command, int64(i+1)))
		for _, name := range []string{"n", "nModified", "upserted", "lastErrorObject", "value"} {
			if a, b := first.Lookup(name), again.Lookup(name); !a.Equal(b) {
				t.Errorf("%v: %s was %s and is %s", command, name, a, b)
			}
		}
		retried := again.Lookup("retriedStmtIds")
		if command[0].Key == "findAndModify" {
			retried = again.Lookup("retriedStmtId")
		}
		if retried.IsZero() || !first.Lookup("retriedStmtIds").IsZero() || !first.Lookup("retriedStmtId").IsZero() {
			t.Errorf("%v: retried statements are not told apart: %s, then %s", command, first, again)
		}
	}
	if n := counter(x, 1); n != 2 {
		t.Errorf("counter 1 is %d, want 2: one update and one findAndModify", n)
	}
}

// Of a batch only the statements that had not been done are done.
func TestRetriedPartOfABatch(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "counters", "documents", bson.A{d("_id", 1, "n", 0), d("_id", 2, "n", 0)}))
	up := func(id int) bson.D { return d("q", d("_id", id), "u", d("$inc", d("n", 1))) }
	x.OK("shop", retryable(d("update", "counters", "updates", bson.A{up(1)}), 1, "stmtIds", bson.A{int32(7)}))
	reply := x.OK("shop", retryable(d("update", "counters", "updates", bson.A{up(1), up(2)}), 1, "stmtIds", bson.A{int32(7), int32(8)}))
	if n := reply.Lookup("n").Int32(); n != 2 {
		t.Errorf("n is %d, want 2", n)
	}
	ids, _ := reply.Lookup("retriedStmtIds").Array().Values()
	if len(ids) != 1 || ids[0].Int32() != 7 {
		t.Errorf("retried %v, want 7", ids)
	}
	if a, b := counter(x, 1), counter(x, 2); a != 1 || b != 1 {
		t.Errorf("counters are %d and %d, want 1 and 1", a, b)
	}
}

// What changed nothing, or failed, is tried again.
func TestRetriedFailures(t *testing.T) {
	x := routertest.NewS0(t)
	update := d("update", "counters", "updates", bson.A{d("q", d("_id", 1), "u", d("$inc", d("n", 1)))})
	x.OK("shop", retryable(update, 1))
	x.OK("shop", d("insert", "counters", "documents", bson.A{d("_id", 1, "n", 0)}))
	if reply := x.OK("shop", retryable(update, 1)); reply.Lookup("n").Int32() != 1 {
		t.Errorf("the retry found nothing: %s", reply)
	}
	duplicate := retryable(d("insert", "counters", "documents", bson.A{d("_id", 1)}), 2)
	for range 2 {
		if code := x.Run("shop", duplicate).Lookup("writeErrors", "0", "code").Int32(); code != 11000 {
			t.Errorf("code %d, want 11000", code)
		}
	}
}

func TestRetriesThatAreRefused(t *testing.T) {
	x := routertest.NewS0(t)
	insert := func(id int) bson.D { return d("insert", "counters", "documents", bson.A{d("_id", id)}) }
	x.OK("shop", retryable(insert(1), 5))
	if code := x.Code("shop", retryable(insert(2), 4)); code != 225 {
		t.Errorf("an older write: code %d, want 225", code)
	}
	if code := x.Code("shop", retryable(insert(2), 6, "stmtIds", bson.A{int32(1), int32(2)})); code != 16 {
		t.Errorf("too many statement ids: code %d, want 16", code)
	}
	if code := x.Code("shop", retryable(insert(2), 6, "stmtId", int32(0), "stmtIds", bson.A{int32(1)})); code != 72 {
		t.Errorf("both kinds of statement ids: code %d, want 72", code)
	}
	for name, command := range map[string]bson.D{
		"update": d("update", "counters", "updates", bson.A{d("q", d(), "u", d("$set", d("n", 1)), "multi", true)}),
		"delete": d("delete", "counters", "deletes", bson.A{d("q", d(), "limit", 0)}),
	} {
		if code := x.Run("shop", retryable(command, 7)).Lookup("writeErrors", "0", "code").Int32(); code != 72 {
			t.Errorf("%s of many: code %d, want 72", name, code)
		}
	}
	// Another session's numbers are its own.
	x.OK("shop", append(insert(3), d("lsid", routertest.LSID(2), "txnNumber", int64(1))...))
}

// Shards that get a collection again don't know what others had done of a write; one that gets a
// chunk by a migration does (resharding_retryable_writes of the servers' tests).
func TestRetriesAfterCollectionsWereRewritten(t *testing.T) {
	for name, c := range map[string]struct {
		ns   string
		move bson.D
		code int32
	}{
		"a chunk moved": {"orders", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "shardC"), 0},
		"resharded": {"orders", d("reshardCollection", "shop.orders", "key", d("b", 1), "numInitialChunks", 1,
			"forceRedistribution", true), 217},
		"moved":   {"users", d("moveCollection", "shop.users", "toShard", "shardB"), 217},
		"another": {"orders", d("moveCollection", "shop.users", "toShard", "shardB"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			x := routertest.NewS0(t)
			command := retryable(d("insert", c.ns, "documents", bson.A{d("_id", 100, "a", 5, "b", 1)}), 1)
			x.OK("shop", command)
			x.OK("admin", c.move)
			if code, _ := x.Run("shop", command).Lookup("writeErrors", "0", "code").Int32OK(); code != c.code {
				t.Errorf("code %d, want %d", code, c.code)
			}
			if n := x.OK("shop", d("count", c.ns, "query", d("_id", 100))).Lookup("n").Int32(); n != 1 {
				t.Errorf("%d documents, want 1", n)
			}
			if c.code != 0 {
				x.OK("shop", retryable(d("insert", c.ns, "documents", bson.A{d("_id", 101, "a", 5, "b", 1)}), 2))
			}
		})
	}
}
