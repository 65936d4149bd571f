package router_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// faulty is a router in front of three shards and db.c, documents a: 0 to 2 on
// one shard each.
func faulty(t *testing.T) *tester {
	t.Helper()
	x := newTester(t, mock.Config{Topology: mock.DefaultTopology(3)})
	x.ok("admin", d("balancerStop", 1))
	x.ok("admin", d("enableSharding", "db", "primaryShard", "shard0"))
	x.ok("admin", d("shardCollection", "db.c", "key", d("a", 1)))
	for i, shard := range []string{"shard0", "shard1", "shard2"} {
		x.ok("db", d("insert", "c", "documents", bson.A{d("_id", i, "a", i)}))
		if i > 0 {
			x.ok("admin", d("moveRange", "db.c", "min", d("a", i), "max", d("a", i+1), "toShard", shard))
		}
	}
	return x
}

func (x *tester) codes(command bson.D, n int) []int64 {
	x.t.Helper()
	var codes []int64
	for range n {
		code, _ := x.run("db", command).Lookup("code").AsInt64OK()
		codes = append(codes, code)
	}
	return codes
}

func TestFailNext(t *testing.T) {
	find := d("find", "c", "filter", d("a", 1))
	tests := []struct {
		name  string
		fault bson.D
		want  []int64
	}{
		{"once", d("mockFailNext", "find", "code", 91), []int64{91, 0, 0}},
		{"unreachable where nothing is said", d("mockFailNext", "find"), []int64{6, 0}},
		{"twice, after one", d("mockFailNext", "find", "code", 91, "times", 2, "after", 1), []int64{0, 91, 91, 0}},
		{"another command", d("mockFailNext", "aggregate", "code", 91), []int64{0, 0}},
		{"on a shard it asks", d("mockFailNext", "find", "code", 91, "shard", "shard1"), []int64{91, 0}},
		{"the shard drops its connection", d("mockFailNext", "find", "closeConnection", true, "shard", "shard1"), []int64{6, 0}},
		{"on another shard", d("mockFailNext", "find", "code", 91, "shard", "shard2"), []int64{0, 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := faulty(t)
			x.ok("admin", test.fault)
			got := x.codes(find, len(test.want))
			for i := range got {
				if got[i] != test.want[i] {
					t.Fatalf("codes %v, want %v", got, test.want)
				}
			}
		})
	}
}

// Several failures of a command come one after the other; heal forgets them.
func TestFailuresQueue(t *testing.T) {
	x := faulty(t)
	x.ok("admin", d("mockFailNext", "count", "code", 91))
	x.ok("admin", d("mockFailNext", "count", "code", 189))
	x.ok("admin", d("mockFailNext", "distinct", "code", 91))
	if got := x.codes(d("count", "c"), 3); got[0] != 91 || got[1] != 189 || got[2] != 0 {
		t.Errorf("codes %v", got)
	}
	x.ok("admin", d("mockHeal", 1))
	x.ok("db", d("distinct", "c", "key", "a"))
}

// A command that is made to fail has done nothing.
func TestFailedWriteIsNotApplied(t *testing.T) {
	for _, fault := range []bson.D{d("mockFailNext", "delete", "code", 6), d("mockFailNext", "delete", "code", 6, "shard", "shard2")} {
		x := faulty(t)
		x.ok("admin", fault)
		x.run("db", d("delete", "c", "deletes", bson.A{d("q", d(), "limit", 0)}))
		if n := x.ok("db", d("count", "c", "query", d("a", d("$gte", 0)))).Lookup("n").AsInt64(); n != 3 {
			t.Errorf("%v: %d documents are left, want 3", fault, n)
		}
	}
}

// Drivers try a retryable write again when the error says that they may.
func TestRetryableWritesAreLabelled(t *testing.T) {
	x := faulty(t)
	lsid := d("id", bson.Binary{Subtype: 4, Data: make([]byte, 16)})
	write := func(n int64) bson.D {
		return d("insert", "c", "documents", bson.A{d("a", 1)}, "lsid", lsid, "txnNumber", n)
	}
	label := func(reply bson.Raw) string {
		text, _ := reply.Lookup("errorLabels", "0").StringValueOK()
		return text
	}
	x.ok("admin", d("mockFailNext", "insert", "code", 189))
	if reply := x.run("db", write(1)); label(reply) != "RetryableWriteError" || reply.Lookup("codeName").StringValue() != "PrimarySteppedDown" {
		t.Errorf("a retryable error: %s", reply)
	}
	x.ok("admin", d("mockFailNext", "insert", "code", 2))
	if reply := x.run("db", write(2)); label(reply) != "" {
		t.Errorf("an error that can't be retried: %s", reply)
	}
	x.ok("admin", d("mockFailNext", "insert", "code", 2, "errorLabels", bson.A{"Mine"}, "errmsg", "no"))
	if reply := x.run("db", write(3)); label(reply) != "Mine" || reply.Lookup("errmsg").StringValue() != "no" {
		t.Errorf("labels of one's own: %s", reply)
	}
}

func TestWriteConcernErrorIsAdded(t *testing.T) {
	x := faulty(t)
	x.ok("admin", d("mockFailNext", "insert", "writeConcernError", d("code", 64)))
	reply := x.ok("db", d("insert", "c", "documents", bson.A{d("_id", 9, "a", 9)}))
	if reply.Lookup("writeConcernError", "codeName").StringValue() != "WriteConcernFailed" || reply.Lookup("n").AsInt64() != 1 {
		t.Errorf("%s", reply)
	}
}

// A shard's write concern error comes with what the write did there.
func TestWriteConcernErrorOfAShard(t *testing.T) {
	x := faulty(t)
	x.ok("admin", d("mockFailNext", "insert", "writeConcernError", d("code", 64), "shard", "shard1"))
	for i, want := range map[int]bool{0: false, 1: true} {
		reply := x.ok("db", d("insert", "c", "documents", bson.A{d("_id", 90+i, "a", i)}))
		if got := !reply.Lookup("writeConcernError").IsZero(); got != want || reply.Lookup("n").AsInt64() != 1 {
			t.Errorf("an insert on shard%d: %s", i, reply)
		}
	}
}

// Commands that need nothing of the cluster can fail, too, but have no shards.
func TestFailNextOutside(t *testing.T) {
	x := faulty(t)
	for _, name := range []string{"ping", "hello", "saslStart", "endSessions"} {
		x.ok("admin", d("mockFailNext", name, "code", 91, "after", 1))
		var codes []int64
		for range 3 {
			code, _ := x.run("admin", d(name, bson.A{})).Lookup("code").AsInt64OK()
			codes = append(codes, code)
		}
		if codes[0] == 91 || codes[1] != 91 || codes[2] == 91 {
			t.Errorf("%s: codes %v", name, codes)
		}
	}
	for _, command := range []bson.D{
		d("mockFailNext", "ping", "shard", "shard0"), d("mockFailNext", "ping", "writeConcernError", d("code", 64)),
		d("mockFailNext", "mockNow"), d("mockFailNext", "nope"),
	} {
		if code := x.code("admin", command); code != 72 && code != 2 {
			t.Errorf("%v: code %d", command, code)
		}
	}
	client := x.client(nil)
	x.ok("admin", d("mockFailNext", "ping", "closeConnection", true))
	if err := client.Database("admin").RunCommand(t.Context(), d("ping", 1)).Err(); !mongo.IsNetworkError(err) {
		t.Errorf("ping on a connection that is closed: %v", err)
	}
}

// With authentication on the commands of the mock's own need a user, too.
func TestMockCommandsNeedAUser(t *testing.T) {
	cluster, err := mock.New(mock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	x := &tester{t: t, router: router.New(cluster, nil, router.WithUsers(nil, true)), cluster: cluster}
	for _, name := range []string{"mockCrash", "mockStatus", "mockAdvance"} {
		if code := x.code("admin", d(name, 1)); code != 13 {
			t.Errorf("%s without a user: code %d, want 13", name, code)
		}
	}
}

// On real time a slow shard keeps only its own clients waiting.
func TestSlowOnRealTime(t *testing.T) {
	cluster, err := mock.New(mock.Config{RealTime: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	x := &tester{t: t, router: router.New(cluster, nil), cluster: cluster}
	x.ok("admin", d("mockSlow", "config", "latency", "50ms"))
	begin := time.Now()
	x.ok("config", d("find", "shards"))
	if took := time.Since(begin); took < 50*time.Millisecond {
		t.Errorf("a read took %v", took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x.ok("admin", d("mockSlow", "config", "latency", "1h"))
	_ = x.router.Handle(ctx, request(t, "config", d("find", "shards"))) // gives up with its client
}

func request(t *testing.T, db string, command bson.D) wire.Request {
	t.Helper()
	body, err := bson.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Request{Database: db, Command: command[0].Key, Body: body, Client: &wire.Client{ID: 2}}
}
