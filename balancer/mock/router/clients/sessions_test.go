package clients_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

func TestWhatCommandsSayOfTheirSession(t *testing.T) {
	x := routertest.NewS0(t)
	find := func(more ...any) bson.D { return append(d("find", "orders"), d(more...)...) }
	insert := func(more ...any) bson.D {
		return append(d("insert", "s", "documents", bson.A{d("x", 1)}), d(more...)...)
	}
	uuid := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}
	for _, tt := range []struct {
		name    string
		command bson.D
		code    int
	}{
		{"not an object", find("lsid", "me"), 14},
		{"without an id", find("lsid", d()), 40414},
		{"the id is not bytes", find("lsid", d("id", 1)), 14},
		{"the id is not a UUID", find("lsid", d("id", bson.Binary{Data: make([]byte, 16)})), 14},
		{"the id is too short", find("lsid", d("id", bson.Binary{Subtype: 4, Data: make([]byte, 15)})), 207},
		{"an unknown field", find("lsid", d("id", uuid, "x", 1)), 40415},
		{"another user's digest", find("lsid", d("id", uuid, "uid", bson.Binary{Data: make([]byte, 32)})), 13},
		{"a transaction number without a session", insert("txnNumber", int64(1)), 72},
		{"a transaction number below zero", insert("txnNumber", int64(-1), "lsid", routertest.LSID(1)), 72},
		{"a transaction number of another type", insert("txnNumber", 1, "lsid", routertest.LSID(1)), 14},
		{"a read is not a retryable write", find("txnNumber", int64(1), "lsid", routertest.LSID(1)), 50768},
		{"startTransaction alone", insert("startTransaction", true, "txnNumber", int64(1), "lsid", routertest.LSID(1)), 72},
		{"autocommit true", insert("autocommit", true, "txnNumber", int64(1), "lsid", routertest.LSID(1)), 72},
		{"a transaction", insert("autocommit", false, "startTransaction", true, "txnNumber", int64(1), "lsid", routertest.LSID(1)), 263},
		{"a transaction's read", find("autocommit", false, "startTransaction", true, "txnNumber", int64(1), "lsid", routertest.LSID(1)), 263},
		{"gossip of another type", find("$clusterTime", 1), 14},
		{"gossip", find("$clusterTime", d("clusterTime", bson.Timestamp{T: 1}, "signature", d("hash", bson.Binary{Data: make([]byte, 20)}, "keyId", int64(0)))), 0},
		{"the only API version", find("apiVersion", "1", "apiStrict", true), 0},
		{"another API version", find("apiVersion", "2"), 322},
		{"strict without a version", find("apiStrict", true), 4886600},
		{"a version that is a number", find("apiVersion", 1), 14},
		{"strictness that is a number", find("apiVersion", "1", "apiStrict", 1), 14},
		{"a stage outside the stable API", d("aggregate", 1, "pipeline", bson.A{d("$currentOp", d())}, "cursor", d(), "apiVersion", "1", "apiStrict", true), 323},
		{"stages of the stable API", d("aggregate", "orders", "pipeline", bson.A{d("$match", d())}, "cursor", d(), "apiVersion", "1", "apiStrict", true), 0},
		{"not in the stable API", d("distinct", "orders", "key", "a", "apiVersion", "1", "apiStrict", true), 323},
		{"a write concern of no kind", insert("writeConcern", d("w", true)), 9},
		{"a write concern for too many", insert("writeConcern", d("w", 51)), 9},
		{"an unknown part of a write concern", insert("writeConcern", d("x", 1)), 40415},
		{"a write concern", insert("writeConcern", d("w", "majority", "j", true, "wtimeout", 1000)), 0},
	} {
		code, _ := x.Run("shop", tt.command).Lookup("code").AsInt64OK()
		if int(code) != tt.code {
			t.Errorf("%s: code %d, want %d", tt.name, code, tt.code)
		}
	}
}

// Of two wrong fields the same one is named each time.
func TestWrongFieldsOfTheAPI(t *testing.T) {
	x := routertest.NewS0(t)
	for range 20 {
		reply := x.Run("shop", d("find", "orders", "apiVersion", "1", "apiDeprecationErrors", 1, "apiStrict", 1))
		const want = "BSON field 'APIParametersFromClient.apiStrict' is the wrong type 'int', expected type 'bool'"
		if got, _ := reply.Lookup("errmsg").StringValueOK(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

func TestSessionsAreListedUntilTheyEnd(t *testing.T) {
	x := routertest.NewS0(t)
	list := func() int {
		reply := x.OK("admin", d("aggregate", 1, "pipeline", bson.A{d("$listLocalSessions", d())}, "cursor", d()))
		values, err := reply.Lookup("cursor", "firstBatch").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		return len(values)
	}
	if n := list(); n != 0 {
		t.Fatalf("%d sessions at the start", n)
	}
	started := x.OK("admin", d("startSession", 1)).Lookup("id")
	x.OK("shop", d("find", "orders", "lsid", routertest.LSID(1)))
	x.OK("shop", d("refreshSessions", bson.A{routertest.LSID(2), routertest.LSID(3)}))
	if n := list(); n != 4 {
		t.Errorf("%d sessions, want 4", n)
	}
	x.OK("admin", d("endSessions", bson.A{routertest.LSID(1), started}))
	if n := list(); n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
	x.OK("admin", d("killSessions", bson.A{routertest.LSID(2)}))
	if n := list(); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	x.OK("admin", d("killAllSessions", bson.A{}))
	if n := list(); n != 0 {
		t.Errorf("%d sessions, want none", n)
	}
	if code := x.Code("admin", d("endSessions", bson.A{d("id", 1)})); code != 14 {
		t.Errorf("endSessions of something else: code %d", code)
	}
	if code := x.Code("admin", d("endSessions", 1)); code != 14 {
		t.Errorf("endSessions of a number: code %d", code)
	}
}

// The results of retryable writes, which are on disk, end with their sessions.
func TestKilledSessionsStayAway(t *testing.T) {
	cfg := mock.Config{DBPath: t.TempDir()}
	t.Run("before a restart", func(t *testing.T) {
		x := routertest.New(t, cfg)
		for i, kill := range []bson.D{
			d("killSessions", bson.A{routertest.LSID(1)}), d("killSessions", bson.A{}), d("killAllSessions", bson.A{}),
		} {
			x.OK("shop", d("insert", "s", "documents", bson.A{d("_id", i)}, "lsid", routertest.LSID(1), "txnNumber", int64(i)))
			x.OK("admin", kill)
		}
		x.OK("shop", d("count", "s"))
	})
	t.Run("after it", func(t *testing.T) {
		x := routertest.New(t, cfg)
		reply := x.OK("admin", d("aggregate", 1, "pipeline", bson.A{d("$listLocalSessions", d())}, "cursor", d()))
		if left := reply.Lookup("cursor", "firstBatch").Array(); len(left) > 5 {
			t.Errorf("sessions %s", left)
		}
	})
}

func TestCursorsBelongToTheirSession(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "few", "documents", bson.A{d("_id", 1), d("_id", 2), d("_id", 3)}))
	open := func(session ...any) int64 {
		return x.OK("shop", append(d("find", "few", "batchSize", 1), d(session...)...)).Lookup("cursor", "id").Int64()
	}
	read := func(id int64, session ...any) int {
		code, _ := x.Run("shop", append(d("getMore", id, "collection", "few", "batchSize", 1), d(session...)...)).Lookup("code").AsInt64OK()
		return int(code)
	}
	mine, nobodys := open("lsid", routertest.LSID(1)), open()
	for _, tt := range []struct {
		name    string
		id      int64
		session []any
		code    int
	}{
		{"without the session", mine, nil, 50800},
		{"in another", mine, []any{"lsid", routertest.LSID(2)}, 50801},
		{"in its own", mine, []any{"lsid", routertest.LSID(1)}, 0},
		{"one without, in a session", nobodys, []any{"lsid", routertest.LSID(1)}, 50799},
		{"one without", nobodys, nil, 0},
	} {
		if code := read(tt.id, tt.session...); code != tt.code {
			t.Errorf("%s: code %d, want %d", tt.name, code, tt.code)
		}
	}
	x.OK("admin", d("killSessions", bson.A{routertest.LSID(1)}))
	if code := read(mine, "lsid", routertest.LSID(1)); code != 43 {
		t.Errorf("a cursor of a killed session: code %d", code)
	}
}
