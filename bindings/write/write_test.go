package write_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

// TestWriteErrors: what scripts read of a failed write, as mongosh gives it.
func TestWriteErrors(t *testing.T) {
	caught := func(call, what string) string {
		return `try { ` + call + ` } catch (e) { EJSON.stringify(` + what + `) }`
	}
	const dup = `E11000 duplicate key error collection: app.orders index: _id_ dup key: { _id: `
	shelltest.Check(t, shelltest.Connect(t), []shelltest.Case{
		{caught(`db.orders.insertMany([{_id: 910}, {_id: 1}, {_id: 911}, {_id: 2}], {ordered: false})`, `[e.name, e.code, e.message, e.result, Object.keys(e)]`), "",
			`["MongoBulkWriteError",11000,"` + dup + `1 }",{"insertedCount":2,"matchedCount":0,"modifiedCount":0,"deletedCount":0,"upsertedCount":0,"upsertedIds":{},"insertedIds":{"0":910,"2":911}},["errorLabelSet","errorResponse","code","writeErrors","result"]]`},
		{caught(`db.orders.insertMany([{_id: 910}, {_id: 1}, {_id: 911}])`, `[e.result.insertedIds, e.writeErrors.length, e.writeErrors[0].index, e.writeErrors[0].err.op]`), "",
			`[{"0":910},1,1,{"_id":1}]`},
		{caught(`db.orders.bulkWrite([{insertOne: {_id: 920}}, {insertOne: {_id: 1}}, {updateOne: {filter: {_id: 921}, update: {$set: {a: 1}}, upsert: true}}], {ordered: false})`,
			`[e.result.hasWriteErrors(), e.result.getWriteErrorCount(), e.result.getWriteErrorAt(0).code, e.result.getUpsertedIds(), e.result.getInsertedIds(), e.result.nInserted, e.result instanceof BulkWriteResult]`), "",
			`[true,1,11000,[{"index":2,"_id":921}],[{"index":0,"_id":920}],1,true]`},
		{caught(`db.orders.insertOne({_id: 1})`, `[e.name, e.code, e.codeName, e.hasErrorLabel("x"), e.keyPattern, e.writeErrors]`), "", `["MongoServerError",11000,null,false,{"_id":1},null]`},
		{caught(`db.orders.updateOne({}, {a: 1})`, `[e.name, e.message]`), "", `["MongoInvalidArgumentError","Update document requires atomic operators"]`},
		{`db.orders.updateOne({}, [])`, "", "MongoInvalidArgumentError: Update document requires atomic operators"},
		{`db.orders.updateMany({}, [{a: 1}])`, "", "MongoInvalidArgumentError: Update document requires atomic operators"},
		{`db.orders.replaceOne({}, {$set: {a: 1}})`, "", "MongoInvalidArgumentError: Replacement document must not contain atomic operators"},
		{`db.orders.insertMany({})`, "", `MongoInvalidArgumentError: Argument "docs" must be an array of documents`},
		{`db.orders.insertMany([, {a: 1}])`, "", "MongoInvalidArgumentError: Document must be a valid JavaScript object"},
		{`db.orders.bulkWrite({})`, "", `MongoInvalidArgumentError: Argument "operations" must be an array of documents`},
		{`db.orders.bulkWrite([{deleteOne: {}}])`, "", "MongoInvalidArgumentError: bulkWrite operation 0 needs a document as its filter"},
		{`db.orders.bulkWrite([{updateOne: {filter: {}}}])`, "", "MongoInvalidArgumentError: Update document requires atomic operators"},
		{`db.orders.findOneAndUpdate({}, {$set: {a: 1}}, {returnDocument: "x"})`, "", "MongoshInvalidInputError: [COMMON-10001] returnDocument needs to be either 'before' or 'after'"},
		{`db.orders.createIndexes({a: 1})`, "", "MongoshInvalidInputError: [COMMON-10001] createIndexes takes an array of keys; createIndex takes one"},
		{`db.orders.stats({indexDetailsName: 5})`, "", "MongoshInvalidInputError: [COMMON-10001] Expected options.indexDetailsName to be a string, got number"},
		{`db.orders.stats({indexDetailsKey: 5})`, "", "MongoshInvalidInputError: [COMMON-10001] Expected options.indexDetailsKey to be a document, got number"},
		{`db.orders.deleteMany({_id: -1}, {writeConcern: {w: 0}}).acknowledged`, "", "false"},
		{`db.orders.insertMany([{_id: 930}], {writeConcern: {w: 0}})`, "", "{ acknowledged: false, insertedIds: { '0': 930 } }"},
	})
}

// TestWriteConcernErrors: the write happened, its confirmation did not.
func TestWriteConcernErrors(t *testing.T) {
	c := shelltest.Connect(t)
	reply := ok(field("n", int32(1)), field("nModified", int32(1)), field("writeConcernError", bson.D{
		field("code", int32(64)), field("codeName", "WriteConcernTimeout"), field("errmsg", "waiting for replication timed out"), field("errInfo", bson.D{field("wtimeout", true)})}))
	c.SetAnswers(map[string]bson.D{"insert": reply, "update": reply, "delete": reply, "findAndModify": reply, "dropIndexes": reply,
		"bulkWrite": append(reply, field("cursor", bson.D{field("id", int64(0)), field("ns", "admin.$cmd.bulkWrite"), field("firstBatch", bson.A{})}))})
	show := `[e.name, e.code, e.codeName, e.message, e.result]`
	shelltest.Check(t, c, []shelltest.Case{
		{`try { db.orders.insertOne({_id: 1}) } catch (e) { EJSON.stringify(` + show + `) }`, "",
			`["MongoWriteConcernError",64,"WriteConcernTimeout","waiting for replication timed out",{"n":1,"nModified":1,"writeConcernError":{"code":64,"codeName":"WriteConcernTimeout","errmsg":"waiting for replication timed out","errInfo":{"wtimeout":true}},"ok":1}]`},
		{`try { db.orders.bulkWrite([{deleteMany: {filter: {}}}]) } catch (e) { [e.name, e.code, e.writeErrors.length, e.result.deletedCount, e.result.getWriteConcernError().code] }`, "",
			"[ 'MongoBulkWriteError', 64, 0, 1, 64 ]"},
		{`try { db.orders.dropIndexes() } catch (e) { [e.name, e.code, e.result.n] }`, "", "[ 'MongoWriteConcernError', 64, 1 ]"},
		{`try { db.orders.findOneAndUpdate({_id: 1}, {$set: {a: 1}}) } catch (e) { [e.name, e.code, e.result.n] }`, "", "[ 'MongoWriteConcernError', 64, 1 ]"},
		{`try { db.getMongo().bulkWrite([{namespace: "a.b", name: "insertOne", document: {}}]) } catch (e) { [e.name, e.writeErrors.size, e.writeConcernErrors] }`, "",
			"[\n  'MongoClientBulkWriteError',\n  0,\n  [ { code: 64, message: 'waiting for replication timed out' } ]\n]"},
	})
}

// TestLabelsAndHints: labels, and the hint for reads that met a secondary.
func TestLabelsAndHints(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{
		"count":    {field("ok", 0.0), field("errmsg", "not primary and secondaryOk=false"), field("code", int32(13435)), field("codeName", "NotPrimaryNoSecondaryOk")},
		"distinct": {field("ok", 0.0), field("errmsg", "later"), field("code", int32(91)), field("codeName", "ShutdownInProgress"), field("errorLabels", bson.A{"Later"})},
	})
	shelltest.Check(t, c, []shelltest.Case{
		{`db.orders.estimatedDocumentCount()`, "", "MongoServerError[NotPrimaryNoSecondaryOk]: not primary - consider using db.getMongo().setReadPref() or readPreference in the connection string"},
		{`try { db.orders.distinct("a") } catch (e) { [e.hasErrorLabel("Later"), e.hasErrorLabel("x"), e.codeName, e instanceof Error] }`, "", "[ true, false, 'ShutdownInProgress', true ]"},
		{`try { connect("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500") } catch (e) { [e.name, e.hasErrorLabel("x")] }`, "", "[ 'MongoNetworkError', false ]"},
	})
}

// TestFieldOrderSurvives is trap 8 of rules/04-outputs-and-traps §10.
func TestFieldOrderSurvives(t *testing.T) {
	c := shelltest.Connect(t)
	doc := bson.D{field("b", int32(1)), field("1", int32(1)), field("_id", int32(77))}
	index := bson.D{field("v", int32(2)), field("key", bson.D{field("b", int32(1)), field("1", int32(1))}), field("name", "b_1_1_1")}
	list := func(docs ...any) bson.D {
		return ok(field("cursor", bson.D{field("firstBatch", append(bson.A{}, docs...)), field("id", int64(0)), field("ns", "app.d")}))
	}
	c.SetAnswers(map[string]bson.D{"find": list(doc), "listIndexes": list(index)})
	refusal := `MongoshInvalidInputError: [COMMON-10001] Key field "1" looks like an array index: JavaScript moves such fields to the front, so the order of this key cannot be trusted. Write it as a Map: new Map([["a", 1], ["1", 1]])`
	shelltest.Check(t, c, []shelltest.Case{
		{`db.copy.insertOne(db.d.findOne()).insertedId`, `app {"find":"d","filter":{},"limit":1}` + "\n" + `app {"insert":"copy","documents":[{"b":1,"1":1,"_id":77}],"ordered":true}`, "77"},
		{`db.d.findOne()`, "", "{ b: 1, '1': 1, _id: 77 }"},
		{`db.copy.createIndex(db.d.getIndexes()[0].key)`, `app {"listIndexes":"d","cursor":{}}` + "\n" + `app {"createIndexes":"copy","indexes":[{"name":"b_1_1_1","key":{"b":1,"1":1}}]}`, "b_1_1_1"},
		{`db.copy.createIndex({b: 1, 1: 1})`, "", refusal},
		{`db.copy.createIndex({1: 1})`, `app {"createIndexes":"copy","indexes":[{"name":"1_1","key":{"1":1}}]}`, "1_1"},
		{`db.copy.createIndex(new Map([["b", 1], ["1", 1]]))`, `app {"createIndexes":"copy","indexes":[{"name":"b_1_1_1","key":{"b":1,"1":1}}]}`, "b_1_1_1"},
		{`sh.shardCollection("app.copy", {b: 1, 1: 1})`, "", refusal},
	})
}

// TestReadsAreTriedAgain: once, on a member that is stepping down, and never when
// the command writes.
func TestReadsAreTriedAgain(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := shelltest.Connect(t)
	gone := bson.D{field("ok", 0.0), field("errmsg", "shutting down"), field("code", int32(91)), field("codeName", "ShutdownInProgress")}
	c.SetAnswers(map[string]bson.D{"find": gone, "aggregate": gone, "count": gone, "drop": gone})
	const find = `app {"find":"orders","filter":{}}`
	out := `app {"aggregate":"orders","pipeline":[{"$out":"x"}],"cursor":{}}`
	failure := "MongoServerError[ShutdownInProgress]: shutting down"
	shelltest.Check(t, c, []shelltest.Case{
		{`db.orders.find().toArray()`, find + "\n" + find, failure},
		{`db.orders.estimatedDocumentCount()`, `app {"count":"orders"}` + "\n" + `app {"count":"orders"}`, failure},
		{`db.orders.aggregate([{$out: "x"}])`, out, failure},
		{`db.orders.drop()`, `app {"drop":"orders"}`, failure},
		{`db.getMongo().startSession().getDatabase("app").orders.find().toArray()`, find, failure},
	})
}
