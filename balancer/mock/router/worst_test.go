package router_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// endless computes for minutes, from nothing.
func endless() bson.D {
	sum := d("$reduce", d("input", d("$range", bson.A{0, 100_000}), "initialValue", 0,
		"in", d("$add", bson.A{"$$value", "$$this"})))
	return d("$sum", d("$map", d("input", d("$range", bson.A{0, 100_000}), "as", "i", "in", d("$add", bson.A{"$$i", sum}))))
}

// endlessQuery is a query of which each document takes minutes.
func endlessQuery() bson.D { return d("$expr", d("$lt", bson.A{endless(), "$k"})) }

// worst are commands that would compute for minutes, or for long with the lock
// held, on the collection app.n.
func worst() map[string]bson.D {
	pipeline := func(stages ...any) bson.D { return d("aggregate", "n", "pipeline", bson.A(stages), "cursor", d()) }
	many := []any{d("$set", d("r", d("$range", bson.A{0, 5000}))), d("$unwind", "$r"),
		d("$set", d("x", d("$mod", bson.A{d("$multiply", bson.A{"$r", 7919, "$k"}), 1_000_003})))}
	after := func(stages ...any) bson.D { return pipeline(append(slices.Clone(many), stages...)...) }
	square := d("$lookup", d("from", "n", "let", d("k", "$k"), "as", "j", "pipeline",
		bson.A{d("$match", d("$expr", d("$gt", bson.A{d("$abs", d("$subtract", bson.A{"$k", "$$k"})), 1_000_000})))}))
	update := func(q, u any, multi bool) bson.D {
		return d("update", "n", "updates", bson.A{d("q", q, "u", u, "multi", multi)})
	}
	long := make(bson.A, 50_000)
	for i := range long {
		long[i] = i
	}
	return map[string]bson.D{
		"$reduce in $map":      pipeline(d("$project", d("x", endless()))),
		"$match":               pipeline(d("$match", endlessQuery())),
		"$lookup n*n":          pipeline(square, d("$match", d("j.k", -1))),
		"$lookup in $lookup":   pipeline(d("$lookup", d("from", "n", "pipeline", bson.A{square}, "as", "x"))),
		"$unionWith":           pipeline(d("$unionWith", d("coll", "n", "pipeline", bson.A{square})), d("$count", "c")),
		"$graphLookup":         pipeline(d("$graphLookup", d("from", "n", "startWith", "$k", "connectFromField", "next", "connectToField", "k", "as", "g")), d("$count", "n")),
		"$facet":               pipeline(d("$facet", d("a", bson.A{square, d("$count", "n")}, "b", bson.A{square, d("$count", "n")}))),
		"$group":               after(d("$group", d("_id", "$x", "n", d("$sum", 1)))),
		"$group $push":         after(d("$group", d("_id", "$k", "all", d("$push", "$x"))), d("$match", d("_id", -1))),
		"$sort":                after(d("$sort", d("x", 1))),
		"$setWindowFields":     pipeline(d("$setWindowFields", d("sortBy", d("k", 1), "output", d("w", d("$push", endless(), "window", d("documents", bson.A{-5000, 5000})))))),
		"$bucketAuto":          after(d("$bucketAuto", d("groupBy", "$x", "buckets", 100))),
		"$unwind":              after(d("$match", d("x", -1))),
		"$out":                 pipeline(d("$project", d("x", endless())), d("$out", "o")),
		"$merge let":           pipeline(d("$merge", d("into", "n", "let", d("x", endless()), "whenMatched", bson.A{d("$set", d("y", "$$x"))}))),
		"$merge pipeline":      pipeline(d("$merge", d("into", "n", "whenMatched", bson.A{d("$set", d("y", endless()))}))),
		"let":                  append(pipeline(d("$match", d("$expr", d("$eq", bson.A{"$k", "$$x"})))), d("let", d("x", endless()))...),
		"constants":            pipeline(d("$match", d("$expr", d("$eq", bson.A{1, endless()})))),
		"view":                 d("find", "v"),
		"view's count":         d("count", "v", "query", d("x", 1)),
		"find":                 d("find", "n", "filter", endlessQuery()),
		"find's projection":    d("find", "n", "projection", d("x", endless())),
		"find n*n":             d("find", "wide", "filter", d("a", d("$elemMatch", d("b", d("$elemMatch", d("$not", d("$gte", 0))))))),
		"find's regex":         d("find", "n", "filter", d("s", d("$regex", "^(a|aa)*(a|aa)*(a|aa)*(a|aa)*b"))),
		"count":                d("count", "n", "query", endlessQuery()),
		"distinct":             d("distinct", "n", "key", "k", "query", endlessQuery()),
		"update pipeline":      update(d(), bson.A{d("$set", d("x", endless()))}, true),
		"update's query":       update(endlessQuery(), d("$set", d("x", 1)), true),
		"update one":           update(endlessQuery(), d("$set", d("x", 1)), false),
		"upsert":               d("update", "none", "updates", bson.A{d("q", d("_id", 1), "u", bson.A{d("$set", d("x", endless()))}, "upsert", true)}),
		"delete":               d("delete", "n", "deletes", bson.A{d("q", endlessQuery(), "limit", 0)}),
		"findAndModify":        d("findAndModify", "n", "query", endlessQuery(), "update", d("$set", d("x", 1))),
		"findAndModify update": d("findAndModify", "n", "query", d("k", 1), "update", bson.A{d("$set", d("x", endless()))}),
		"findAndModify fields": d("findAndModify", "n", "query", d("k", 1), "update", d("$set", d("x", 1)), "fields", d("y", endless())),
		"insert, validated":    d("insert", "strict", "documents", bson.A{d("k", 1)}),
		"update, validated":    d("update", "strict", "updates", bson.A{d("q", d(), "u", d("$set", d("x", 1)))}),
		"listCollections":      d("listCollections", 1, "filter", d("$expr", d("$lt", bson.A{endless(), 1}))),
		"listDatabases":        d("listDatabases", 1, "filter", d("$expr", d("$lt", bson.A{endless(), 1}))),
		"$collStats":           d("aggregate", "n", "pipeline", bson.A{d("$collStats", d()), d("$project", d("x", endless()))}, "cursor", d()),
		"$documents":           d("aggregate", 1, "pipeline", bson.A{d("$documents", bson.A{d("x", endless())})}, "cursor", d()),
		"explain":              d("explain", d("find", "n", "filter", endlessQuery()), "verbosity", "executionStats"),
		"explain aggregate":    d("explain", d("aggregate", "n", "pipeline", bson.A{square}, "cursor", d()), "verbosity", "executionStats"),
		"explain update":       d("explain", d("update", "n", "updates", bson.A{d("q", d(), "u", bson.A{d("$set", d("x", endless()))}, "multi", true)}), "verbosity", "executionStats"),
		"long $in":             d("count", "n", "query", d("k", d("$in", long), "x", d("$nin", long))),
	}
}

// ends are commands of which it is well that they end by themselves.
var ends = []string{"long $in", "find n*n", "find's regex"}

// crowded is a cluster with what the worst commands read, and notes of how long
// its lock is held.
func crowded(t *testing.T) (x *tester, longest *atomic.Int64) {
	t.Helper()
	longest = new(atomic.Int64)
	held := func(d time.Duration) {
		if n := int64(d); n > longest.Load() {
			longest.Store(n) // the lock is held
		}
	}
	c, err := mock.New(mock.Config{Topology: mock.DefaultTopology(2), RealTime: true, OnUnlock: held})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	x = &tester{T: t, Router: router.New(c, nil), Cluster: c}
	x.OK("admin", d("shardCollection", "app.n", "key", d("k", 1)))
	docs, text := bson.A{}, strings.Repeat("a", 60)
	for i := range 4000 {
		docs = append(docs, d("_id", i, "k", i, "next", bson.A{i + 1, i + 2}, "s", text+string(rune('a'+i%20))))
	}
	x.OK("app", d("insert", "n", "documents", docs))
	inner := d("b", make([]int32, 1000))
	wide := bson.A{}
	for range 500 {
		wide = append(wide, inner)
	}
	x.OK("app", d("insert", "wide", "documents", bson.A{d("_id", 1, "a", wide), d("_id", 2, "a", wide)}))
	x.OK("app", d("insert", "strict", "documents", bson.A{d("_id", 1)}))
	x.OK("app", d("collMod", "strict", "validator", endlessQuery()))
	x.OK("app", d("create", "v", "viewOn", "n", "pipeline", bson.A{d("$set", d("x", endless()))}))
	longest.Store(0)
	return x, longest
}

// startCommand sends a command that may be given up.
func startCommand(ctx context.Context, x *tester, id int32, db string, command bson.D) <-chan bson.Raw {
	body, err := bson.Marshal(command)
	if err != nil {
		x.T.Fatal(err)
	}
	replied := make(chan bson.Raw, 1)
	go func() {
		replied <- x.Router.Handle(ctx, wire.Request{
			Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: id, Remote: "test:1"},
		})
	}()
	return replied
}

// The worst command that a client can think of holds the lock for no longer than
// others have patience, and ends when its time is up. The times here are generous:
// without the means to end, each takes minutes. A machine that is busy with
// something else has three tries.
func TestTheWorstCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("its times are those of a build without the race detector")
	}
	const limit, patience, late = 200 * time.Millisecond, 50 * time.Millisecond, 5 * time.Second
	x, longest := crowded(t)
	for name, command := range worst() {
		t.Run(name, func(t *testing.T) {
			var took, held, waited time.Duration
			for range 3 {
				longest.Store(0)
				began := time.Now()
				replied := startCommand(t.Context(), x, 7, databaseOf(name), append(slices.Clone(command),
					bson.E{Key: "maxTimeMS", Value: limit.Milliseconds()}))
				reply, waits := waitsBeside(x, replied)
				took, held, waited = time.Since(began), time.Duration(longest.Load()), waits[len(waits)*95/100]
				t.Logf("took %v; finds beside it %v (95 %%); lock held %v", took, waited, held)
				if code, _ := reply.Lookup("code").AsInt64OK(); code != 50 && !slices.Contains(ends, name) {
					t.Fatalf("answered %.300s", reply)
				}
				if held <= patience && waited <= patience && (took <= limit+late || slices.Contains(ends, name)) {
					return
				}
			}
			t.Errorf("the lock was held for %v, finds took %v, and the command %v", held, waited, took)
		})
	}
}

func databaseOf(name string) string {
	if name == "listDatabases" {
		return "admin"
	}
	return "app"
}

// waitsBeside finds one document again and again until a command replies, and tells
// how long that took each time, in order.
func waitsBeside(x *tester, replied <-chan bson.Raw) (reply bson.Raw, waits []time.Duration) {
	for reply == nil {
		at := time.Now()
		x.OK("app", d("find", "n", "filter", d("k", 17), "limit", 1, "projection", d("_id", 1)))
		waits = append(waits, time.Since(at))
		select {
		case reply = <-replied:
		case <-time.After(time.Millisecond):
		}
	}
	slices.Sort(waits)
	return reply, waits
}

// A command that computes ends when it is killed, and when its client goes.
func TestTheWorstCommandsAreEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	x, _ := crowded(t)
	gone := mongoerr.New(mongoerr.ClientDisconnect, "the client is gone")
	for name, command := range worst() {
		if slices.Contains(ends, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			db := databaseOf(name)
			for _, end := range []struct {
				by   string
				code int64
			}{{"killOp", 11601}, {"its client", 279}} {
				ctx, cancel := context.WithCancelCause(t.Context())
				replied := startCommand(ctx, x, 7, db, command)
				opid := runningCommands(x, command[0].Key)
				if end.by == "killOp" {
					x.OK("admin", d("killOp", 1, "op", opid))
				} else {
					cancel(gone)
				}
				select {
				case reply := <-replied:
					if code, _ := reply.Lookup("code").AsInt64OK(); code != end.code {
						t.Errorf("ended by %s: %.300s", end.by, reply)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("not ended by %s", end.by)
				}
				cancel(nil)
			}
		})
	}
}

// runningCommands waits for a command to be under way, and gives its number.
func runningCommands(x *tester, name string) int32 {
	x.T.Helper()
	for range 10_000 {
		ops := x.OK("admin", d("aggregate", 1, "pipeline", bson.A{d("$currentOp", d("localOps", true, "allUsers", true))}, "cursor", d()))
		list, err := ops.Lookup("cursor", "firstBatch").Array().Values()
		if err != nil {
			x.T.Fatal(err)
		}
		for _, op := range list {
			first, _ := op.Document().Lookup("command").Document().IndexErr(0)
			if op.Document().Lookup("connectionId").Int32() == 7 && first.Key() == name {
				return op.Document().Lookup("opid").Int32()
			}
		}
	}
	x.T.Fatalf("%s does not run", name)
	return 0
}

// A batch of writes lets others in between its statements, who see it half done, and
// ends when it is killed; what it has done stays.
func TestBatchesLetOthersIn(t *testing.T) {
	x, _ := crowded(t)
	docs := make(bson.A, 100_000)
	for i := range docs {
		docs[i] = d("k", i)
	}
	count := func(coll string) int { return int(x.OK("app", d("count", coll)).Lookup("n").AsInt64()) }
	inserted := startCommand(t.Context(), x, 7, "app", d("insert", "many", "documents", docs))
	halfDone := map[int]bool{}
	for reply := bson.Raw(nil); reply == nil; {
		if n := count("many"); n > 0 && n < len(docs) {
			halfDone[n] = true
		}
		select {
		case reply = <-inserted:
		default:
		}
	}
	if n := count("many"); len(halfDone) < 2 || n != len(docs) {
		t.Errorf("%d states between the statements were seen, and %d documents in the end", len(halfDone), n)
	}
	killed := startCommand(t.Context(), x, 7, "app", d("insert", "more", "documents", docs))
	opid := runningCommands(x, "insert")
	for count("more") == 0 {
		runtime.Gosched()
	}
	x.OK("admin", d("killOp", 1, "op", opid))
	code, _ := (<-killed).Lookup("code").AsInt64OK()
	if n := count("more"); code != 11601 || n == 0 || n == len(docs) {
		t.Errorf("killed with code %d, %d documents", code, n)
	}
}
