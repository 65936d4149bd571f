package controls_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mock/wire"
)

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
			x := routertest.NewThreeShards(t)
			x.OK("admin", test.fault)
			got := x.CodesOfRuns(find, len(test.want))
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
	x := routertest.NewThreeShards(t)
	x.OK("admin", d("mockFailNext", "count", "code", 91))
	x.OK("admin", d("mockFailNext", "count", "code", 189))
	x.OK("admin", d("mockFailNext", "distinct", "code", 91))
	if got := x.CodesOfRuns(d("count", "c"), 3); got[0] != 91 || got[1] != 189 || got[2] != 0 {
		t.Errorf("codes %v", got)
	}
	x.OK("admin", d("mockHeal", 1))
	x.OK("db", d("distinct", "c", "key", "a"))
}

// A command that is made to fail has done nothing.
func TestFailedWriteIsNotApplied(t *testing.T) {
	for _, fault := range []bson.D{d("mockFailNext", "delete", "code", 6), d("mockFailNext", "delete", "code", 6, "shard", "shard2")} {
		x := routertest.NewThreeShards(t)
		x.OK("admin", fault)
		x.Run("db", d("delete", "c", "deletes", bson.A{d("q", d(), "limit", 0)}))
		if n := x.OK("db", d("count", "c", "query", d("a", d("$gte", 0)))).Lookup("n").AsInt64(); n != 3 {
			t.Errorf("%v: %d documents are left, want 3", fault, n)
		}
	}
}

// Drivers try a retryable write again when the error says that they may.
func TestRetryableWritesAreLabelled(t *testing.T) {
	x := routertest.NewThreeShards(t)
	lsid := d("id", bson.Binary{Subtype: 4, Data: make([]byte, 16)})
	write := func(n int64) bson.D {
		return d("insert", "c", "documents", bson.A{d("a", 1)}, "lsid", lsid, "txnNumber", n)
	}
	label := func(reply bson.Raw) string {
		text, _ := reply.Lookup("errorLabels", "0").StringValueOK()
		return text
	}
	x.OK("admin", d("mockFailNext", "insert", "code", 189))
	if reply := x.Run("db", write(1)); label(reply) != "RetryableWriteError" || reply.Lookup("codeName").StringValue() != "PrimarySteppedDown" {
		t.Errorf("a retryable error: %s", reply)
	}
	x.OK("admin", d("mockFailNext", "insert", "code", 2))
	if reply := x.Run("db", write(2)); label(reply) != "" {
		t.Errorf("an error that can't be retried: %s", reply)
	}
	x.OK("admin", d("mockFailNext", "insert", "code", 2, "errorLabels", bson.A{"Mine"}, "errmsg", "no"))
	if reply := x.Run("db", write(3)); label(reply) != "Mine" || reply.Lookup("errmsg").StringValue() != "no" {
		t.Errorf("labels of one's own: %s", reply)
	}
}

func TestWriteConcernErrorIsAdded(t *testing.T) {
	x := routertest.NewThreeShards(t)
	x.OK("admin", d("mockFailNext", "insert", "writeConcernError", d("code", 64)))
	reply := x.OK("db", d("insert", "c", "documents", bson.A{d("_id", 9, "a", 9)}))
	if reply.Lookup("writeConcernError", "codeName").StringValue() != "WriteConcernFailed" || reply.Lookup("n").AsInt64() != 1 {
		t.Errorf("%s", reply)
	}
}

// A shard's write concern error comes with what the write did there.
func TestWriteConcernErrorOfAShard(t *testing.T) {
	x := routertest.NewThreeShards(t)
	x.OK("admin", d("mockFailNext", "insert", "writeConcernError", d("code", 64), "shard", "shard1"))
	for i, want := range map[int]bool{0: false, 1: true} {
		reply := x.OK("db", d("insert", "c", "documents", bson.A{d("_id", 90+i, "a", i)}))
		if got := !reply.Lookup("writeConcernError").IsZero(); got != want || reply.Lookup("n").AsInt64() != 1 {
			t.Errorf("an insert on shard%d: %s", i, reply)
		}
	}
}

// Commands that need nothing of the cluster can fail, too, but have no shards.
func TestFailNextOutside(t *testing.T) {
	x := routertest.NewThreeShards(t)
	for _, name := range []string{"ping", "hello", "saslStart", "endSessions"} {
		x.OK("admin", d("mockFailNext", name, "code", 91, "after", 1))
		var codes []int64
		for range 3 {
			code, _ := x.Run("admin", d(name, bson.A{})).Lookup("code").AsInt64OK()
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
		if code := x.Code("admin", command); code != 72 && code != 2 {
			t.Errorf("%v: code %d", command, code)
		}
	}
	client := x.Client(nil)
	x.OK("admin", d("mockFailNext", "ping", "closeConnection", true))
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
	x := &tester{T: t, Router: router.New(cluster, nil, router.WithUsers(nil, true)), Cluster: cluster}
	for _, name := range []string{"mockCrash", "mockStatus", "mockAdvance"} {
		if code := x.Code("admin", d(name, 1)); code != 13 {
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
	x := &tester{T: t, Router: router.New(cluster, nil), Cluster: cluster}
	x.OK("admin", d("mockSlow", "config", "latency", "50ms"))
	begin := time.Now()
	x.OK("config", d("find", "shards"))
	if took := time.Since(begin); took < 50*time.Millisecond {
		t.Errorf("a read took %v", took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x.OK("admin", d("mockSlow", "config", "latency", "1h"))
	_ = x.Router.Handle(ctx, request(t, "config", d("find", "shards"))) // gives up with its client
}

func request(t *testing.T, db string, command bson.D) wire.Request {
	t.Helper()
	body, err := bson.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Request{Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 2}}
}
