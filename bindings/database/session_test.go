package database_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

func TestSessionOptions(t *testing.T) {
	s := "db.getMongo().startSession("
	shelltest.Check(t, shelltest.Connect(t), []shelltest.Case{
		{s + `).getOptions()`, "", "{}"},
		{s + `{causalConsistency: false, readConcern: {level: "majority"}, other: 1}).getOptions()`, "",
			"{\n  defaultTransactionOptions: { readConcern: { level: 'majority' } },\n  causalConsistency: false\n}"},
		{s + `{snapshot: true, causalConsistency: true})`, "", `MongoInvalidArgumentError: Properties "causalConsistency" and "snapshot" are mutually exclusive`},
		{s + `).getDatabase("a.b")`, "", "MongoshInvalidInputError: [COMMON-10001] Invalid database name: a.b"},
		{s + `).commitTransaction()`, "", "MongoTransactionError: No transaction started"},
		{s + `).abortTransaction()`, "", "MongoTransactionError: No transaction started"},
		{`const a = ` + s + `); a.startTransaction(); a.startTransaction()`, "", "MongoTransactionError: Transaction already in progress"},
		{`const b = ` + s + `); b.endSession(); b.startTransaction()`, "", "MongoExpiredSessionError: Use of expired sessions is not permitted"},
		{`const b2 = ` + s + `); b2.endSession(); b2.getDatabase("app").orders.findOne()`, "", "MongoExpiredSessionError: Use of expired sessions is not permitted"},
		{s + `).advanceClusterTime({})`, "", `MongoInvalidArgumentError: Input cluster time "clusterTime" property must be a valid BSON Timestamp`},
		{`const d = ` + s + `); d.advanceOperationTime(Timestamp(7, 1)); d.getOperationTime()`, "", "Timestamp({ t: 7, i: 1 })"},
		{`const e = ` + s + `); e.advanceClusterTime({clusterTime: Timestamp(2000000000, 1), signature: {}}); e.getClusterTime()`, "",
			"{ clusterTime: Timestamp({ t: 2000000000, i: 1 }), signature: {} }"},
		{s + `).withTransaction(5)`, "", "MongoshInvalidInputError: [COMMON-10001] Argument f must be of type function, got number instead (Session.withTransaction)"},
	})
}

// TestTransaction: the first command carries the options, all carry the number,
// and the concerns of the connection stay out.
func TestTransaction(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{"commitTransaction": ok(), "abortTransaction": ok()})
	const in = `const s = db.getMongo().startSession(); const o = s.getDatabase("app").orders; `
	shelltest.Check(t, c, []shelltest.Case{
		{in + `db.getMongo().setReadConcern("local"); db.getMongo().setWriteConcern(1);
			s.startTransaction({readConcern: {level: "snapshot"}, writeConcern: {w: "majority"}});
			o.findOne({_id: 1}); o.insertOne({_id: 900}); o.findOneAndUpdate({_id: 1}, {$set: {a: 1}}); s.commitTransaction()`,
			`app {"find":"orders","filter":{"_id":1},"limit":1,"readConcern":{"level":"snapshot"},"startTransaction":true,"autocommit":false}` + "\n" +
				`app {"insert":"orders","documents":[{"_id":900}],"ordered":true,"autocommit":false}` + "\n" +
				`app {"findAndModify":"orders","query":{"_id":1},"remove":false,"new":false,"upsert":false,"update":{"$set":{"a":1}},"autocommit":false}` + "\n" +
				`admin {"commitTransaction":1,"writeConcern":{"w":"majority"},"autocommit":false}`, ""},
		{in + `s.withTransaction(() => { o.insertOne({_id: 901}); return 7 })`, "", "7"},
		{in + `try { s.withTransaction(() => { o.insertOne({_id: 902}); throw new Error("no") }) } catch (e) { e.message }`,
			`app {"insert":"orders","documents":[{"_id":902}],"ordered":true,"startTransaction":true,"autocommit":false}` + "\n" + `admin {"abortTransaction":1,"autocommit":false}`, "no"},
		{in + `s.withTransaction(() => { o.findOne(); s.abortTransaction(); return "gave up" })`, "", "gave up"},
		{in + `await s.withTransaction(async () => { await null; o.insertOne({_id: 903}); return 8 })`,
			`app {"insert":"orders","documents":[{"_id":903}],"ordered":true,"startTransaction":true,"autocommit":false}` + "\n" + `admin {"commitTransaction":1,"autocommit":false}`, "8"},
		{in + `s.withTransaction(async () => { o.insertOne({_id: 905}) }); s.endSession(); s.hasEnded()`,
			`app {"insert":"orders","documents":[{"_id":905}],"ordered":true,"startTransaction":true,"autocommit":false}` + "\n" + `admin {"commitTransaction":1,"autocommit":false}`, "true"},
		{in + `const p = s.withTransaction(async () => { await null; o.insertOne({_id: 906}) }); s.endSession(); await p.catch(e => e.name)`,
			"", "MongoExpiredSessionError"},
		{in + `await s.withTransaction(async () => { await null; o.insertOne({_id: 904}); throw new Error("no") }).catch(e => e.message)`,
			`app {"insert":"orders","documents":[{"_id":904}],"ordered":true,"startTransaction":true,"autocommit":false}` + "\n" + `admin {"abortTransaction":1,"autocommit":false}`, "no"},
	})
}

// TestSessionsReadWhatTheyHaveSeen: reads of a session name the time of its newest
// command, as a secondary may be behind; those of others, and its first, do not.
func TestSessionsReadWhatTheyHaveSeen(t *testing.T) {
	c := shelltest.Connect(t)
	in := func(options string) string {
		return `const s = db.getMongo().startSession(` + options + `); const o = s.getDatabase("app").orders; o.findOne();
			s.advanceOperationTime(Timestamp({t: 1700000100, i: 5})); `
	}
	find := `app {"find":"orders","filter":{},"limit":1`
	after := `"afterClusterTime":{"$timestamp":{"t":1700000100,"i":5}}`
	shelltest.Check(t, c, []shelltest.Case{
		{in("") + `o.findOne()`, find + "}\n" + find + `,"readConcern":{` + after + "}}", ""},
		{in("") + `o.findOne({}, {}, {readConcern: {level: "majority"}})`,
			find + "}\n" + `app {"find":"orders","filter":{},"projection":{},"readConcern":{"level":"majority",` + after + `},"limit":1}`, ""},
		{in("{causalConsistency: false}") + `o.findOne()`, find + "}\n" + find + "}", ""},
		{`db.orders.findOne(); db.orders.findOne()`, find + "}\n" + find + "}", ""},
	})
}

// TestWithTransactionTriesAgain: the whole for a passing error, the commit for an
// unknown outcome, and not for ever.
func TestWithTransactionTriesAgain(t *testing.T) {
	label := func(name string) bson.D {
		return bson.D{field("ok", 0.0), field("errmsg", name), field("code", int32(251)), field("codeName", "NoSuchTransaction"), field("errorLabels", bson.A{name})}
	}
	const call = `const s = db.getMongo().startSession(); const o = s.getDatabase("app").orders; let n = 0;
		try { s.withTransaction(() => { n++; o.findOne(); sleep(50000) }) } catch (e) { print(e.codeName, e.hasErrorLabel("TransientTransactionError")) } n`
	c := shelltest.Connect(t)
	for _, tc := range []struct {
		answers map[string]bson.D
		shows   string
	}{
		{map[string]bson.D{"find": label("TransientTransactionError"), "abortTransaction": ok()}, "1"},
		{map[string]bson.D{"commitTransaction": label("TransientTransactionError"), "abortTransaction": ok()}, "NoSuchTransaction true\n3"},
		{map[string]bson.D{"commitTransaction": ok()}, "1"},
	} {
		c.Renew(t)
		c.SetAnswers(tc.answers)
		input := call
		if tc.answers["find"] != nil { // ends by itself at the second try
			input = strings.Replace(call, "o.findOne(); sleep(50000)", "if (n < 2) o.findOne()", 1)
			tc.shows = "2"
		}
		if got, _ := c.Show(input); got != tc.shows {
			t.Errorf("%v: shows %s, want %s", tc.answers, got, tc.shows)
		}
	}
}

// TestCursorsOfSessions: later batches belong to the session too.
func TestCursorsOfSessions(t *testing.T) {
	shelltest.Run(t, shelltest.ConnectMock(t, mock.Config{Seed: 7}),
		step{"db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]).acknowledged", "true"},
		step{"const s = db.getMongo().startSession(); s.getDatabase('test').c.find().batchSize(1).toArray().length", "3"},
		step{"s.endSession(); s.hasEnded()", "true"},
	)
}
