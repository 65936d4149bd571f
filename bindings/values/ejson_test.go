package values

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// Expected texts are what js-bson 7.3 wrote for the same calls, except where
// a comment says otherwise.
func TestEJSONStringify(t *testing.T) {
	check(t, []expectation{
		{`EJSON.stringify(() => 1)`, ``},
		{`EJSON.stringify(undefined)`, `null`},
		{`EJSON.stringify({f() {}, s: Symbol('x'), a: [() => 1, undefined, Symbol('q')]})`, `{"a":[null,null,null]}`},
		{`EJSON.stringify(new Map([['a', 1]]))`, `{"a":1}`},
		{`EJSON.stringify(new Map([[1, 1]]))`, `throws BSONError: Can only serialize maps with string keys`},
		{`EJSON.stringify({a: /x/s, b: /x/mi})`,
			`{"a":{"$regularExpression":{"pattern":"x","options":"s"}},"b":{"$regularExpression":{"pattern":"x",` +
				`"options":"im"}}}`},
		{`EJSON.stringify([Double(5), Double(1e21), Double(-0), Double(1.5), Double(NaN)], {relaxed: false})`,
			`[{"$numberDouble":"5.0"},{"$numberDouble":"1e+21"},{"$numberDouble":"-0.0"},{"$numberDouble":"1.5"},` +
				`{"$numberDouble":"NaN"}]`},
		{`EJSON.stringify([-0, 2**62, 2**63, 2**64, -(2**63), 1e21], {relaxed: false})`,
			`[{"$numberDouble":"-0.0"},{"$numberLong":"4611686018427388000"},{"$numberLong":"9223372036854776000"},` +
				`{"$numberDouble":"18446744073709552000"},{"$numberLong":"-9223372036854776000"},{"$numberDouble":"1e+21"}]`},
		{`EJSON.stringify([Double(-0), -0, 5n])`, `[0,0,5]`},
		{`class A { toBSON() { return new A() } } EJSON.stringify(new A())`,
			`throws BSONError: Cannot convert a value nested more than 2000 levels to EJSON`},
		{`EJSON.stringify(5n, {relaxed: false})`, `{"$numberLong":"5"}`},
		{`EJSON.stringify([new Date(NaN), new Date(-5), new Date(253402318799999), new Date(1.5)])`,
			`[{"$date":{"$numberLong":"NaN"}},{"$date":{"$numberLong":"-5"}},{"$date":{"$numberLong":"253402318799999"}},` +
				`{"$date":"1970-01-01T00:00:00.001Z"}]`},
		{`EJSON.stringify(Code('x', {a: 5}), {relaxed: false})`, `{"$code":"x","$scope":{"a":{"$numberInt":"5"}}}`},
		{`EJSON.stringify(DBRef('c', ObjectId('507f1f77bcf86cd799439011'), 'd', {x: 1}))`,
			`{"$ref":"c","$id":{"$oid":"507f1f77bcf86cd799439011"},"$db":"d","x":1}`},
		{`EJSON.stringify([Object.create(null), BSONSymbol('x'), MinKey(), MaxKey])`,
			`[{},{"$symbol":"x"},{"$minKey":1},{"$maxKey":1}]`},
		{`EJSON.stringify({b: BinData(128, 'YQ=='), d: new Date(0), r: /a/i, l: NumberLong('5'), t: Timestamp(1, 2)}, ` +
			`{legacy: true})`,
			`{"b":{"$binary":"YQ==","$type":"80"},"d":{"$date":0},"r":{"$regex":"a","$options":"i"},"l":5,` +
				`"t":{"$timestamp":{"t":1,"i":2}}}`},
		{`EJSON.stringify({d: new Date(0), l: NumberLong('5'), i: Int32(5), f: Double(5), n: 5}, {legacy: true, ` +
			`relaxed: false})`,
			`{"d":{"$date":"1970-01-01T00:00:00Z"},"l":{"$numberLong":"5"},"i":5,"f":5,"n":{"$numberInt":"5"}}`},
		{`const a = {x: {y: [1]}}; a.x.y.push(a.x); EJSON.stringify(a)`,
			"throws BSONError: Converting circular structure to EJSON:\n    (root) -> x -> y -> index 1\n              " +
				"\\------------/"},
		{`const a = {}; a.a = a; EJSON.stringify(a)`,
			"throws BSONError: Converting circular structure to EJSON:\n    (root) -> a\n       \\------/"},
		{`const s = {x: 1}; EJSON.stringify([s, s])`, `[{"x":1},{"x":1}]`},
		{`EJSON.stringify({a: 1, b: {c: 2}}, ['a'])`, `{"a":1}`},
		{`EJSON.stringify({a: 1, b: {c: 2}}, (k, v) => v === 2 ? undefined : v, 2)`, "{\n  \"a\": 1,\n  \"b\": {}\n}"},
		{`EJSON.stringify({a: [], b: {}, c: [{}]}, null, '--')`, "{\n--\"a\": [],\n--\"b\": {},\n--\"c\": [\n----{}\n--]\n}"},
		{`EJSON.stringify({a: 1}, null, 1, {relaxed: false})`, "{\n \"a\": {\n  \"$numberInt\": \"1\"\n }\n}"},
		{`EJSON.stringify({u: undefined}, {ignoreUndefined: true})`, `{}`},
		{`EJSON.stringify('a"\n\u0001\ud800é')`, `"a\"\n\u0001\ud800é"`},
		{`EJSON.stringify({a: [{$oid: 'kept as it is'}]})`, `{"a":[{"$oid":"kept as it is"}]}`},
		{`EJSON.deserialize({a: {$numberLong: '1'}}, {relaxed: false})`, `{ a: Long('1') }`},
		{`EJSON.deserialize(EJSON.serialize({a: new Date(5), u: UUID('01234567-89ab-cdef-0123-456789abcdef')}))`, `{
  a: ISODate('1970-01-01T00:00:00.005Z'),
  u: UUID('01234567-89ab-cdef-0123-456789abcdef')
}`},
		// js-bson writes {} and {"0":1}: what they hold would be lost
		{`EJSON.stringify([new Set([1]), new Uint8Array([1]), new Number(5), new String('a')])`,
			`[[1],{"$binary":{"base64":"AQ==","subType":"00"}},5,"a"]`},
		// rules/04-values-and-language §4.10: relaxed Longs beyond 2^53 keep their type
		{`EJSON.stringify([NumberLong('9007199254740993'), NumberLong('-9007199254740991')])`,
			`[{"$numberLong":"9007199254740993"},-9007199254740991]`},
		// g is not an option of the server: left out instead of refused
		{`EJSON.stringify(/x/gi)`, `{"$regularExpression":{"pattern":"x","options":"i"}}`},
		{`EJSON.serialize({a: NumberLong('9007199254740993'), d: new Date(0)})`, `{
  a: { '$numberLong': '9007199254740993' },
  d: { '$date': '1970-01-01T00:00:00Z' }
}`},
	})
}

func TestEJSONParse(t *testing.T) {
	for _, c := range []struct{ text, relaxed, typed string }{
		{`{"a":{"$numberInt":"5"},"b":{"$numberDouble":"1.5"}}`, `{ a: 5, b: 1.5 }`, `{ a: Int32(5), b: Double(1.5) }`},
		{`{"$date":{"$numberLong":"5"}}`, `ISODate('1970-01-01T00:00:00.005Z')`, `ISODate('1970-01-01T00:00:00.005Z')`},
		{`{"$date":"2020-01-01"}`, `ISODate('2020-01-01T00:00:00.000Z')`, `ISODate('2020-01-01T00:00:00.000Z')`},
		{`{"$regularExpression":{"pattern":"a","options":"mi"}}`, `BSONRegExp('a', 'im')`, `BSONRegExp('a', 'im')`},
		{`{"$regex":"a","$options":"i"}`, `BSONRegExp('a', 'i')`, `BSONRegExp('a', 'i')`},
		{`{"x":{"$regex":{"$regularExpression":{"pattern":"a","options":"i"}},"$options":"i"}}`,
			`{ x: { '$regex': BSONRegExp('a', 'i'), '$options': 'i' } }`,
			`{ x: { '$regex': BSONRegExp('a', 'i'), '$options': 'i' } }`},
		{`{"$ref":"c","$id":1}`, `DBRef('c', 1)`, `DBRef('c', Int32(1))`},
		{`{"$ref":"c","$id":1,"$x":2}`, `{ '$ref': 'c', '$id': 1, '$x': 2 }`,
			`{ '$ref': 'c', '$id': Int32(1), '$x': Int32(2) }`},
		{`{"$ref":"c","$id":1,"x":2}`, `DBRef('c', 1, { x: 2 })`, `DBRef('c', Int32(1), { x: Int32(2) })`},
		{`{"$code":"x","$scope":{"a":{"$numberInt":"1"}}}`, `Code('x', { a: 1 })`, `Code('x', { a: Int32(1) })`},
		{`{"$uuid":"0123456789abcdef0123456789abcdef"}`, `UUID('01234567-89ab-cdef-0123-456789abcdef')`,
			`UUID('01234567-89ab-cdef-0123-456789abcdef')`},
		{`[{"$undefined":true},{"$minKey":1},{"$symbol":"x"},{"$numberDecimal":"1"},{"$timestamp":{"t":1,"i":2}}]`,
			"[\n  null,\n  MinKey(),\n  BSONSymbol('x'),\n  Decimal128('1'),\n  Timestamp({ t: 1, i: 2 })\n]",
			"[\n  null,\n  MinKey(),\n  BSONSymbol('x'),\n  Decimal128('1'),\n  Timestamp({ t: 1, i: 2 })\n]"},
		{`{"$oid":"xyz"}`, `throws BSONError: ` + badObjectIDText, `throws BSONError: ` + badObjectIDText},
		{`{"$numberDouble":"-0.0"}`, `-0`, `Double(-0)`},
		{`{"$numberDouble":"Infinity"}`, `Infinity`, `Double(Infinity)`},
		{`{"$dbPointer":{"$ref":"a.b","$id":{"$oid":"507f1f77bcf86cd799439011"}}}`,
			`DBRef('b', ObjectId('507f1f77bcf86cd799439011'), 'a')`, `DBRef('b', ObjectId('507f1f77bcf86cd799439011'), 'a')`},
		{`{"a\u0000b":1}`, `throws BSONError: BSON Document field names cannot contain null bytes, found: "a\u0000b"`,
			`throws BSONError: BSON Document field names cannot contain null bytes, found: "a\u0000b"`},
		{`[1,1.5,-0,4294967296,1e30]`, `[ 1, 1.5, -0, 4294967296, 1e+30 ]`,
			"[\n  Int32(1),\n  Double(1.5),\n  Double(-0),\n  Long('4294967296'),\n  Double(1e+30)\n]"},
		{`{"$oid":null}`, `{ '$oid': null }`, `{ '$oid': null }`},
		{`{"$date":{"x":true}}`, `throws BSONRuntimeError: Unrecognized type for EJSON date: object`,
			`throws BSONRuntimeError: Unrecognized type for EJSON date: object`},
		{``, `throws SyntaxError: Unexpected end of JSON input`, `throws SyntaxError: Unexpected end of JSON input`},
		{`{"a":1,}`, `throws SyntaxError: Unexpected token '}' in JSON at position 7`,
			`throws SyntaxError: Unexpected token '}' in JSON at position 7`},
		{`[1] 2`, `throws SyntaxError: Unexpected token '2' in JSON at position 4`,
			`throws SyntaxError: Unexpected token '2' in JSON at position 4`},
		{` {"__proto__": 1, "é\n😀": [true, false, null, "\ud800"]} `,
			`{ ['__proto__']: 1, 'é\n😀': [ true, false, null, '\ud800' ] }`,
			`{ ['__proto__']: Int32(1), 'é\n😀': [ true, false, null, '\ud800' ] }`},
		// rules/04-values-and-language §4.10: exact instead of rounded
		{`{"$numberLong":"9007199254740993"}`, `Long('9007199254740993')`, `Long('9007199254740993')`},
		{`{"$date":{"$numberLong":"9223372036854775807"}}`, `Invalid Date`, `Invalid Date`},
		// js-bson makes these NaN and 0
		{`{"$numberInt":"abc"}`,
			`throws MongoshInvalidInputError: [COMMON-10001] "abc" is not a valid 32-bit integer ($numberInt)`,
			`throws MongoshInvalidInputError: [COMMON-10001] "abc" is not a valid 32-bit integer ($numberInt)`},
	} {
		s := newShell(t)
		s.rt.Set("text", c.text)
		for script, want := range map[string]string{"EJSON.parse(text)": c.relaxed,
			"EJSON.parse(text, {relaxed: false})": c.typed} {
			kind, got := s.run(script)
			if kind == "error" {
				got = "throws " + got
			}
			if got != want {
				t.Errorf("%s of %s\nwant %s\ngot  %s", script, c.text, want, got)
			}
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	w := Install(goja.New(), Options{})
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	if _, err := w.ParseEJSON(deep, true); err == nil || !strings.HasPrefix(err.Error(), "RangeError") {
		t.Errorf("parse: %v", err)
	}
	v, err := w.Runtime().RunString(`var a = []; for (let i = 0; i < 1e5; i++) a = [a]; a`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.EJSON(v, true, ""); err == nil {
		t.Error("EJSON of a bottomless array succeeded")
	}
	if _, err := w.ToBSON(v); err == nil {
		t.Error("BSON of a bottomless array succeeded")
	}
	w.PrintjsonText(v) // must come back
}

func FuzzParseEJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"$numberLong":"5"}}`, `[1,-2.5e+3,"x\u00e9\ud83d\ude00\\"]`, `{"$date":"2020-01-01T00:00:00Z"}`,
		`{"$binary":{"base64":"AA==","subType":"04"}}`,
		`{"$ref":"a.b","$id":{"$oid":"507f1f77bcf86cd799439011"},"$db":"d"}`,
		`{"$regularExpression":{"pattern":"(","options":"ix"}}`, `{"$timestamp":{"t":1,"i":2}}`,
		`{"$numberDecimal":"1E+6000"}`, `{"$code":"x","$scope":{}}`, `{"$uuid":"0123456789abcdef0123456789abcdef"}`,
		`{"$undefined":true}`, `{"":{"$minKey":1}}`, `nul`, `{"a":`, "\"\xff\"",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	w := Install(goja.New(), Options{})
	f.Fuzz(func(t *testing.T, text string, relaxed bool) {
		v, err := w.ParseEJSON(text, relaxed)
		if err != nil {
			return
		}
		w.Inspect(v, DefaultInspectOptions())
		if _, err := w.ToBSON(v); err != nil {
			return // a NUL in a pattern, for one
		}
		// what was read can be written, and reading that again changes nothing
		canonical, err := w.EJSON(v, true, "")
		if err != nil {
			t.Fatalf("write %q: %v", text, err)
		}
		again, err := w.ParseEJSON(canonical, false)
		if err != nil {
			t.Fatalf("read back %s: %v", canonical, err)
		}
		second, err := w.EJSON(again, true, "")
		if err != nil || second != canonical && !relaxed {
			t.Fatalf("unstable: %s, then %s (%v)", canonical, second, err)
		}
	})
}
