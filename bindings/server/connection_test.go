package server_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

// TestAuth: db.auth connects again with the credentials, which show nowhere.
func TestAuth(t *testing.T) {
	c := shelltest.Connect(t)
	shelltest.Check(t, c, []shelltest.Case{
		{`db.auth()`, "", "MongoshInvalidInputError: [COMMON-10001] auth expects (username), (username, password), or ({ user: username, pwd: password })"},
		{`db.auth("a", "b", "c")`, "", "MongoshInvalidInputError: [COMMON-10001] auth expects (username), (username, password), or ({ user: username, pwd: password })"},
		{`db.auth({user: "a"})`, "", "MongoshInvalidInputError: [COMMON-10001] auth expects user document with at least 'user' and 'pwd' or 'mechanism' fields"},
		{`db.auth({user: "a", pwd: "b", digestPassword: true})`, "", "MongoshUnimplementedError: [COMMON-90002] digestPassword is not supported for authentication."},
		{`db.auth("a")`, "", "Enter password\nError: no password was given: the input has ended"},
		{`db.auth("a", "sesame")`, "", "MongoshUnimplementedError: [COMMON-90002] this connection cannot log in again; give the user in the connection string"},
	})

	c.Config.Interactive = false // nobody to ask
	shelltest.Check(t, c, []shelltest.Case{
		{`db.auth("a")`, "", "MongoshInvalidInputError: [COMMON-10001] The password is missing: pass it, or passwordPrompt(), as an argument"},
	})
	c.Config.Interactive = true

	c.Config.ClientOptions = shelltest.Serve(t, c.ScriptedServer)
	refusal := bson.D{field("ok", 0.0), field("errmsg", "Authentication failed."), field("code", int32(18)), field("codeName", "AuthenticationFailed")}
	c.SetAnswers(map[string]bson.D{"saslStart": refusal})
	shelltest.Check(t, c, []shelltest.Case{
		{`try { db.auth("kim", "sesame") } catch (e) { [e.name, e.code, e.codeName, e.message].join() }`, "", "MongoServerError,18,AuthenticationFailed,Authentication failed."},
		{`try { db.auth("kim", "sesame") } catch (e) { /sesame/.test(JSON.stringify(e) + e.stack + e.message) }`, "", "false"},
		{`try { db.auth("kim", "sesame") } catch (e) {} db.getName()`, "", "app"}, // the old connection goes on
	})

	c.SetAnswers(map[string]bson.D{"saslStart": ok(field("conversationId", int32(1)), field("done", true), field("payload", bson.Binary{})), "logout": ok()})
	c.Renew(t)
	c.TakeCommands()
	shelltest.Run(t, c,
		step{`db.auth({user: "kim", pwd: "sesame", mechanism: "PLAIN"})`, "{ ok: 1 }"},
		step{`db.getMongo().getURI()`, "mongodb://<credentials>@fixture:27017/"},
		step{`db.orders.findOne({_id: 1}).a`, "v1"},
		step{`passwordPrompt = () => ""; db.auth("kim")`, "MongoshInvalidInputError: [COMMON-10001] auth expects user document with at least 'user' and 'pwd' or 'mechanism' fields"},
		step{`db.logout()`, "{ ok: 1 }"},
	)
	if sent := strings.Join(c.TakeCommands(), "\n"); !strings.Contains(sent, `"mechanism":"PLAIN","payload":{"$binary":{"base64":"AGtpbQBzZXNhbWU=",`) {
		t.Errorf("sent %s", sent)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel() // most of it is waiting
	shelltest.Check(t, shelltest.Connect(t), []shelltest.Case{
		{`connect()`, "", "MongoshInvalidInputError: [COMMON-10001] Missing required argument uri (connect)"},
		{`connect(5)`, "", "MongoshInvalidInputError: [COMMON-10001] Argument uri must be of type string, got number instead (connect)"},
		{`Mongo("http://u:secret@x")`, "", "MongoshInvalidInputError: [COMMON-10001] Invalid URI: http://<credentials>@x"},
		{`try { Mongo("mongodb://u:secret@a:b:c") } catch (e) { [e.name, /secret/.test(e.message)] }`, "", "[ 'MongoParseError', false ]"},
		{`Mongo("mongodb://x", {keyVaultNamespace: "a.b"})`, "", "MongoshUnimplementedError: [COMMON-90002] client-side field level encryption is not available in shardsh"},
		{`Mongo("mongodb://x", {}, {api: {version: "2"}})`, "", "MongoInvalidArgumentError: Invalid server API version=2; must be in the following enum: [\"1\"]"},
		{`connect("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1000")`, "", "MongoNetworkError: connect ECONNREFUSED 127.0.0.1:1"},
		{`connect("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1000", "kim", "sesame")`, "", "MongoNetworkError: connect ECONNREFUSED 127.0.0.1:1"},
	})
}

// TestConnectionOptions is db.getMongo() of rules/04-objects §6.1.
func TestConnectionOptions(t *testing.T) {
	m := "db.getMongo()."
	shelltest.Check(t, shelltest.Connect(t), []shelltest.Case{
		{m + `getReadPref()`, "", "{ mode: 'primary' }"},
		{m + `getReadPrefTagSet()`, "", ""},
		{m + `setReadPref("secondary", [{dc: "x"}], {enabled: true}); ` + m + `getReadPref()`, "", "{ mode: 'secondary', tags: [ { dc: 'x' } ], hedge: { enabled: true } }"},
		{m + `setReadPref("secondary", [{dc: "x"}]); ` + m + `getReadPrefTagSet()`, "", "[ { dc: 'x' } ]"},
		{m + `setReadPref("primarypreferred")`, "", `MongoInvalidArgumentError: Invalid read preference mode "primarypreferred"`},
		{m + `setReadPref("nowhere")`, "", `MongoInvalidArgumentError: Invalid read preference mode "nowhere"`},
		{m + `setReadPref("primary", [{dc: "x"}])`, "", "MongoInvalidArgumentError: Primary read preference cannot be combined with tags"},
		{m + `setReadPref("nearest", {dc: "x"})`, "", "MongoInvalidArgumentError: ReadPreference tags must be an array"},
		{m + `setReadConcern("majority"); ` + m + `getReadConcern()`, "", "majority"},
		{m + `setWriteConcern("majority", 100, true); ` + m + `getWriteConcern()`, "", "{ w: 'majority', wtimeout: 100, j: true }"},
		{m + `setWriteConcern({w: 1, wtimeout: 5, fsync: true}); ` + m + `getWriteConcern()`, "", "{ w: 1, wtimeout: 5, j: true }"},
		{m + `setWriteConcern(-1)`, "", "MongoshInvalidInputError: [COMMON-10001] w value must be equal to or greather than 0, got: -1"},
		{m + `setWriteConcern({w: 1}, 5)`, "", "MongoshInvalidInputError: [COMMON-10001] If concern is given as an object no other arguments must be specified"},
		{m + `setWriteConcern(true)`, "", "MongoshInvalidInputError: [COMMON-10001] w value must be a number or string, got: boolean"},
		{m + `setWriteConcern(1, "x")`, "", "MongoshInvalidInputError: [COMMON-10001] wtimeoutMS value must be a number, got: string"},
		{m + `setWriteConcern(1, -1)`, "", "MongoshInvalidInputError: [COMMON-10001] wtimeoutMS must be equal to or greather than 0, got: -1"},
		{m + `setWriteConcern(1, 1, "x")`, "", "MongoshInvalidInputError: [COMMON-10001] j value must be a boolean, got: string"},
		{m + `setSlaveOk()`, "", "MongoshDeprecatedError: [COMMON-10003] Setting slaveOk is deprecated, use setReadPref instead."},
		{m + `isCausalConsistency()`, "", "MongoshUnimplementedError: [COMMON-90002] Causal consistency for drivers is set via Mongo.startSession and can be checked via session.getOptions. The default value is true"},
		{m + `getKeyVault()`, "", "MongoshInvalidInputError: [SHAPI-10005] Cannot call getClientEncryption() without field-level encryption options"},
		{m + `getCollection("x")`, "", "MongoshInvalidInputError: [COMMON-10001] Collection must be of the format <db>.<collection>"},
		{m + `use("other")`, "", "switched to db other"},
		{m + `use("app")`, "", "already on db app"},
		{m + `watch([{$match: {a: 1}}])`, `admin {"aggregate":1,"pipeline":[{"$changeStream":{"allChangesForCluster":true}},{"$match":{"a":1}}],"cursor":{}}`, ""},
	})
}

// TestClientBulkWrite: several collections in one command.
func TestClientBulkWrite(t *testing.T) {
	c := shelltest.Connect(t)
	done := func(failures ...any) bson.D {
		return ok(field("cursor", bson.D{field("id", int64(0)), field("ns", "admin.$cmd.bulkWrite"), field("firstBatch", append(bson.A{}, failures...))}),
			field("nInserted", int32(1)), field("nMatched", int32(1)), field("nModified", int32(1)), field("nUpserted", int32(0)), field("nDeleted", int32(2)))
	}
	c.SetAnswers(map[string]bson.D{"bulkWrite": done()})
	const models = `[{namespace: "a.x", name: "insertOne", document: {_id: 1}}, {namespace: "a.y", name: "updateOne", filter: {}, update: {$set: {b: 1}}, upsert: true}, {namespace: "a.x", name: "deleteMany", filter: {c: 1}}]`
	shelltest.Check(t, c, []shelltest.Case{
		{`db.getMongo().bulkWrite(` + models + `)`,
			`admin {"bulkWrite":1,"errorsOnly":true,"ordered":true,"ops":[{"insert":0,"document":{"_id":1}},{"update":1,"filter":{},"updateMods":{"$set":{"b":1}},"multi":false,"upsert":true},{"delete":0,"filter":{"c":1},"multi":true}],"nsInfo":[{"ns":"a.x"},{"ns":"a.y"}]}`,
			"{\n  acknowledged: true,\n  insertedCount: 1,\n  matchedCount: 1,\n  modifiedCount: 1,\n  deletedCount: 2,\n  upsertedCount: 0,\n  insertResults: undefined,\n  updateResults: undefined,\n  deleteResults: undefined\n}"},
		{`db.getMongo().bulkWrite([])`, "", "MongoClientBulkWriteExecutionError: Models can not be empty."},
		{`db.getMongo().bulkWrite([{name: "insertOne", document: {}}])`, "", `MongoshInvalidInputError: [COMMON-10001] bulkWrite model 0 needs a namespace "<db>.<collection>"`},
	})
	c.SetAnswers(map[string]bson.D{"bulkWrite": done(bson.D{field("ok", 0.0), field("idx", int32(0)), field("code", int32(11000)), field("errmsg", "dup"), field("n", int32(0))})})
	shelltest.Check(t, c, []shelltest.Case{
		{`try { db.getMongo().bulkWrite(` + models + `) } catch (e) { [e.name, e.writeErrors, e.partialResult.deletedCount] }`, "",
			"[\n  'MongoClientBulkWriteError',\n  Map(1) { 0 => { code: 11000, message: 'dup' } },\n  2\n]"},
	})
}
