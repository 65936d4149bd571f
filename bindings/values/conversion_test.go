package values

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// rules/04-values-and-language §4.9, as the driver reads what was written.
func TestToBSON(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`({a: 1, b: -2147483648, c: 2147483647})`,
			`{"a": {"$numberInt":"1"},"b": {"$numberInt":"-2147483648"},"c": {"$numberInt":"2147483647"}}`},
		{`({a: 1.5, b: 2147483648, c: 2**40, d: -0, e: NaN})`,
			`{"a": {"$numberDouble":"1.5"},"b": {"$numberDouble":"2.147483648E+09"},"c": ` +
				`{"$numberDouble":"1.099511627776E+12"},"d": {"$numberDouble":"-0.0"},"e": {"$numberDouble":"NaN"}}`},
		{`({a: 5n, b: Long(5), c: Int32(5), d: Double(5)})`,
			`{"a": {"$numberLong":"5"},"b": {"$numberLong":"5"},"c": {"$numberInt":"5"},"d": {"$numberDouble":"5.0"}}`},
		{`({a: undefined, b: null, c: Symbol('x'), d: [undefined, Symbol('y'), , 1]})`,
			`{"a": null,"b": null,"d": [null,null,null,{"$numberInt":"1"}]}`},
		{`({f: function () { return 1 }})`, `{"f": {"$code":"function () { return 1 }"}}`},
		{`({r: /a\/b/gi, s: new RegExp('x', 'ms')})`,
			`{"r": {"$regularExpression":{"pattern":"a\\/b","options":"i"}},"s": ` +
				`{"$regularExpression":{"pattern":"x","options":"ms"}}}`},
		{`({d: new Date(5), m: MinKey, n: MinKey(), x: MaxKey})`,
			`{"d": {"$date":{"$numberLong":"5"}},"m": {"$minKey":1},"n": {"$minKey":1},"x": {"$maxKey":1}}`},
		{`new Map([['z', 1], [1, 2]])`, `{"z": {"$numberInt":"1"},"1": {"$numberInt":"2"}}`},
		{`new (class Foo { a = 1; #b = 2; get c() { return 3 } })()`, `{"a": {"$numberInt":"1"}}`},
		{`Object.create({inherited: 1}, {own: {value: 2, enumerable: true}, hidden: {value: 3}})`,
			`{"own": {"$numberInt":"2"}}`},
		{`({b: 1, 1: 2, a: 3})`, `{"1": {"$numberInt":"2"},"b": {"$numberInt":"1"},"a": {"$numberInt":"3"}}`},
		{`({get x() { return 7 }})`, `{"x": {"$numberInt":"7"}}`},
		{`({u: new Uint8Array([1, 2]), n: new Number(5), s: new String('x'), b: new Boolean(false)})`,
			`{"u": {"$binary":{"base64":"AQI=","subType":"00"}},"n": {"$numberInt":"5"},"s": "x","b": false}`},
		{`({t: {toBSON() { return Long(9) }}})`, `{"t": {"$numberLong":"9"}}`},
		{`({toBSON() { return {swapped: true} }})`, `{"swapped": true}`},
		{`({s: new Set([1, 'a'])})`, `{"s": [{"$numberInt":"1"},"a"]}`},
		{`new Proxy({a: 1}, {get: (o, k) => k === 'a' ? 2 : o[k]})`, `{"a": {"$numberInt":"2"}}`},
		{`const s = {x: 1}; ({a: s, b: s})`, `{"a": {"x": {"$numberInt":"1"}},"b": {"x": {"$numberInt":"1"}}}`},
		{`({id: ObjectId('507f1f77bcf86cd799439011'), c: Code('x', {y: 1}), d: NumberDecimal('1.10')})`,
			`{"id": {"$oid":"507f1f77bcf86cd799439011"},"c": {"$code":x,"$scope":{"y": {"$numberInt":"1"}}},"d": ` +
				`{"$numberDecimal":"1.10"}}`},
	} {
		rt := goja.New()
		w := Install(rt, Options{})
		v, err := rt.RunString(c.script)
		if err != nil {
			t.Fatalf("%s: %v", c.script, err)
		}
		doc, err := w.DocFromJS(v)
		if err != nil {
			t.Errorf("%s: %v", c.script, err)
			continue
		}
		if got := doc.String(); got != c.want {
			t.Errorf("%s\nwant %s\ngot  %s", c.script, c.want, got)
		}
		if err := doc.Validate(); err != nil {
			t.Errorf("%s: %v", c.script, err)
		}
	}
}

func TestToBSONRefuses(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`5`, `BSONError: serialize does not support non-object as the root input`},
		{`undefined`, `BSONError: serialize does not support non-object as the root input`},
		{`[1]`, `BSONError: serialize does not support an array as the root input`},
		{`new Date()`, `BSONError: date, regexp, typedarray, and arraybuffer cannot be BSON documents`},
		{`ObjectId()`, `BSONError: BSON types cannot be serialized as a document`},
		{`(() => 1)`, `BSONError: date, regexp, typedarray, and arraybuffer cannot be BSON documents`},
		{`var a = {b: {}}; a.b.c = a; a`, `BSONError: Cannot convert circular structure to BSON`},
		{`var a = []; a.push(a); ({a})`, `BSONError: Cannot convert circular structure to BSON`},
		{`class A { toBSON() { return new A() } } new A()`,
			`BSONError: Cannot convert a value nested more than 2000 levels to BSON`},
		{`class A { toBSON() { return {a: this} } } new A()`, `BSONError: Cannot convert circular structure to BSON`},
		{`({'a\0b': 1})`, "BSONError: key a\x00b must not contain null bytes"},
		{`({d: new Date(NaN)})`, `BSONError: Invalid Date cannot be converted to BSON`},
		{`({get x() { throw new RangeError('mine') }})`, `RangeError: mine`},
	} {
		rt := goja.New()
		w := Install(rt, Options{})
		v, err := rt.RunString(c.script)
		if err != nil {
			t.Fatalf("%s: %v", c.script, err)
		}
		_, err = w.DocFromJS(v)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s\nwant %s\ngot  %v", c.script, c.want, err)
		}
	}
}

func marshal(t *testing.T, v any) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// rules/04-values-and-language §3.6.
func TestDocumentsInJavaScript(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	rt.Set("d", w.DocToJS(marshal(t, bson.D{
		{Key: "z", Value: int32(1)}, {Key: "f", Value: 2.0}, {Key: "n", Value: int64(9007199254740993)},
		{Key: "when", Value: bson.DateTime(5)},
		{Key: "re", Value: bson.Regex{Pattern: "a", Options: "i"}},
		{Key: "pcre", Value: bson.Regex{Pattern: "(?i)a", Options: ""}},
		{Key: "sub", Value: bson.D{{Key: "list", Value: bson.A{int32(1), "x"}}}}, {Key: "2", Value: true},
		{Key: "__proto__", Value: int32(7)},
		{Key: "none", Value: bson.Undefined{}}, {Key: "old", Value: bson.Symbol("s")},
	})))
	for script, want := range map[string]string{
		`Object.keys(d).join()`: `2,z,f,n,when,re,pcre,sub,__proto__,none,old`,
		`typeof d.z + typeof d.f + typeof d.n + ` +
			`d.n._bsontype + String(d.n)`: `numbernumberobjectLong9007199254740993`,
		`d.when instanceof Date && d.re instanceof RegExp && d.re.test('A') && ` +
			`d.pcre._bsontype`: `BSONRegExp`,
		`d instanceof Object && d.constructor === Object && Array.isArray(d.sub.list) && d.sub.list instanceof Array`: `true`,
		`Object.getPrototypeOf(d) === Object.prototype && Object.getOwnPropertySymbols({...d}).length`:                `0`,
		`String(d.none) + d.old._bsontype`: `undefinedBSONSymbol`,
		`JSON.stringify(d.sub)`:            `{"list":[1,"x"]}`,
	} {
		v, err := rt.RunString(script)
		if err != nil {
			t.Errorf("%s: %v", script, err)
			continue
		}
		if v.String() != want {
			t.Errorf("%s = %s, want %s", script, v, want)
		}
	}
}

// Documents are ordinary objects that a script may change.
func TestDocumentsCanBeChanged(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	rt.Set("d", w.DocToJS(marshal(t, bson.D{{Key: "a", Value: int32(1)}, {Key: "b", Value: int32(2)}})))
	v, err := rt.RunString(`d.a = 'changed'; delete d.b; Object.defineProperty(d, 'c', {value: 3}); Object.freeze(d); ` +
		`JSON.stringify(d) + d.c`)
	if err != nil || v.String() != `{"a":"changed"}3` {
		t.Errorf("%v, %v", v, err)
	}
}

// Limits never apply to what came from a server (rules/04-values-and-language §3.6, fix), also not
// to a part of it or inside a script's own objects.
func TestServerDocumentsAreShownWhole(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	deep := bson.D{{Key: "bottom", Value: int32(1)}}
	for range 9 {
		deep = bson.D{{Key: "d", Value: deep}}
	}
	long := bson.A{}
	for i := range int32(150) {
		long = append(long, i)
	}
	rt.Set("doc", w.DocToJS(marshal(t, bson.D{{Key: "deep", Value: deep}, {Key: "long", Value: long},
		{Key: "text", Value: strings.Repeat("x", 20_000)}})))
	for _, script := range []string{`doc`, `doc.deep`, `doc.long`, `({mine: [doc]})`, `[[[[[[doc]]]]]]`, `({t: doc})`,
		`EJSON.parse(EJSON.stringify({...doc, deep: 0, long: 0, text: 0}))`} {
		v, err := rt.RunString(script)
		if err != nil {
			t.Fatal(err)
		}
		got := w.Inspect(v, DefaultInspectOptions())
		if strings.Contains(got, "[Object]") || strings.Contains(got, " more ") {
			t.Errorf("%s is cut: %s", script, got)
		}
	}
	// a script's own copy has the usual limits
	v, _ := rt.RunString(`EJSON.parse(EJSON.stringify(doc))`)
	if got := w.Inspect(v, DefaultInspectOptions()); !strings.Contains(got, "[Object]") ||
		!strings.Contains(got, "... 50 more items") {
		t.Errorf("a copy is not cut: %s", got)
	}
}

// A document is a DBRef when it starts with $ref and $id and no other name of its
// fields starts with a dollar, but for $db in third place.
func TestDBRefOfServer(t *testing.T) {
	w := Install(goja.New(), Options{})
	for _, c := range []struct {
		d    bson.D
		want string
	}{
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: 1}}, "DBRef('c', 1)"},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: 1}, {Key: "$db", Value: "d"}}, "DBRef('c', 1, 'd')"},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: 1}, {Key: "x", Value: 2}}, "DBRef('c', 1, { x: 2 })"},
		{bson.D{{Key: "$ref", Value: "c"}}, "{ '$ref': 'c' }"},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: nil}}, "{ '$ref': 'c', '$id': null }"},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "x", Value: 1}}, "{ '$ref': 'c', x: 1 }"},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: 1}, {Key: "$db", Value: ""}},
			"{ '$ref': 'c', '$id': 1, '$db': '' }"},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: 1}, {Key: "$db", Value: 3}},
			"{ '$ref': 'c', '$id': 1, '$db': 3 }"},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: 1}, {Key: "x", Value: 2}, {Key: "$db", Value: "d"}},
			"{ '$ref': 'c', '$id': 1, x: 2, '$db': 'd' }"},
	} {
		raw := marshal(t, c.d)
		for how, v := range map[string]goja.Value{
			"at once": w.ToJS(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: raw}), "lazily": w.LazyDoc(raw),
		} {
			if got := w.Inspect(v, DefaultInspectOptions()); got != c.want {
				t.Errorf("%v read %s is %s, want %s", c.d, how, got, c.want)
			}
		}
	}
}
