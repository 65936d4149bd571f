package database_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings/shelltest"
)

// numbersServer is a fixture that notes the numbers of writes and transactions,
// and keeps to a server's rule: those of a session grow.
type numbersServer struct {
	*shelltest.ScriptedServer
	mu     sync.Mutex
	newest map[string]int64
	seen   []string // "insert 1", "find 2 in a transaction"
	broken []string
}

func (s *numbersServer) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if n, ok := r.Body.Lookup("txnNumber").Int64OK(); ok {
		s.note(r, n)
	}
	return s.ScriptedServer.Handle(ctx, r)
}

func (s *numbersServer) note(r wire.Request, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := r.Body.LookupErr("autocommit")
	_, begins := r.Body.Lookup("startTransaction").BooleanOK()
	within := ""
	if err == nil {
		within = " in a transaction"
	}
	id := string(r.Body.Lookup("lsid", "id").Value)
	line := fmt.Sprintf("%s %d%s", r.Command, n, within)
	s.seen = append(s.seen, line)
	if n < s.newest[id] || n == s.newest[id] && (within == "" || begins) {
		s.broken = append(s.broken, line)
	}
	s.newest[id] = n
}

// awaitPooling returns when the driver gives a session that has ended to the next who
// asks: as long as it has not heard how long sessions last it makes new ones, and it
// hears of that beside the commands.
func awaitPooling(t *testing.T, client *mongo.Client) {
	t.Helper()
	id := func() string {
		s, err := client.StartSession()
		if err != nil {
			t.Fatal(err)
		}
		defer s.EndSession(t.Context())
		return s.ID().String()
	}
	for was, is := id(), id(); was != is; was, is = is, id() {
		if err := client.Ping(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNumbersOfSessions: writes of a script's own session carry numbers as those
// outside do; they and the driver's transactions share them, and a session whose
// id comes back goes on counting.
func TestNumbersOfSessions(t *testing.T) {
	c := shelltest.Connect(t)
	server := &numbersServer{ScriptedServer: c.ScriptedServer, newest: map[string]int64{}}
	c.Config.Client = shelltest.Dial(t, server)
	awaitPooling(t, c.Config.Client)
	c.Renew(t)
	c.SetAnswers(map[string]bson.D{"commitTransaction": ok(), "abortTransaction": ok()})
	_, failed := c.Show(`
		const s = db.getMongo().startSession(), o = s.getDatabase("app").orders;
		o.insertOne({_id: 901}); o.insertOne({_id: 902});
		s.startTransaction(); o.findOne({_id: 1}); s.commitTransaction();
		o.findOneAndUpdate({_id: 1}, {$set: {a: 1}});
		s.startTransaction(); s.abortTransaction();
		try { s.startTransaction({writeConcern: {w: 0}}) } catch (e) { print(e.message) }
		o.updateMany({_id: 1}, {$set: {a: 1}});
		o.insertOne({_id: 903});
		s.endSession();
		const again = db.getMongo().startSession();
		again.getDatabase("app").orders.insertOne({_id: 904});
		db.getSiblingDB("app").orders.insertOne({_id: 905})`)
	want := []string{
		"insert 1", "insert 2", "find 3 in a transaction", "commitTransaction 3 in a transaction", "findAndModify 4",
		"insert 7", "insert 8", "insert 1",
	}
	if failed || !slices.Equal(server.seen, want) || server.broken != nil {
		t.Errorf("sent %q, want %q; out of order: %q", server.seen, want, server.broken)
	}
	if got, _ := c.Show(`s.hasEnded()`); got != "true" {
		t.Errorf("the script did not run to its end: %s", got)
	}
}

// TestWritesOfSessionsAreSentAgain: under the same number, when the server says
// that it may.
func TestWritesOfSessionsAreSentAgain(t *testing.T) {
	c := shelltest.Connect(t)
	server := &numbersServer{ScriptedServer: c.ScriptedServer, newest: map[string]int64{}}
	c.Config.Client = shelltest.Dial(t, server)
	c.Renew(t)
	c.SetAnswers(map[string]bson.D{"insert": {
		field("ok", 0.0), field("errmsg", "stepping down"), field("code", int32(189)),
		field("codeName", "PrimarySteppedDown"), field("errorLabels", bson.A{"RetryableWriteError"}),
	}})
	got, _ := c.Show(`try { db.getMongo().startSession().getDatabase("app").orders.insertOne({}) } catch (e) { e.codeName }`)
	if want := []string{"insert 1", "insert 1"}; got != "PrimarySteppedDown" || !slices.Equal(server.seen, want) {
		t.Errorf("shows %s, sent %q, want %q", got, server.seen, want)
	}
}

// TestShardKeyOfADocumentInASession: every write that may change the key's value
// can in a session of the script's, as outside of one. Where a shell sends no
// numbers, a server refuses.
func TestShardKeyOfADocumentInASession(t *testing.T) {
	prepare := []step{
		{"sh.shardCollection('app.o', {k: 1}).ok", "1"},
		{"sh.splitAt('app.o', {k: 5}).ok && sh.moveRange('app.o', 'shard1', {k: 5}).ok", "1"},
		{"const session = db.getMongo().startSession(), inside = session.getDatabase('app').o, outside = db.getSiblingDB('app').o; 1", "1"},
		{"outside.insertOne({_id: 1, k: 1}).acknowledged", "true"},
	}
	changes := []string{
		"updateOne({_id: 1}, {$set: {k: NEW}})",
		"updateOne({_id: 1, k: OLD}, {$set: {k: NEW}})",
		"replaceOne({_id: 1, k: OLD}, {k: NEW})",
		"findOneAndUpdate({_id: 1, k: OLD}, {$set: {k: NEW}})",
		"findOneAndReplace({_id: 1, k: OLD}, {k: NEW})",
		"findAndModify({query: {_id: 1, k: OLD}, update: {$set: {k: NEW}}})",
		"bulkWrite([{updateOne: {filter: {_id: 1, k: OLD}, update: {$set: {k: NEW}}}}])",
	}
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c, prepare...)
	was, is := 1, 9
	for _, change := range changes {
		for _, where := range []string{"inside", "outside"} {
			input := fmt.Sprintf("var OLD = %d, NEW = %d; %s.%s; outside.findOne().k", was, is, where, change)
			if got, _ := c.Show(input); got != fmt.Sprint(is) {
				t.Errorf("%s.%s: k is %s, want %d", where, change, got, is)
			}
			was, is = is, was
		}
	}
}
