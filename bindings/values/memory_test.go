package values

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/gojamem"
	"shardsh/bindings/rawdoc"
)

// What is read where the engine keeps it is what the engine says when it is asked.
func TestMemoryIsWhatTheEngineSays(t *testing.T) {
	if gojamem.IsDisabled() {
		t.Skip("nothing is read from memory")
	}
	write := func(source string, asked bool) string {
		rt := goja.New()
		w := Install(rt, Options{SafeMemory: asked})
		if w.Memory.CanRead() == asked {
			t.Fatal("this release of the engine is not known")
		}
		v, err := rt.RunString("(" + source + ")")
		if err != nil {
			t.Fatal(err)
		}
		text, err := w.EJSON(v, true, "")
		if err != nil {
			return err.Error()
		}
		doc, err := w.DocFromJS(v)
		if err != nil {
			return text + err.Error()
		}
		return text + doc.String()
	}
	for _, source := range []string{
		`{}`, `{a: 1, b: "x", "": null, é: undefined, "😀": [1, "a", {b: []}]}`,
		`{b: 1, 2: "two", a: {1: 1}}`,
		`{get a() { return 5 }, b: {get c() { return this.d }, d: 3}}`,
		`Object.defineProperty({a: 1}, "hidden", {value: 2, enumerable: false})`,
		`Object.freeze({a: [1, 2], b: Object.freeze([3])})`,
		`Object.seal({a: 1, get b() { return 2 }, c: undefined})`,
		`Object.defineProperties({}, {a: {value: 1}, b: {get() { return 2 }}, c: {get() { return 3 }, enumerable: true},
			d: {set(v) { }, enumerable: true}, e: {value: 5, enumerable: true}})`,
		`(() => { const o = {a: {toBSON() { delete o.b; return 1 }}, b: 2}; Object.prototype.b = "from afar"; return o })()`,
		`Object.create({inherited: 1}, {own: {value: 1, enumerable: true}})`,
		`new (class A { constructor() { this.x = 1 } get y() { return 2 } })()`,
		`(() => { const o = {a: 1, b: 2, c: 3}; delete o.b; o.d = 4; o.b = 5; return o })()`,
		`(() => { const o = {a: {toBSON() { delete o.b; o.c = 9; o.d = 1; return "a" }}, b: 2, c: 3}; return o })()`,
		`(() => { const o = {a: {toBSON() { Object.defineProperty(o, "b", {get() { return "got" }}); return 1 }}, b: 2};
			return o })()`,
		`{list: [1, , 3], more: Object.assign([1], {extra: 2}), typed: new Float64Array([1.5])}`,
		`(() => { const l = [1, 2]; Object.defineProperty(l, 0, {get() { return "got" }}); return {l} })()`,
		`(() => { Array.prototype[1] = "from afar"; return {l: [1, , 3]} })()`,
		`(() => { const l = [{toBSON() { l.length = 1; return 0 }}, 2, 3]; return {l} })()`,
		`(() => { const o = {a: 1}; o.o = o; return o })()`,
		`new Map([["a", {b: 1}]])`, `new Proxy({a: 1}, {})`,
		`{a: Object.assign([1], {toBSON() { return "list" }}), b: {toBSON: 5}, c: {toBSON() { return {d: 1} }}}`,
		`{a: Object.create({toBSON() { return "made" }}), b: Object.setPrototypeOf([1], {toBSON() { return "odd" }})}`,
		`(() => { Object.prototype.toBSON = function () { return this.x ? "all" : this }; return {a: {x: 1}, b: [2]} })()`,
		`(() => { Object.setPrototypeOf(Array.prototype, null); Object.prototype.toBSON = function () { return "all" };
			const field = value => ({value, enumerable: true});
			return Object.create(Object.prototype, {a: field({x: 1}), b: field([2])}) })()`,
		`(() => { Array.prototype.toBSON = function () { return "arrays" }; return {a: {x: 1}, b: [2]} })()`,
		`(() => { Object.defineProperty(Object.prototype, "toBSON", {get() { throw new Error("no") }}); return {a: 1} })()`,
		`(() => { const o = {a: 1, b: {toBSON() { Object.defineProperty(o, "c", {get() { return 7 }}) }}, c: 3};
			return o })()`,
		`{zero: new Date(0), last: new Date(8.64e15), first: new Date(-8.64e15)}`,
		`{set: (d => { d.setTime(7); return d })(new Date())}`,
		`{a: Object.assign(new Date(5), {toBSON() { return "none" }, x: 1}), b: new (class Day extends Date {})(6)}`,
		`{a: new Date(8.64e15 + 1)}`, `new Date(5)`, `{list: [new Date(NaN)]}`,
		`(() => { delete Array.prototype.at; Array.prototype.toBSON = () => "arrays"; return {a: [1], b: new Date(1)} })()`,
		`(() => { Object.setPrototypeOf(Array.prototype, {toBSON() { return "far" }}); return {a: {x: 1}, b: [2]} })()`,
		`(() => { Object.freeze(Array.prototype); Object.freeze(Object.prototype); return {a: {x: 1}, b: [2]} })()`,
		`{a: {toBSON() { return JSON.parse(EJSON.stringify({inner: [1, {x: "y"}]})) }}, b: "after"}`,
	} {
		if got, want := write(source, false), write(source, true); got != want {
			t.Errorf("%s is\n%s, want\n%s", source, got, want)
		}
	}
}

// Fields that are more than values cost the same each, however many there are: asked
// one by one whether it is among them, ten times as many cost a hundred times as much.
func TestManyFields(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	perField := func(kind string, n int) float64 {
		v, err := rt.RunString(fmt.Sprintf(`{
			const o = {}
			for (let i = 0; i < %d; i++) o["f" + i] = i
			for (const key of %q === "accessors" ? Object.keys(o) : [])
				Object.defineProperty(o, key, {get() { return 1 }})
			for (let i = 0; i < %[1]d && %[2]q === "hidden"; i++) Object.defineProperty(o, "f" + i, {enumerable: false});
			%[2]q === "frozen" ? Object.freeze(o) : o
		}`, n, kind))
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := w.EJSON(v, true, ""); err != nil {
				t.Fatal(err)
			}
		}) / float64(n)
	}
	for _, kind := range []string{"frozen", "accessors", "hidden"} {
		if few, many := perField(kind, 200), perField(kind, 2000); many > 2*few+1 {
			t.Errorf("%s: %.1f allocations a field of 200, %.1f of 2,000", kind, few, many)
		}
	}
}

// A document that is made while another one is, and one that can't be made, leave no
// trace in others.
func TestDocumentInDocument(t *testing.T) {
	rt := goja.New()
	w := Install(rt, Options{})
	must(rt.Set("made", func(v goja.Value) string {
		doc, err := w.DocFromJS(v)
		if err != nil {
			return "none"
		}
		return doc.String()
	}))
	v, err := rt.RunString(`({a: 1, b: {toBSON() { return made({c: {toBSON() { return made({d: [2]}) }}}) }},
		e: {toBSON() { const o = {f: 1}; o.o = o; return made(o) }}, g: [3]})`)
	if err != nil {
		t.Fatal(err)
	}
	inner := `{"c": "{\"d\": [{\"$numberInt\":\"2\"}]}"}`
	want := rawdoc.MustMarshal(bson.D{{Key: "a", Value: int32(1)}, {Key: "b", Value: inner}, {Key: "e", Value: "none"},
		{Key: "g", Value: bson.A{int32(3)}}})
	for range 2 {
		if got, err := w.DocFromJS(v); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v %v, want %v", got, err, want)
		}
	}
}
