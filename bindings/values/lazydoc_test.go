package values

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"pgregory.net/rapid"
)

// describe tells everything of a value that a script can find out: own
// properties with their attributes, in order, what it inherits from, whether it
// may grow, and where a value stands twice.
const describe = `
function describe(v, seen = []) {
  if (typeof v !== "object" || v === null) return typeof v + ":" + (Object.is(v, -0) ? "-0" : String(v));
  const at = seen.indexOf(v);
  if (at >= 0) return "<" + at + ">";
  seen.push(v);
  if (v._bsontype !== undefined && !Object.hasOwn(v, "_bsontype")) return v._bsontype + EJSON.stringify({v});
  if (v instanceof Date) return "Date " + EJSON.stringify({v});
  const proto = Object.getPrototypeOf(v);
  const names = [Object.prototype, Array.prototype, null, parent].indexOf(proto);
  let text = Object.prototype.toString.call(v) + names + Object.isExtensible(v) + Object.isFrozen(v) + "{";
  for (const key of Reflect.ownKeys(v)) {
    if (typeof key === "symbol" && key.description.startsWith("shardsh.")) continue;
    const d = Object.getOwnPropertyDescriptor(v, key);
    text += String(key) + (d.writable ? "w" : "") + (d.enumerable ? "e" : "") + (d.configurable ? "c" : "") +
      (d.get ? "get" : describe(d.value, seen)) + ",";
  }
  return text + "}";
}
var parent = {inherited: 1, set assigned(v) { this.by = v; this.self = this === holder }}, holder, mark = Symbol("mark");
`

// touches are what scripts do to a document d; k, l and v are drawn. What they
// return is compared, and what they throw.
var touches = []string{
	`d[k]`, `k in d`, `d[k] === d[k]`, `Object.hasOwn(d, k)`, `d.hasOwnProperty(k)`, `d.propertyIsEnumerable(k)`,
	`Object.keys(d)`, `Object.entries(d)`, `Object.values(d)`, `Object.getOwnPropertyNames(d)`, `JSON.stringify(d)`,
	`EJSON.stringify(d)`, `EJSON.stringify(d, {relaxed: false})`, `({...d})`, `({...d, x: 1})`, `Object.assign({}, d)`,
	`const {[k]: one, ...others} = d; return [one, others]`, `let s = ""; for (const key in d) s += key + "."; return s`,
	`let s = ""; for (const key in d) { s += key; d.added = 1 } return s`, `let s = ""; for (const key in d) { s += key; delete d[l] } return s`,
	`d[k] = v`, `d[k] = v; d[l] = k; return d`, `delete d[k]`, `"use strict"; return delete d[k]`, `d[k] += 1`, `d[k] ??= v`,
	`Object.defineProperty(d, k, {value: v}); d[k] = 2; return d[k]`, `Object.defineProperty(d, k, {enumerable: false}); return Object.keys(d)`,
	`Object.defineProperty(d, k, {get() { return [this === d, Object.keys(this).length] }, configurable: true}); return d[k]`,
	`let is; Object.defineProperty(d, k, {set(v) { is = this === d }, configurable: true}); d[k] = 1; return is`,
	`Object.defineProperties(d, {x: {value: 1, enumerable: true}, [k]: {value: 2, writable: true}})`,
	`Object.freeze(d); d[k] = v; d.added = 1; delete d[l]; return Object.isFrozen(d)`, `"use strict"; Object.freeze(d); return d[k] = v`,
	`Object.seal(d); delete d[k]; d.added = 1; return Object.isSealed(d)`, `Object.preventExtensions(d); d.added = 1; return d[k] = v`,
	`Reflect.preventExtensions(d); return Reflect.set(d, "added", 1)`, `Reflect.defineProperty(d, k, {})`, `Reflect.ownKeys(d).map(String).filter(key => !key.includes("(shardsh."))`,
	`Reflect.set(d, k, v)`, `Reflect.set({}, k, v, d)`, `Reflect.get(d, k)`, `Reflect.has(d, k)`, `Reflect.deleteProperty(d, k)`,
	`d[mark] = v; return d[mark]`, `mark in d`, `Object.assign(d, {[mark]: 1, [k]: 2}); return Object.getOwnPropertySymbols(d).includes(mark)`,
	`delete d[mark]`, `Object.defineProperty(d, mark, {value: v}); return d[mark]`, `Reflect.set(d, mark, v); return d[mark]`,
	`Object.getPrototypeOf(d) === Object.prototype`, `d instanceof Object`, `d.__proto__ === Object.prototype`, `d.constructor === Object`,
	`Object.prototype.isPrototypeOf(d)`, `typeof d`, `String(d)`, `d.toString === Object.prototype.toString`, `d.valueOf() === d`,
	`holder = d; Object.setPrototypeOf(d, parent); d.assigned = 5; return [d.self, d.inherited, parent.isPrototypeOf(d)]`,
	`holder = d; d.__proto__ = parent; d.assigned = 6; return [d.by, Object.keys(d)]`, `Object.setPrototypeOf(d, null); return "x" in d`,
	`Object.setPrototypeOf(d, Object.create(d))`, `const c = Object.create(d); c[k] = v; return [Object.keys(c), c[l], k in c]`,
	`const c = Object.create(d); c[mark] = 1; return [mark in d, c[mark], Object.getPrototypeOf(c) === d]`,
	`const p = new Proxy(d, {}); p[k] = v; p[mark] = 1; Object.freeze(p); return [Object.isFrozen(d), p[l], mark in d]`,
	`const p = new Proxy(d, {}); Object.defineProperty(p, k, {value: v}); return Object.keys(p)`,
	`const p = new Proxy(d, {}); return [Object.getPrototypeOf(p) === Object.prototype, JSON.stringify(p)]`,
	`const m = new Map([[d, 1]]), w = new WeakMap([[d, 2]]); d[k] = v; return [m.get(d), w.get(d), new Set([d, d]).size]`,
	`const o = d[k]; if (o && typeof o === "object") { o.changed = 1 } return EJSON.stringify(d)`, `d.nested = d; return d.nested.nested === d`,
	`if (Array.isArray(d[k])) d[k].push(v); return d[k]`, `for (let i = 0; i < 50; i++) d[l]; return d[k]`, `[d[k], d[l], d[k], d[l], d[k], d[l], d[v]]`,
	`Array.prototype.push.call(d, v); return d`, `if (!(d.length > 9)) return Array.from(d)`, `with (d) { return typeof constructor }`, `let n = 0; with (d) { n = typeof a } return n`,
	`Object.fromEntries(Object.entries(d))`, `JSON.stringify(d, (key, x) => key === k ? undefined : x, 1)`, `JSON.stringify([d, {d}])`,
	`d == d && d !== {...d} && Object.is(d, d)`, `(({a, b = 3, ...c}) => [a, b, c])(d)`, `d[0]`, `d[-1]`, `d["0"] = v; return Object.keys(d)`, `0 in d`,
	`Object.groupBy([d], x => typeof x[k])`, `[d].map(({[k]: x}) => x)`, `structured(d)`, `d.x = d[k]; return d`, `[d, d].includes(d)`,
	`Object.entries(Object.getOwnPropertyDescriptors(d)).map(([n, x]) => n + x.writable + x.enumerable)`,
	`d.toJSON = () => 7; return JSON.stringify({d})`, `d.toBSON = () => ({z: 1}); return EJSON.stringify({d})`, `d.valueOf = () => 4; return d + 1`, `d?.[k]?.x`,
}

// A document that is read from its bytes and one that is made at once are the same
// to scripts, whatever they do.
func TestLazyDocumentsAreLikeOthers(t *testing.T) {
	w := Install(goja.New(), Options{})
	if !w.settling.possible() {
		t.Fatal("this release of goja is unknown: documents are not lazy")
	}
	for _, text := range []string{describe, `function structured(d) { return JSON.parse(JSON.stringify(d)) }`} {
		if _, err := w.rt.RunString(text); err != nil {
			t.Fatal(err)
		}
	}
	compiled := make([]goja.Callable, len(touches))
	for i, text := range touches {
		if !strings.Contains(text, "return ") {
			text = "return " + text
		}
		f, err := w.rt.RunString("(function (d, k, l, v) { return describe((function (d, k, l, v) { " + text + " })(d, k, l, v)) })")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		compiled[i] = callable(f)
	}
	tell := callable(w.rt.Get("describe"))
	rapid.Check(t, func(t *rapid.T) {
		doc, _ := drawnDoc(t, 0, false)
		doc = repeated(t, doc)
		lazy, eager := w.LazyDoc(doc), goja.Value(w.DocToJS(doc))
		if rapid.Bool().Draw(t, "inside") {
			wrapped, _ := bson.Marshal(bson.D{{Key: "in", Value: bson.A{bson.Raw(doc)}}})
			lazy, eager = inner(w.LazyDoc(wrapped)), inner(w.DocToJS(wrapped))
		}
		names := append([]string{"missing", "toString", "__proto__", "a"}, namesOf(doc[4:len(doc)-1])...)
		for range rapid.IntRange(1, 6).Draw(t, "touches") {
			i := rapid.IntRange(0, len(touches)-1).Draw(t, "touch")
			k, l := rapid.SampledFrom(names).Draw(t, "k"), rapid.SampledFrom(names).Draw(t, "l")
			v := w.rt.ToValue(rapid.SampledFrom([]any{1, "text", nil}).Draw(t, "v"))
			got, err := compiled[i](nil, lazy, w.rt.ToValue(k), w.rt.ToValue(l), v)
			want, wantErr := compiled[i](nil, eager, w.rt.ToValue(k), w.rt.ToValue(l), v)
			if problem(err) != problem(wantErr) || err == nil && got.String() != want.String() {
				t.Fatalf("%s with k = %q, l = %q of %s:\n got %v %v\nwant %v %v", touches[i], k, l, bson.Raw(doc), got, err, want, wantErr)
			}
		}
		same(t, w, tell, lazy, eager)
	})
}

// problem is an error without its place and the engine's own words for it.
func problem(err error) string {
	if err == nil {
		return ""
	}
	name, _, _ := strings.Cut(err.Error(), ":")
	return name
}

// same compares documents by all the ways this package looks at them, the one that
// leaves them as they are first.
func same(t *rapid.T, w *World, tell goja.Callable, lazy, eager goja.Value) {
	for range 2 {
		a, err := w.ToBSON(lazy)
		b, wantErr := w.ToBSON(eager)
		if problem(err) != problem(wantErr) || a.Type != b.Type || !bytes.Equal(a.Value, b.Value) {
			t.Fatalf("as BSON: %v %v, want %v %v", a, err, b, wantErr)
		}
		for _, canonical := range []bool{true, false} {
			a, err := w.EJSON(lazy, canonical, "")
			b, wantErr := w.EJSON(eager, canonical, "")
			if a != b || problem(err) != problem(wantErr) {
				t.Fatalf("as EJSON: %s %v, want %s %v", a, err, b, wantErr)
			}
		}
		if got, want := w.KeepsOrder(lazy), w.KeepsOrder(eager); got != want {
			t.Fatalf("keeps its order: %v, want %v", got, want)
		}
		a1, err := tell(nil, lazy)
		b1, wantErr := tell(nil, eager)
		if problem(err) != problem(wantErr) || err == nil && a1.String() != b1.String() {
			t.Fatalf("is %v %v, want %v %v", a1, err, b1, wantErr)
		}
		if a, b := w.Inspect(lazy, InspectOptions{}), w.Inspect(eager, InspectOptions{}); a != b { // settles the lazy one
			t.Fatalf("looks like %s, want %s", a, b)
		}
	}
}

// inner is the document in an array in a document.
func inner(v goja.Value) goja.Value { return v.(*goja.Object).Get("in").(*goja.Object).Get("0") }

// repeated may give a document its first field once more.
func repeated(t *rapid.T, doc []byte) []byte {
	if !rapid.Bool().Draw(t, "repeats") || len(doc) < 6 {
		return doc
	}
	first, _, ok := bsoncore.ReadElement(doc[4:])
	if !ok {
		return doc
	}
	longer := append(append(bytes.Clone(doc[:len(doc)-1]), first...), 0)
	return bsoncore.UpdateLength(longer, 0, int32(len(longer)))
}
