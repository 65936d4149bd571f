package cursor_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestCursorMethods is the table of rules/04-objects §6.5: what reaches the server, and
// what is refused before.
func TestCursorMethods(t *testing.T) {
	find := func(more string) string { return `app {"find":"orders","filter":{}` + more + `}` }
	const f = `db.orders.find()`
	shelltest.Check(t, shelltest.Connect(t), []shelltest.Case{
		{f + `.sort({a: -1, b: "asc"}).toArray().length > 0`, find(`,"sort":{"a":-1,"b":1}`), "true"},
		{f + `.sort([["a", -1], ["b", 1]]).hasNext()`, find(`,"sort":{"a":-1,"b":1}`), "true"},
		{f + `.sort(["a", "desc"]).hasNext()`, find(`,"sort":{"a":-1}`), "true"},
		{f + `.sort(["a", "b"]).hasNext()`, find(`,"sort":{"a":1,"b":1}`), "true"},
		{f + `.sort({score: {$meta: "textScore"}}).isClosed()`, "", "false"},
		{f + `.sort({a: "x"})`, "", `MongoInvalidArgumentError: Invalid sort direction: "x"`},
		{f + `.sort({b: 1, 1: 1})`, "", `MongoshInvalidInputError: [COMMON-10001] Key field "1" looks like an array index: JavaScript moves such fields to the front, so the order of this key cannot be trusted. Write it as a Map: new Map([["a", 1], ["1", 1]])`},
		{f + `.sort(new Map([["a", 1], ["1", 1]])).hasNext()`, find(`,"sort":{"a":1,"1":1}`), "true"},
		{f + `.projection({a: 1}).hasNext()`, find(`,"projection":{"a":1}`), "true"},
		{f + `.project({a: 1}).hasNext()`, find(`,"projection":{"a":1}`), "true"},
		{f + `.hint({_id: 1}).min({_id: 1}).max({_id: 9}).hasNext()`, find(`,"hint":{"_id":1},"min":{"_id":1},"max":{"_id":9}`), "true"},
		{f + `.comment("c").collation({locale: "de"}).maxTimeMS(5).hasNext()`, find(`,"comment":"c","collation":{"locale":"de"},"maxTimeMS":5`), "true"},
		{f + `.returnKey(true).showRecordId(false).noCursorTimeout().allowPartialResults().hasNext()`,
			find(`,"returnKey":true,"showRecordId":false,"noCursorTimeout":true,"allowPartialResults":true`), "true"},
		{f + `.sort({a: 1}).allowDiskUse().hasNext()`, find(`,"sort":{"a":1},"allowDiskUse":true`), "true"},
		{f + `.readConcern("majority").hasNext()`, find(`,"readConcern":{"level":"majority"}`), "true"},
		{f + `.tailable({awaitData: true}).hasNext()`, find(`,"tailable":true,"awaitData":true`), "true"},
		{f + `.addOption(2).addOption(32).addOption(16).addOption(128).addOption(64).hasNext()`, find(`,"tailable":true,"awaitData":true,"noCursorTimeout":true,"allowPartialResults":true`), "true"},
		{f + `.allowDiskUse()`, "", `MongoInvalidArgumentError: Option "allowDiskUse" requires a sort specification`},
		{f + `.limit("x")`, "", `MongoInvalidArgumentError: Operation "limit" requires an integer`},
		{f + `.skip("x")`, "", `MongoInvalidArgumentError: Operation "skip" requires an integer`},
		{f + `.batchSize("x")`, "", `MongoInvalidArgumentError: Operation "batchSize" requires an integer`},
		{f + `.maxTimeMS("x")`, "", "MongoInvalidArgumentError: Argument for maxTimeMS must be a number"},
		{f + `.maxAwaitTimeMS("x")`, "", "MongoInvalidArgumentError: Argument for maxAwaitTimeMS must be a number"},
		{f + `.addOption(4)`, "", "MongoshUnimplementedError: [COMMON-90002] the slaveOk option is not supported."},
		{f + `.addOption(3)`, "", "MongoshInvalidInputError: [COMMON-10001] Unknown option flag number: 3."},
		{f + `.addOption("x")`, "", "MongoshInvalidInputError: [COMMON-10001] Unknown option flag number: x."},
		{f + `.readPref("x")`, "", `MongoInvalidArgumentError: Invalid read preference mode "x"`},
		{f + `.maxScan(1)`, "", "MongoshDeprecatedError: [COMMON-10003] `maxScan()` was removed because it was deprecated in MongoDB 4.0"},
		{`const c = ` + f + `; c.next(); c.sort({a: 1})`, "", "MongoCursorInUseError: Cursor is already initialized"},
		{`JSON.stringify(` + f + `)`, "", "MongoshInvalidInputError: [COMMON-10001] Cannot serialize a cursor to JSON. Did you mean to call .toArray() first?"},
		{`EJSON.stringify(` + f + `)`, "", "MongoshInvalidInputError: [COMMON-10001] Cannot serialize a cursor to JSON. Did you mean to call .toArray() first?"},
		{`tojson(` + f + `)`, "", "MongoshInvalidInputError: [COMMON-10001] Cannot serialize a cursor to JSON. Did you mean to call .toArray() first?"},
		{`db.orders.insertOne({c: ` + f + `})`, "", "MongoshInvalidInputError: [COMMON-10001] Cannot serialize a cursor to JSON. Did you mean to call .toArray() first?"},
		{`[...` + f + `.limit(2)].length`, find(`,"limit":2`), "2"},
		{`let n = 0; for (const d of ` + f + `.limit(3)) { n++; if (n == 2) break } n`, "", "2"},
		{`let all = ` + f + `[Symbol.asyncIterator](); all.next()`, "", ""},
		{`const e = db.orders.find({_id: -1}); [e.next(), e.hasNext(), e.tryNext(), e.isExhausted()].join()`, "", ",false,,true"},
		{`const o = ` + f + `.limit(3); o.next(); [o.isClosed(), o.isExhausted(), o.objsLeftInBatch()]`, "", "[ false, false, 2 ]"},
		{`const p = ` + f + `; p.close(); [p.isClosed(), p.next()]`, "", "[ true, null ]"},
		{`let seen = 0; ` + f + `.forEach(d => { seen++; return seen < 2 ? undefined : false }); seen`, "", "2"},
		{f + `.limit(2).map(d => d._id).map(x => x * 10).toArray()`, "", "[ 0, 10 ]"},
		{f + `.skip(2).limit(5).size()`, `app {"count":"orders","query":{},"skip":2,"limit":5}`, ""},
		{f + `.limit(2).itcount()`, find(`,"limit":2`), "2"},
		// an aggregation's methods add stages
		{`db.orders.aggregate().sort({a: 1}).skip(1).limit(2).projection({a: 1}).hasNext()`,
			`app {"aggregate":"orders","pipeline":[{"$sort":{"a":1}},{"$skip":1},{"$limit":2},{"$project":{"a":1}}],"cursor":{}}`, "true"},
		{`db.orders.aggregate({$match: {a: 1}}, {$limit: 1}).hasNext()`, `app {"aggregate":"orders","pipeline":[{"$match":{"a":1}},{"$limit":1}],"cursor":{}}`, ""},
	})
}

// TestReadPreferenceOfReads: a secondary that is behind has seen the first document only.
func TestReadPreferenceOfReads(t *testing.T) {
	shelltest.Run(t, shelltest.ConnectMock(t, mock.Config{Seed: 7}),
		shelltest.Step{`db.c.insertOne({_id: 1}); db.adminCommand({listShards: 1}).shards.forEach(s => { mock.slow(s._id, {secondary: "10s"}) })`, ""},
		shelltest.Step{`mock.advance("1m"); db.c.insertOne({_id: 2}, {writeConcern: {w: 1}}).acknowledged`, "true"},
		shelltest.Step{`const c = db.c, o = {readPreference: "secondary"}; [c.find().readPref("secondary").count(), c.find({}, {}, o).itcount(), ` +
			`c.aggregate([], o).itcount(), c.countDocuments({}, o), c.estimatedDocumentCount(o), c.count({}, o), c.distinct("_id", {}, o).length].join()`,
			"DeprecationWarning: Collection.count() is deprecated. Use countDocuments or estimatedDocumentCount.\n1,1,1,1,1,1,1"},
		shelltest.Step{`[c.findOne({_id: 2}, {}, {readPreference: {mode: "secondary"}}), c.findOne({_id: 2})._id, c.countDocuments()]`, "[ null, 2, 2 ]"},
	)
}

// TestExplain: every method of db.c.explain() sends explain.
func TestExplain(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{"explain": ok(field("executionStats", shelltest.Doc(field("nReturned", int32(1)))))})
	explain := func(command, verbosity string) string {
		return `app {"explain":{` + command + `},"verbosity":"` + verbosity + `"}`
	}
	const e = `db.orders.explain()`
	shelltest.Check(t, c, []shelltest.Case{
		{e, "", "Explainable(app.orders)"},
		{`[db.orders.explain().getVerbosity(), db.orders.explain(true).getVerbosity(), db.orders.explain(false).getVerbosity(), db.orders.explain("x").getVerbosity()]`, "",
			"[ 'queryPlanner', 'allPlansExecution', 'queryPlanner', 'x' ]"},
		{`db.orders.explain(5)`, "", "MongoshInvalidInputError: [COMMON-10001] verbosity must be a string"},
		{e + `.setVerbosity({})`, "", "MongoshInvalidInputError: [COMMON-10001] verbosity must be a string"},
		{`db.orders.find().explain(5)`, "", "MongoshInvalidInputError: [COMMON-10001] verbosity must be a string"},
		{`db.orders.find().explain().executionStats`, explain(`"find":"orders","filter":{}`, "queryPlanner"), ""},
		{`db.orders.find().explain("executionStats").executionStats.nReturned`, explain(`"find":"orders","filter":{}`, "executionStats"), "1"},
		{`db.orders.explain("x").find({a: 1}).limit(1).finish().ok`, explain(`"find":"orders","filter":{"a":1},"limit":1`, "x"), "1"},
		{e + `.aggregate([{$match: {a: 1}}]).ok`, explain(`"aggregate":"orders","pipeline":[{"$match":{"a":1}}],"cursor":{}`, "queryPlanner"), "1"},
		{e + `.aggregate({$limit: 1}).ok`, explain(`"aggregate":"orders","pipeline":[{"$limit":1}],"cursor":{}`, "queryPlanner"), "1"},
		{`db.orders.aggregate([]).explain("executionStats").ok`, explain(`"aggregate":"orders","pipeline":[],"cursor":{}`, "executionStats"), "1"},
		{e + `.count({a: 1}).ok`, explain(`"count":"orders","query":{"a":1}`, "queryPlanner"), "1"},
		{e + `.distinct("a", {b: 1}).ok`, explain(`"distinct":"orders","key":"a","query":{"b":1}`, "queryPlanner"), "1"},
		{e + `.update({a: 1}, {$set: {b: 1}}, {multi: true}).ok`, explain(`"update":"orders","updates":[{"q":{"a":1},"u":{"$set":{"b":1}},"multi":true}]`, "queryPlanner"), "1"},
		{e + `.remove({a: 1}, true).ok`, explain(`"delete":"orders","deletes":[{"q":{"a":1},"limit":1}]`, "queryPlanner"), "1"},
		{e + `.findAndModify({query: {a: 1}, remove: true}).ok`, explain(`"findAndModify":"orders","query":{"a":1},"remove":true`, "queryPlanner"), "1"},
		{e + `.findAndModify({query: {}})`, "", "MongoshInvalidInputError: [COMMON-10001] Must specify options.update or options.remove"},
		{e + `.findOneAndUpdate({a: 1}, {$set: {b: 1}}, {sort: {a: 1}}).ok`,
			explain(`"findAndModify":"orders","query":{"a":1},"remove":false,"new":false,"upsert":false,"update":{"$set":{"b":1}},"sort":{"a":1}`, "queryPlanner"), "1"},
		{e + `.findOneAndReplace({a: 1}, {b: 1}).ok`, explain(`"findAndModify":"orders","query":{"a":1},"remove":false,"new":false,"upsert":false,"update":{"b":1}`, "queryPlanner"), "1"},
		{e + `.findOneAndDelete({a: 1}).ok`, explain(`"findAndModify":"orders","query":{"a":1},"remove":true`, "queryPlanner"), "1"},
		{e + `.mapReduce("m", "r", "out").ok`, explain(`"mapReduce":"orders","map":"m","reduce":"r","out":"out"`, "queryPlanner"), "1"},
		{e + `.getCollection()`, "", "app.orders"},
	})
}
