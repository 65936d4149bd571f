package oldshell_test

import (
	"testing"

	"shardsh/bindings/shelltest"
)

func TestOldShellNames(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{`tojson({a: 1, b: [1, "x"], c: {}})`, `{ "a" : 1, "b" : [ 1, "x" ], "c" : { } }`},
		step{`tojson({a: "x".repeat(80), b: [1]})`, "{\n\t\"a\" : \"" + repeat("x", 80) + "\",\n\t\"b\" : [\n\t\t1\n\t]\n}"},
		step{`tojsononeline({l: NumberLong("5"), o: ObjectId("507f1f77bcf86cd799439011"), d: ISODate("2024-01-02"), t: Timestamp(1, 2), m: MinKey()})`,
			`{ "l" : NumberLong(5), "o" : ObjectId("507f1f77bcf86cd799439011"), "d" : ISODate("2024-01-02T00:00:00Z"), "t" : Timestamp(1, 2), "m" : { "$minKey" : 1 } }`},
		step{"printjsononeline([1])", "[ 1 ]"},
		step{"db.getSisterDB('config').getName()", "config"},
		step{"friendlyEqual({a: 1}, {a: NumberLong('1')})", "true"},
		step{"bsonWoCompare({a: 1}, {a: 2})", "-1"},
		step{"hex_md5('abc')", "900150983cd24fb0d6963f7d28e17f72"},
		step{"isNumber(5) && isString('x') && isObject({})", "true"},
		step{"ErrorCodes.NamespaceNotFound", "26"},
		step{"Random.setRandomSeed(5); const r1 = Random.rand(); Random.setRandomSeed(5); r1 == Random.rand() && Random.randInt(5) < 5", "true"},
		step{"typeof Random.randInt([-(2 ** 62), 2 ** 62 + 2 ** 61])", "number"},
		step{"Array.contains([1, 2], 2) && Array.sum([1, 2]) == 3 && Array.unique([1, 1, 2]).length == 2", "true"},
		step{"Object.merge({a: {b: 1}}, {a: {c: 2}}, true)", "{ a: { c: 2 } }"},
		step{"(7).zeroPad(3) + ' x '.ltrim() + 'ab'.pad(4)", "007x   ab"},
		step{"[Object.isEmpty({}), Object.bsonsize({a: 1}), Array.sort([3, 1, 2]), new Date(0).tojson()]", "[ true, 12, [ 1, 2, 3 ], 'ISODate(\"1970-01-01T00:00:00Z\")' ]"},
		step{"[ErrorCodeStrings[26], ErrorCodes.ConflictingOperationInProgress]", "[ 'NamespaceNotFound', 117 ]"},
		step{"[new DB(db.getMongo(), 'x').getName(), new DBCollection(db.getMongo(), db, 'c', 'app.c').getFullName()]", "[ 'x', 'app.c' ]"},
		step{"new DB(5, 'x')", "MongoshInvalidInputError: [COMMON-10001] Argument mongo must be of type object, got number instead (DB)"},
		step{"new WriteResult()", "TypeError: WriteResult cannot be constructed"},
		step{"[db.orders.find().length() > 0, db.getSecondaryOk(), typeof rs.slaveOk]", "[ true, false, 'function' ]"},
		step{"db.nosuchHelper()", "TypeError: app.nosuchHelper is a collection, not a function"},
		step{"db.orders.finde()", "TypeError: app.orders.finde is a collection, not a function; did you mean find()?"},
		step{"db.orders instanceof DBCollection && db instanceof DB && db.orders.find() instanceof DBQuery", "true"},
		step{"DBCollection.prototype.shout = function () { return this.getName().toUpperCase() }; db.orders.shout()", "ORDERS"},
		step{"DB.prototype.twice = function () { return this.getName() + this.getName() }; db.twice()", "appapp"},
		step{"const w = db.orders.insertOne({_id: 900}); [w.nInserted, w.ok, w.hasWriteError(), w.writeErrors]", "[ 1, 1, false, undefined ]"},
		step{"const u = db.orders.updateOne({_id: 901}, {$set: {a: 1}}, {upsert: true}); [u.upsertedId, u.nUpserted, u.getUpsertedId()]", "[ 901, 1, { index: 0, _id: 901 } ]"},
		step{"Object.keys(u)", "[\n  'acknowledged',\n  'insertedId',\n  'matchedCount',\n  'modifiedCount',\n  'upsertedCount'\n]"},
		step{"sh._adminCommand({nosuch: 1}).code", "59"},
		step{"sh._checkFullName('x')", "Error: needs a fully qualified namespace"},
		step{"sh.getBalancerWindow()", "{ start: '23:00', stop: '6:00' }"},
		step{"sh.getShouldAutoSplit()", "true"},
		step{"sh._pchunk({min: {k: MinKey()}, max: {k: 5}})", `[{ "k" : { "$minKey" : 1 } }] -> [{ "k" : 5 }]`},
		step{"sh.getBalancerHost()", "sh.getBalancerHost() has no effect: the balancer runs on the config server primary and holds no lock.\nnull"},
		step{"convertShardKeyToHashed(1)", "Long('5902408780260971510')"},
	)
}

func repeat(s string, n int) string {
	out := ""
	for range n {
		out += s
	}
	return out
}

func TestModules(t *testing.T) {
	dir := t.TempDir()
	c := shelltest.Connect(t)
	shelltest.Run(t, c,
		step{"const fs = require('fs'), f = '" + dir + "/x.txt'; fs.writeFileSync(f, 'a'); fs.appendFileSync(f, 'b'); [fs.readFileSync(f, 'utf8'), fs.existsSync(f), fs.statSync(f).size, fs.readdirSync('" + dir + "')]",
			"[ 'ab', true, 2, [ 'x.txt' ] ]"},
		step{"fs.readFileSync('/no/such')", "Error: ENOENT: no such file or directory, open '/no/such'"},
		step{"cat(f)", "ab"},
		step{"path.join('a', '..', 'b', path.basename('/x/y.js', '.js'))", "b/y"},
		step{"util.format('%s is %d%%', 'x', 5, {a: 1})", "x is 5% { a: 1 }"},
		step{"util.inspect({a: {b: {c: {}}}}, {depth: 0})", "{ a: [Object] }"},
		step{"crypto.createHash('sha256').update('abc').digest('hex').slice(0, 8)", "ba7816bf"},
		step{"Buffer.from('aGk=', 'base64').toString() + Buffer.from('hi').toString('hex')", "hi6869"},
		step{"new TextDecoder().decode(new TextEncoder().encode('äb'))", "äb"},
		step{"require('readline')", "Error: module 'readline' is not available in shardsh"},
		step{"require('child_process')", "Error: module 'child_process' is not available in shardsh"},
		step{"require('./nosuch')", "Error: Cannot find module './nosuch'"},
		step{"structuredClone({a: [1, new Map([[1, {b: 2}]])]})", "{\n  a: [ 1, Map(1) { 1 => { b: 2 } } ]\n}"},
		step{"Object.groupBy([1, 2, 3], x => x % 2 ? 'odd' : 'even').odd", "[ 1, 3 ]"},
		step{"(1234567.891).toLocaleString()", "1,234,567.891"},
		step{"console.table([{a: 1, b: 'x'}])", "┌─────────┬───┬─────┐\n│ (index) │ a │ b   │\n├─────────┼───┼─────┤\n│ 0       │ 1 │ 'x' │\n└─────────┴───┴─────┘"},
		step{"console.group('g'); console.log('in'); console.groupEnd(); console.log('out')", "g\n  in\nout"},
		step{"process.platform.length > 0 && process.env.PATH.length > 0 && process.cwd().startsWith('/')", "true"},
	)
}

func TestSessions(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"const s = db.getMongo().startSession(); s.getDatabase('app').orders.findOne({_id: 1}).a", "v1"},
		step{"s.getDatabase('app') === s.getDatabase('app') && s.getDatabase('app') !== db", "true"},
		step{"s.hasEnded() || (s.endSession(), s.hasEnded())", "true"},
		step{"db.getSiblingDB('app') === db && db.orders === db.getCollection('orders') && db.a.b === db.getCollection('a.b')", "true"},
		step{"db.getMongo().getDB('app') === db", "true"},
		step{"db.getMongo().setReadPref('secondary'); db.getMongo().getReadPrefMode()", "secondary"},
		step{"db.getMongo().setReadPref('nowhere')", `MongoInvalidArgumentError: Invalid read preference mode "nowhere"`},
	)
}
