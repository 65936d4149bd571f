package servers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mock/wire"
)

// newMoving is a cluster on real time where a chunk that takes hours moves, and
// what that command answers in the end.
func newMoving(t *testing.T) (*tester, <-chan bson.Raw) {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"stopped": true}},
	  "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": "900GB", "docs": 100}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := mock.New(mock.Config{Topology: topology, RealTime: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	x := &tester{T: t, Router: router.New(c, nil), Cluster: c}
	body, err := bson.Marshal(d("moveChunk", "x.y", "find", d("k", 1), "to", "b", "forceJumbo", true))
	if err != nil {
		t.Fatal(err)
	}
	moved := make(chan bson.Raw, 1)
	go func() {
		moved <- x.Router.Handle(context.Background(), wire.Request{Database: "admin", Command: "moveChunk", Body: body, Client: &wire.ClientConn{ID: 9, Remote: "mover:1"}})
	}()
	return x, moved
}

// awaitOperation asks for operations until there is one that matches.
func awaitOperation(x *tester, filter bson.D) bson.Raw {
	x.T.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		reply := x.OK("admin", append(d("currentOp", 1, "$all", true), filter...))
		if op, is := reply.Lookup("inprog", "0").DocumentOK(); is {
			return op
		}
	}
	x.T.Fatalf("no operation like %v", filter)
	return nil
}

// rules/03-commands §1.7: a migration shows as the donor's command and both workers.
func TestCurrentOpOfAMigration(t *testing.T) {
	x, moved := newMoving(t)
	recipient := awaitOperation(x, d("desc", "migrateThread"))
	if recipient.Lookup("shard").StringValue() != "b" || !strings.HasSuffix(recipient.Lookup("msg").StringValue(), " of 8") {
		t.Errorf("recipient: %s", recipient)
	}
	donor := awaitOperation(x, d("desc", "MoveChunk"))
	if donor.Lookup("shard").StringValue() != "a" || !strings.HasSuffix(donor.Lookup("msg").StringValue(), " of 6") || donor.Lookup("op").StringValue() != "none" {
		t.Errorf("donor: %s", donor)
	}
	op := awaitOperation(x, d("command._shardsvrMoveRange", "x.y"))
	command := op.Lookup("command").Document()
	for _, name := range []string{"toShard", "min", "max", "waitForDelete", "epoch", "collectionTimestamp", "fromShard", "maxChunkSizeBytes", "forceJumbo", "secondaryThrottle"} {
		if command.Lookup(name).IsZero() {
			t.Errorf("the donor's command lacks %s: %s", name, command)
		}
	}
	id := donor.Lookup("opid").StringValue()
	if !strings.HasPrefix(id, "a:") {
		t.Errorf("opid %s", id)
	}
	reply := x.OK("admin", d("killOp", 1, "op", id))
	if reply.Lookup("shard").StringValue() != "a" || reply.Lookup("shardid").Type != bson.TypeInt32 {
		t.Errorf("killOp answered %s", reply)
	}
	if reply := <-moved; reply.Lookup("code").AsInt64() != 11601 {
		t.Errorf("the killed move answered %s", reply)
	}
	if left := x.Migrations(); len(left) > 0 {
		t.Errorf("goes on: %v", left)
	}
}

// Who sent the command that is killed hears so, and the migration goes on.
func TestKillOpOfTheCommand(t *testing.T) {
	x, moved := newMoving(t)
	awaitOperation(x, d("desc", "migrateThread"))
	op := awaitOperation(x, d("command._shardsvrMoveRange", "x.y"))
	x.OK("admin", d("killOp", 1, "op", op.Lookup("opid")))
	if reply := <-moved; reply.Lookup("code").AsInt64() != 11601 {
		t.Errorf("the killed move answered %s", reply)
	}
	if left := x.Migrations(); len(left) != 1 || left[0].Command != nil {
		t.Errorf("under way: %v", left)
	}
}

// The mongos's own operations have numbers; killing one ends the wait.
func TestKillOpOfTheMongos(t *testing.T) {
	x, moved := newMoving(t)
	awaitOperation(x, d("desc", "MoveChunk"))
	reply := x.OK("admin", d("aggregate", 1, "pipeline", bson.A{d("$currentOp", d("allUsers", true, "localOps", true)), d("$match", d("command.moveChunk", "x.y"))}, "cursor", d()))
	op := reply.Lookup("cursor", "firstBatch", "0").Document()
	if op.Lookup("op").StringValue() != "command" || op.Lookup("connectionId").Int32() != 9 || !op.Lookup("shard").IsZero() {
		t.Errorf("operation %s", op)
	}
	x.OK("admin", d("killOp", 1, "op", op.Lookup("opid")))
	if reply := <-moved; reply.Lookup("code").AsInt64() != 11601 {
		t.Errorf("the killed move answered %s", reply)
	}
}

func TestKillOpArguments(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("admin", d("killOp", 1, "op", "shardA:123")) // E112
	if reply.Lookup("shard").StringValue() != "shardA" || reply.Lookup("shardid").Int32() != 123 {
		t.Errorf("answered %s", reply)
	}
	x.OK("admin", d("killOp", 1, "op", 5))
	for _, tt := range []struct {
		op   any
		code int
	}{{true, 50760}, {"shardA", 28625}, {":5", 28625}, {"shardA:", 28625}, {"nope:5", 70}, {"shardA:x", 9}, {"shardA:99999999999", 26823}, {int64(1) << 40, 26823}} {
		if code := x.Code("admin", d("killOp", 1, "op", tt.op)); code != tt.code {
			t.Errorf("op %v: code %d, want %d", tt.op, code, tt.code)
		}
	}
	if code := x.Code("admin", d("killOp", 1)); code != 50759 {
		t.Errorf("without op: code %d", code)
	}
	if code := x.Code("shop", d("killOp", 1, "op", 1)); code != 13 {
		t.Errorf("elsewhere: code %d", code)
	}
}

func TestCurrentOpOptions(t *testing.T) {
	x := routertest.NewS0(t)
	if n, _ := x.OK("admin", d("currentOp", 1)).Lookup("inprog").Array().Values(); len(n) != 3 {
		t.Errorf("%d operations, want the stage on each of three shards", len(n))
	}
	for _, tt := range []struct {
		db   string
		spec any
		code int
	}{{"admin", d("localOps", 1), 14}, {"admin", d("nope", true), 9}, {"admin", 5, 9}, {"shop", d(), 73}} {
		if code := x.Code(tt.db, d("aggregate", 1, "pipeline", bson.A{d("$currentOp", tt.spec)}, "cursor", d())); code != tt.code {
			t.Errorf("%v on %s: code %d, want %d", tt.spec, tt.db, code, tt.code)
		}
	}
}
