package values

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

type collection struct{ noFields }

type cursor struct{ noFields }

func (*cursor) PrintText() string { return "a cursor" }

func TestPrinters(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	ordinary := rt.NewObject()
	must(ordinary.Set("secret", 1))
	w.SetPrinter(ordinary, func() string { return "app" })
	dynamic := rt.NewDynamicObject(&collection{})
	w.SetPrinter(dynamic, func() string { return "app.orders" })
	proxied := rt.ToValue(rt.NewProxy(rt.NewObject(), &goja.ProxyTrapConfig{})).(*goja.Object)
	w.SetPrinter(proxied, func() string { return "proxied" })
	for _, c := range []struct {
		name string
		v    goja.Value
		want string
	}{
		{"ordinary", ordinary, "app"},
		{"dynamic", dynamic, "app.orders"},
		{"proxy", proxied, "proxied"},
		{"its own text", rt.NewDynamicObject(&cursor{}), "a cursor"},
		{"nested", rt.NewArray(ordinary, dynamic), "[ app, app.orders ]"},
	} {
		if got := w.Inspect(c.v, DefaultInspectOptions()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if keys := ordinary.Keys(); len(keys) != 1 || len(ordinary.Symbols()) != 0 {
		t.Errorf("the printer shows: %v", keys)
	}
}

func TestOneLine(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	v, err := rt.RunString(`[1, 2].map(n => ({min: {k: MinKey()}, max: {k: MaxKey()}, 'on shard': ` +
		`'shard-with-a-long-name-' + n, 'last modified': Timestamp({t: 2, i: n})}))`)
	if err != nil {
		t.Fatal(err)
	}
	list := v.(*goja.Object)
	w.SetOneLine(list.Get("0").(*goja.Object))
	w.SetOneLine(list.Get("1").(*goja.Object))
	want := `{
  chunks: [
    { min: { k: MinKey() }, max: { k: MaxKey() }, 'on shard': 'shard-with-a-long-name-1', 'last modified': Timestamp({ t: 2, i: 1 }) },
    { min: { k: MinKey() }, max: { k: MaxKey() }, 'on shard': 'shard-with-a-long-name-2', 'last modified': Timestamp({ t: 2, i: 2 }) }
  ]
}`
	if got := w.Inspect(objectWith(w.rt, "chunks", list), DefaultInspectOptions()); got != want {
		t.Errorf("got\n%s", got)
	}
}

// rules/04-values-and-language §3.4 and §3.5.
func TestErrors(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	fields := map[string]any{"code": 26, "codeName": "NamespaceNotFound",
		"errorResponse": marshal(t, bson.D{{Key: "ok", Value: 0.0}, {Key: "n", Value: int64(5)}})}
	e := w.Errors.New("MongoServerError", "ns not found", fields)
	rt.Set("e", e)
	rt.Set("fail", func(goja.FunctionCall) goja.Value { w.Errors.Throw("MongoServerError", "thrown", fields); return nil })
	for script, want := range map[string]string{
		`e.name + e.message + e.code + e.codeName + e.errorResponse.n`: "MongoServerErrorns not " +
			"found26NamespaceNotFound5",
		`e instanceof Error && Object.prototype.toString.call(e)`: "[object Error]",
		`e.constructor.name + String(e)`:                          "MongoServerErrorMongoServerError: ns not found",
		`Object.keys(e).join()`:                                   "code,codeName,errorResponse",
		`typeof e.stack`:                                          "string",
		`try { fail() } catch (x) { x.name + x.codeName + (x instanceof Error) }`: "MongoServerErrorNamespaceNotFoundtrue",
		`try { ObjectId({}) } catch (x) { x.name + (x instanceof Error) }`:        "BSONErrortrue",
		`try { UUID(5) } catch (x) { x.name + x.code }`:                           "MongoshInvalidInputErrorCOMMON-10001",
		`try { bsonsize(null) } catch (x) { x instanceof TypeError }`:             "true",
	} {
		v, err := rt.RunString(script)
		if err != nil || v.String() != want {
			t.Errorf("%s = %v (%v), want %s", script, v, err, want)
		}
	}
	stacks := DefaultInspectOptions()
	stacks.ErrorStacks = true
	if got := w.Inspect(objectWith(w.rt, "e", e), DefaultInspectOptions()); got != "{ e: [MongoServerError: ns not found] }" {
		t.Errorf("inside a value: %s", got)
	}
	if got := w.InspectOutput(e, DefaultInspectOptions(), true); got != "MongoServerError[NamespaceNotFound]: ns not found" {
		t.Errorf("as a result: %s", got)
	}
	if got := w.InspectOutput(e, DefaultInspectOptions(), false); got != "[MongoServerError: ns not found]" {
		t.Errorf("printed: %s", got)
	}
	v, _ := rt.RunString(`function boom() { return new RangeError('deep') }; Object.assign(boom(), {code: 5})`)
	got := w.Inspect(objectWith(w.rt, "e", v), stacks)
	if !strings.Contains(got, "RangeError: deep\n") || !strings.Contains(got, "at boom (") ||
		!strings.Contains(got, "code: 5") {
		t.Errorf("with its stack: %s", got)
	}
	v, _ = rt.RunString(`Object.assign(new Error('bulk'), {result: {n: 1}, writeErrors: [{index: 0}], violations: [1], ` +
		`cause: 'why'})`)
	want := "Error: bulk\nResult: { n: 1 }\nWrite Errors: [ { index: 0 } ]\nViolations: [ 1 ]\nCaused by: \n'why'"
	if got := w.ErrorText(v, DefaultInspectOptions()); got != want {
		t.Errorf("with details: %s", got)
	}
	v, _ = rt.RunString(`var c = new Error('a'); c.cause = c; c`)
	w.ErrorText(v, DefaultInspectOptions()) // must come back
}

// rules/04-values-and-language §3.7.
func TestColours(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	o := DefaultInspectOptions()
	o.Color = true
	const yellow, green, off = "\x1b[33m", "\x1b[32m", "\x1b[39m"
	for script, want := range map[string]string{
		`NumberLong('5')`:                      "Long(" + green + "'5'" + off + ")",
		`Int32(5)`:                             "Int32(" + yellow + "5" + off + ")",
		`Double(1.5)`:                          "Double(" + yellow + "1.5" + off + ")",
		`ObjectId('507f1f77bcf86cd799439011')`: "ObjectId(" + green + "'507f1f77bcf86cd799439011'" + off + ")",
		`NumberDecimal('1')`:                   "Decimal128(" + green + "'1'" + off + ")",
		`ISODate('2024-01-01')`:                "ISODate('2024-01-01T00:00:00.000Z')",
		`new Date(NaN)`:                        "\x1b[35mInvalid Date" + off,
		`UUID('01234567-89ab-cdef-0123-456789abcdef')`: "UUID('01234567-89ab-cdef-0123-456789abcdef')",
		`Timestamp(1, 2)`: "Timestamp({ t: 1, i: 2 })",
		`MinKey()`:        "MinKey()",
		`[null, undefined, /x/, () => 1]`: "[ \x1b[1mnull\x1b[22m, \x1b[90mundefined" + off + ", \x1b[31m/x/" + off +
			", \x1b[36m[Function (anonymous)]" + off + " ]",
	} {
		v, err := rt.RunString(script)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Inspect(v, o); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	v, err := rt.RunString(`({a: {b: {c: 1}}, l: [1, 2, 3, 4], s: 'x'.repeat(30), m: new Set([1, 2, 3])})`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    InspectOptions
		want string
	}{
		{InspectOptions{Depth: TopLevel},
			"{\n  a: [Object],\n  l: [Array],\n  s: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',\n  m: [Set]\n}"},
		{InspectOptions{Depth: 1, MaxItems: 3, MaxString: 10},
			"{\n  a: { b: [Object] },\n  l: [ 1, 2, 3, ... 1 more item ],\n  s: 'xxxxxxxxxx'... 20 more characters,\n  m: " +
				"Set(3) { 1, 2, 3 }\n}"},
		{InspectOptions{Width: Unlimited},
			"{ a: { b: { c: 1 } }, l: [ 1, 2, 3, 4 ], s: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', m: Set(3) { 1, 2, 3 } }"},
	} {
		if got := w.Inspect(v, c.o); got != c.want {
			t.Errorf("%+v\nwant %s\ngot  %s", c.o, c.want, got)
		}
	}
	if got, want := w.Inspect(v, InspectOptions{}), w.Inspect(v, DefaultInspectOptions()); got != want {
		t.Errorf("the zero value shows %s, the default %s", got, want)
	}
}

// The items of an array are its own: accessors are not called, and what Array.prototype has is no item.
func TestInspectArrayItems(t *testing.T) {
	for script, want := range map[string]string{
		`Object.defineProperty([1, 2], 1, {enumerable: true, get() { throw new Error('called') }})`: "[ 1, [Getter] ]",
		`Object.defineProperty([1], 0, {enumerable: true, set(v) {}})`:                              "[ [Setter] ]",
		`Array.prototype[1] = 'inherited'; [1, , 3]`:                                                "[ 1, <1 empty item>, 3 ]",
		`[1, undefined, , ]`:                 "[ 1, undefined, <1 empty item> ]",
		`new Array(300)`:                     "[ <300 empty items> ]",
		`new Array(4294967295)`:              "[ <4294967295 empty items> ]",
		`const far = [0]; far[4e9] = 1; far`: "[ 0, <3999999999 empty items>, 1 ]",
		`({ get constructor() { throw new Error("ran") }, a: 1 })`: "{ constructor: [Getter], a: 1 }",
	} {
		rt := goja.New()
		w := Install(rt, Options{})
		v, err := rt.RunString(script)
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if got := w.Inspect(v, DefaultInspectOptions()); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

// What a script can do to make inspection fail shows in the text.
func TestInspectSurvives(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	for script, want := range map[string]string{
		`new Proxy({a: 1}, {get() { throw new Error('no') }, ownKeys() { throw new Error('no') }})`: "{ a: 1 }",
		`({get a() { throw new Error('no') }})`:                                                     "{ a: [Getter] }",
		`var p = Proxy.revocable({}, {}); p.revoke(); p.proxy`:                                      "<Revoked Proxy>",
		`({[Symbol.toStringTag]: 5})`:                                                               "{ [Symbol(Symbol.toStringTag)]: 5 }",
		`Object.create({get [Symbol.toStringTag]() { throw new ` +
			`Error('no') }})`: "[Uninspectable: Error: no]",
		`({constructor: 'x', toString: 1, valueOf: null})`: "{ constructor: 'x', " +
			"toString: 1, valueOf: null }",
	} {
		v, err := rt.RunString(script)
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if got := w.Inspect(v, DefaultInspectOptions()); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}
