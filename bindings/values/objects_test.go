package values

import (
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// expectation is a script and the text of its result; one that starts with
// "throws " expects that error.
type expectation struct{ script, want string }

func check(t *testing.T, cases []expectation) {
	t.Helper()
	for _, c := range cases {
		s := newShell(t)
		kind, got := s.run(c.script)
		if kind == "error" {
			got = "throws " + got
		}
		if got != c.want {
			t.Errorf("%s\nwant %s\ngot  %s", c.script, c.want, got)
		}
	}
}

// What generic script code sees of a wrapper.
func TestWrappersAsObjects(t *testing.T) {
	check(t, []expectation{
		{`typeof NumberLong('1')`, `object`},
		{`typeof ObjectId`, `function`},
		{`Object.keys(NumberLong('-2'))`, `[ 'high', 'low', 'unsigned' ]`},
		{`var k = []; for (var f in Long(5)) k.push(f); k`, `[ 'high', 'low', 'unsigned' ]`},
		{`({...NumberLong('4294967298')})`, `{ high: 1, low: 2, unsigned: false }`},
		{`Object.keys(Int32(1)).concat(Object.keys(Double(1)), Object.keys(Decimal128('1')))`,
			`[ 'value', 'value', 'bytes' ]`},
		{`Object.keys(BinData(0, 'aGk='))`, `[ 'sub_type', 'buffer', 'position' ]`},
		{`Object.keys(Code('x')).concat(Object.keys(DBRef('c', 1)), Object.keys(BSONRegExp('a'))).join()`,
			`code,scope,collection,oid,db,fields,pattern,options`},
		{`Object.keys(MinKey())`, `[]`},
		{`var id = ObjectId(); id === id && id !== ObjectId(id) && id.equals(ObjectId(id))`, `true`},
		{`ObjectId() instanceof ObjectId && new ObjectId() instanceof ObjectId && ObjectId() instanceof Object`, `true`},
		{`[NumberLong('1') instanceof NumberLong, NumberLong('1') instanceof Long, Timestamp(1, 2) instanceof Long, ` +
			`NumberInt(1) instanceof Int32]`, `[ true, true, true, true ]`},
		{`[UUID() instanceof UUID, UUID() instanceof Binary, UUID() instanceof BinData, BinData(0, '') instanceof UUID]`,
			`[ true, true, true, false ]`},
		{`[ISODate() instanceof Date, ISODate() instanceof ISODate, new ISODate(0).getTime()]`, `[ true, true, 0 ]`},
		{`ObjectId().constructor === ObjectId && Long(1).constructor.name`, `Long`},
		{`[ObjectId(), Long(1), Timestamp(), UUID(), MinKey(), MaxKey(), Code(''), DBRef('c', 1), Int32(1), Double(1), ` +
			`NumberDecimal('1'), BSONRegExp('a'), BSONSymbol('s'), MinKey, MaxKey].map(x => x._bsontype).join()`,
			`ObjectId,Long,Timestamp,Binary,MinKey,MaxKey,Code,DBRef,Int32,Double,Decimal128,BSONRegExp,BSONSymbol,` +
				`MinKey,MaxKey`},
		{`var l = Long(5); l.low = 7; l.extra = 1; [l.low, l.extra]`, `[ 5, undefined ]`},
		{`'low' in Long(1) && 'add' in Long(1) && !('nope' in Long(1)) && Long(1).hasOwnProperty('low') && ` +
			`!Long(1).hasOwnProperty('add')`, `true`},
		{`Object.prototype.toString.call(Long(1))`, `[object Object]`},
		{`class MyId extends ObjectId { short() { return this.str.slice(0, 4) } }; var m = new ` +
			`MyId('507f1f77bcf86cd799439011'); [m.short(), m instanceof MyId, m instanceof ObjectId, m]`,
			`[ '507f', true, true, ObjectId('507f1f77bcf86cd799439011') ]`},
		{`Long.prototype.double = function () { return this.multiply(2) }; NumberLong('21').double()`, `Long('42')`},
		{`Long.prototype.add.call({}, 1)`, `throws TypeError: Method add called on incompatible receiver`},
		{`JSON.stringify([Timestamp(1, 2), MinKey(), UUID('01234567-89ab-cdef-0123-456789abcdef'), ` +
			`NumberLong('9007199254740993'), Double(1.5), BSONRegExp('a', 'i'), Code('x', {a: 1}), DBRef('c', 1), ` +
			`BSONSymbol('s')])`,
			`[{"$timestamp":"4294967298"},{"$minKey":1},"01234567-89ab-cdef-0123-456789abcdef","9007199254740993",1.5,` +
				`{"pattern":"a","options":"i"},{"code":"x","scope":{"a":1}},{"$ref":"c","$id":1},"s"]`},
		{`new Map([[1, Long(2)]]).get(1)`, `Long('2')`},
		{`[Long(3), Long(10), Long(1)].sort((a, b) => a - b)`, `[ Long('1'), Long('3'), Long('10') ]`},
		{`Math.max(Long(3), Int32(4), Double(2.5))`, `4`},
		// own fields have values, everything else is inherited
		{`[ObjectId(), Long(1), Timestamp(1, 2), Int32(1), Double(1), Decimal128('1'), UUID(), Code('x', {}), DBRef('c', 1, 'd'), BSONRegExp('a'), BSONSymbol('s'), MinKey()]
			.every(v => Object.keys(v).every(k => v.hasOwnProperty(k) && k in v && v[k] !== undefined) && !v.hasOwnProperty('toString') && v.nope === undefined)`, `true`},
		{`var d = DBRef('c', 1, 'd', {x: 2}); [d.collection, d.$ref, d.oid, d.$id, d.db, d.$db, d.fields.x, DBRef('c', ` +
			`1).db].join()`, `c,c,1,1,d,d,2,`},
		{`var c = Code('x', {a: 1}); [c.code, c.scope.a, Code('y').scope, String(c)].join()`, `x,1,,x`},
		{`var id = ObjectId('507f1f77bcf86cd799439011'); [id.i0, id.i1, id.i2, id.i3].join()`,
			`5275423,7847160,7133081,4427793`},
		{`JSON.stringify({...Int32(5), ...BSONSymbol('s')})`, `{"value":"s"}`},
		{`var b = BinData(0, 'aGk='); [b.sub_type, b.position, b.length(), b.buffer[0], b.value()[1], b.read(1, ` +
			`1)[0]].join()`, `0,2,2,104,105,105`},
		{`Binary(new Uint8Array(0)).length() + Binary(new Uint8Array([1, 2, 3]).subarray(1)).hex() + Binary(new ` +
			`Uint8Array([7]).buffer).hex()`, `0020307`},
		{`var u = new Uint8Array([1]); var b = Binary(u); u[0] = 9; b.hex()`, `01`},
		{`'abc'[Long(1)] + [10, 20][Int32(1)] + 'x'.repeat(Long(2)) + new Date(Long(5)).getTime()`, `b20xx5`},
		{`Object.isFrozen(Long(1)) || 'use strict'; (function () { 'use strict'; try { Long(1).low = 2 } catch (e) { ` +
			`return e.name } })()`, `TypeError`},
		{`structuredCloneLike = {...{a: ObjectId('507f1f77bcf86cd799439011')}}`,
			`{ a: ObjectId('507f1f77bcf86cd799439011') }`},
	})
}

// The globals are made late and must not stay in a script's way.
func TestGlobalsAreOrdinary(t *testing.T) {
	check(t, []expectation{
		{`Object.keys(globalThis).includes('ObjectId')`, `false`},
		{`ObjectId === ObjectId && NumberLong === globalThis.NumberLong`, `true`},
		{`var ObjectId = 5; ObjectId`, `5`},
		{`ObjectId = 6; ObjectId`, `6`},
		{`function UUID() { return 'mine' }; UUID()`, `mine`},
		{`EJSON = {a: 1}; EJSON`, `{ a: 1 }`},
		{`delete globalThis.MD5; typeof MD5`, `undefined`},
		{`Object.getOwnPropertyDescriptor(globalThis, 'Long').configurable`, `true`},
		{`Long; Object.getOwnPropertyDescriptor(globalThis, 'Long').writable`, `true`},
		{`ObjectId`, `[Function: ObjectId]`},
		{`[NumberLong, UUID, ISODate, bsonsize]`, `[
  [Function: NumberLong],
  [Function: UUID],
  [Function: ISODate],
  [Function: bsonsize]
]`},
		{`[MinKey, MaxKey]`, `[ MinKey(), MaxKey() ]`},
	})
}

// A script may use the names of built-ins for things of its own.
func TestBuiltInsMayBeReplaced(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	v, err := rt.RunString(`
		var value = {m: new Map([['a', new Date(5)]]), s: new Set([1]), e: new Error('x'), r: /a/i, b: BinData(9, 'AwAB'), u: new Uint8Array([1])};
		var Map = 1, Set = 2, Date = 3, Error = 4, RegExp = 5, JSON = 6, WeakMap = 7, Uint8Array = 8, Array = 9, TypeError = 10;
		Object.freeze(Object.prototype);
		Object = 11;
		value`)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  m: Map(1) { 'a' => ISODate('1970-01-01T00:00:00.005Z') },
  s: Set(1) { 1 },
  e: [Error: x],
  r: /a/i,
  b: Binary.fromInt8Array(new Int8Array([ 1 ])),
  u: Uint8Array(1) [ 1 ]
}`
	if got := w.Inspect(v, DefaultInspectOptions()); got != want {
		t.Errorf("got %s", got)
	}
	doc, err := w.DocFromJS(v)
	if err != nil {
		t.Fatal(err)
	}
	back := w.DocToJS(doc)
	if got := w.Inspect(back.Get("m"), DefaultInspectOptions()); got != `{ a: ISODate('1970-01-01T00:00:00.005Z') }` {
		t.Errorf("back: %s", got)
	}
	if got := w.Inspect(w.DocToJS(marshal(t, bson.D{{Key: "toString", Value: int32(1)}})),
		DefaultInspectOptions()); got != `{ toString: 1 }` {
		t.Errorf("a field named like a frozen method: %s", got)
	}
	w.SetPrinter(rt.NewDynamicObject(&collection{}), func() string { return "" })
	if _, err := rt.RunString(`bsonsize(null)`); err == nil || !strings.HasPrefix(err.Error(), "TypeError") {
		t.Error(err)
	}
	if _, err := rt.RunString(`ISODate('2024-01-01').getTime() + EJSON.stringify(EJSON.parse('{"$date":"2020-01-01"}')) ` +
		`+ BinData(0, 'aa').buffer.length`); err != nil {
		t.Error(err)
	}
}

func TestClock(t *testing.T) {
	rt := goja.New()
	now := time.Date(2031, 2, 3, 4, 5, 6, 7_000_000, time.UTC)
	Install(rt, Options{Now: func() time.Time { return now }})
	v, err := rt.RunString(`[ISODate().toISOString(), ObjectId().getTimestamp().toISOString(), ISODate.now()].join()`)
	if err != nil {
		t.Fatal(err)
	}
	if want := "2031-02-03T04:05:06.007Z,2031-02-03T04:05:06.000Z,1927857906007"; v.String() != want {
		t.Errorf("got %s, want %s", v, want)
	}
}

func TestWarningsComeOnce(t *testing.T) {
	s := newShell(t)
	_, text := s.run(`NumberLong(1); NumberLong(2); NumberDecimal(1); NumberDecimal(2); 0`)
	want := `Warning: NumberLong: specifying a number as argument is deprecated and may lead to loss of precision, pass a string instead
Warning: NumberDecimal: specifying a number as argument is deprecated and may lead to loss of precision, pass a string instead
0`
	if text != want {
		t.Errorf("got\n%s", text)
	}
}
