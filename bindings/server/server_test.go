package server_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

func TestServerErrors(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{
		"coded": {field("ok", 0.0), field("errmsg", "no"), field("code", int32(20)), field("codeName", "IllegalOperation"), field("errorLabels", bson.A{"X"}), field("errInfo", shelltest.Doc(field("a", int32(1)))), shelltest.ScriptedClusterTime[0], shelltest.ScriptedClusterTime[1]},
		"bare":  {field("ok", 0.0), field("errmsg", "old style")},
		"empty": {field("ok", 0.0)},
		"insert": append(ok(field("n", int32(1))), field("writeErrors", bson.A{shelltest.Doc(field("index", int32(0)), field("code", int32(121)),
			field("errmsg", "Document failed validation"), field("errInfo", shelltest.Doc(field("why", "size"))))})),
	})
	shelltest.Run(t, c,
		step{"db.runCommand('coded')", "MongoServerError[IllegalOperation]: no\nAdditional information: { a: 1 }"},
		step{"let e; try { db.runCommand('coded') } catch (x) { e = x }; [e.name, e.code, e.codeName, e.errmsg, e.ok, e.message]",
			"[ 'MongoServerError', 20, 'IllegalOperation', 'no', 0, 'no' ]"},
		step{"[e.hasErrorLabel('X'), e.hasErrorLabel('Y'), e.errorLabelSet.size, e instanceof Error, e.errorResponse.codeName]", "[ true, false, 1, true, 'IllegalOperation' ]"},
		step{"Object.keys(e)", "[\n  'errorLabelSet',\n  'errorResponse',\n  'ok',\n  'code',\n  'codeName',\n  'errInfo'\n]"},
		step{"db.runCommand('bare')", "MongoServerError: old style"},
		step{"try { db.runCommand('bare') } catch (x) { e = x }; [e.code, e.codeName, 'code' in e]", "[ undefined, undefined, false ]"},
		step{"db.runCommand('empty')", "MongoServerError: n/a"},
		step{"db.orders.insertOne({})", "MongoServerError: Document failed validation\nAdditional information: { why: 'size' }"},
		step{"try { db.orders.insertMany([{}, {}]) } catch (x) { e = x }; [e.name, e.code, e.writeErrors.length, e.writeErrors[0].err.errInfo.why, e.writeErrors[0].code]",
			"[ 'MongoBulkWriteError', 121, 1, 'size', 121 ]"},
		step{"db.runCommand({insert: 'orders', documents: [{}]}).writeErrors.length", "1"}, // a reply of ok: 1 is a reply
	)
	_, err := c.Eval(context.Background(), "f.js", "db.runCommand('coded')")
	var thrown *script.Error
	if !errors.As(err, &thrown) || thrown.Code != 20 || thrown.CodeName != "IllegalOperation" || thrown.Error() != "MongoServerError[IllegalOperation]: no" {
		t.Errorf("%+v", thrown)
	}
}

// TestGossip: what a cluster adds to every reply is there but not shown.
func TestGossip(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"const r = sh.splitAt('app.x', {k: 1}); r", "{ ok: 1 }"},
		step{"r.operationTime", "Timestamp({ t: 1700000100, i: 5 })"},
		step{"Object.keys(r)", "[ 'ok', '$clusterTime', 'operationTime' ]"},
		step{"print(r)", "{ ok: 1 }"},
		step{"printjson(r)", "{\n  ok: 1\n}"},
	)
}

func TestValuesKeepTheirTypes(t *testing.T) {
	c := shelltest.Connect(t)
	shelltest.Run(t, c, step{`db.t.insertOne({_id: 1, l: NumberLong("9007199254740993"), i: NumberInt(3), d: Double(2), n: 2, s: "x", u: undefined, f: 2 ** 40}); db.t.findOne()`,
		"{\n  _id: 1,\n  l: Long('9007199254740993'),\n  i: 3,\n  d: 2,\n  n: 2,\n  s: 'x',\n  u: null,\n  f: 1099511627776\n}"})
	doc := c.ScriptedServer.Data["app.t"][0]
	for name, kind := range map[string]bson.Type{"l": bson.TypeInt64, "i": bson.TypeInt32, "d": bson.TypeDouble, "n": bson.TypeInt32, "u": bson.TypeNull, "f": bson.TypeDouble} {
		if got := doc.Lookup(name).Type; got != kind {
			t.Errorf("%s is stored as %s", name, got)
		}
	}
	shelltest.Run(t, c, step{"const o = {b: 1}; db.t.insertOne(o); o._id instanceof ObjectId && Object.keys(o).join()", "b,_id"})
	if first, _ := c.ScriptedServer.Data["app.t"][1].IndexErr(0); first.Key() != "_id" {
		t.Errorf("the first field sent is %s", first.Key())
	}
}

func TestBatches(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{"insert": ok(field("n", int32(1)))})
	shelltest.Run(t, c,
		step{"db.big.insertMany(Array.from({length: 150001}, (_, i) => ({_id: i}))).acknowledged", "true"},
		step{"const s = 'x'.repeat(6e6); db.wide.insertMany([{s}, {s}, {s}]).acknowledged", "true"},
	)
	var sizes []int
	c.ScriptedServer.Mu.Lock()
	for _, cmd := range c.ScriptedServer.Sent {
		if docs, isArray := cmd.Body.Lookup("documents").ArrayOK(); isArray {
			values, _ := docs.Values()
			sizes = append(sizes, len(values))
		}
	}
	c.ScriptedServer.Mu.Unlock()
	if want := []int{100000, 50001, 2, 1}; !equalInts(sizes, want) {
		t.Errorf("batches of %v, want %v", sizes, want)
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// cutDialer loses connections whose handler asks for it: after the command went
// out, the client finds its connection closed.
type cutDialer struct {
	inner options.ContextDialer
	hook  func(b []byte) bool
}

func (d cutDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.inner.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, hook: d.hook}, nil
}

type cutConn struct {
	net.Conn
	hook func(b []byte) bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	if c.hook(b) {
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// TestLostConnections: reads and writes of single documents are sent again, with
// the same transaction number; other commands are not.
func TestLostConnections(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := shelltest.Connect(t)
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: c.ScriptedServer}
	go func() { _ = server.Serve(context.Background(), pipe) }()
	t.Cleanup(func() { _ = pipe.Close(); _ = server.Close() })
	var cut atomic.Value
	cut.Store("")
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://fixture:27017/?directConnection=true").SetServerMonitoringMode("poll").
		SetDialer(cutDialer{pipe, func(b []byte) bool {
			name := cut.Load().(string)
			return name != "" && strings.Contains(string(b), "\x02"+name+"\x00") && cut.CompareAndSwap(name, "")
		}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	s, err := bindings.New(bindings.Config{Client: client, Database: "app", Stdout: c.Out, Stderr: c.Errs, Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	c.Shell = s
	shelltest.Run(t, c, step{"db.orders.findOne({_id: 1}).a", "v1"})
	for _, tc := range []struct{ lose, input, want string }{
		{"find", "db.orders.findOne({_id: 2}).a", "v2"},
		{"insert", "db.orders.insertOne({_id: 500}).insertedId", "500"},
	} {
		cut.Store(tc.lose)
		if got, _ := c.Show(tc.input); got != tc.want {
			t.Errorf("%s shows %s", tc.input, got)
		}
	}
	cut.Store("update")
	if got, _ := c.Show("db.orders.updateMany({}, {$set: {a: 1}})"); !strings.HasPrefix(got, "MongoNetworkError: ") || strings.Contains(got, "\n") {
		t.Errorf("updateMany shows %s", got)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel() // most of it is waiting
	pipe := wire.NewPipe()
	_ = pipe.Close()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://user:secret@10.0.0.1:27017/?directConnection=true&serverSelectionTimeoutMS=1000").SetDialer(pipe))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	s, err := bindings.New(bindings.Config{Client: client, Address: "mongodb://user:secret@10.0.0.1:27017/"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Eval(context.Background(), "f.js", "db.c.findOne()")
	if err == nil || err.Error() != "MongoServerSelectionError: connect ECONNREFUSED 10.0.0.1:27017" {
		t.Errorf("%v", err)
	}
	if got, _ := s.Eval(context.Background(), "f.js", "db.getMongo().getURI()"); got.Value.String() != "mongodb://<credentials>@10.0.0.1:27017/" {
		t.Errorf("address %s", got.Value)
	}
}

func TestGuard(t *testing.T) {
	var asked []string
	c := shelltest.Connect(t, func(cfg *bindings.Config) {
		cfg.Guard = func(database string, cmd bson.Raw) (bson.Raw, error) {
			first, _ := cmd.IndexErr(0)
			asked = append(asked, database+"."+first.Key())
			switch first.Key() {
			case "find", "hello":
				return nil, nil
			case "delete":
				return nil, mongoerr.New(20, "--read-only refuses the command %s", first.Key())
			}
			return shelltest.MustMarshal(ok(field("dryRun", true))), nil
		}
	})
	shelltest.Run(t, c,
		step{"db.orders.deleteOne({})", "MongoServerError[IllegalOperation]: --read-only refuses the command delete"},
		step{"db.orders.insertOne({_id: 5}).acknowledged", "true"},
		step{"sh.moveChunk('a.b', {k: 1}, 'sh1')", "{ dryRun: true, ok: 1 }"},
		step{"sh.disableBalancing('a.b').matchedCount", "0"},
		step{"db.orders.findOne({_id: 5}).a", "v5"},
	)
	for _, sent := range c.TakeCommands() {
		if !strings.Contains(sent, `"find"`) {
			t.Errorf("sent %s", sent)
		}
	}
	if got := strings.Join(asked, " "); !strings.HasPrefix(got, "app.delete app.insert admin.hello config.find admin.moveChunk config.update") {
		t.Errorf("the guard was asked about %s", got)
	}
}
