package values

import (
	"bytes"
	_ "embed"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"pgregory.net/rapid"

	"shardsh/bindings/gojamem"
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
var holder, mark = Symbol("mark");
var parent = {inherited: 1, set assigned(v) { this.by = v; this.self = this === holder }};
`

// touches are what scripts do to a document d, one a line; k, l and v are drawn.
// What they return is compared, and what they throw.
//
//go:embed testdata/touches.txt
var touches string

// A document that is read from its bytes and one that is made at once are the same
// to scripts, whatever they do.
func TestLazyDocumentsAreLikeOthers(t *testing.T) {
	if gojamem.IsDisabled() {
		t.Skip("documents are not lazy")
	}
	w := Install(goja.New(), Options{})
	if !w.Memory.CanRead() {
		t.Fatal("this release of goja is unknown: documents are not lazy")
	}
	for _, text := range []string{describe, `function structured(d) { return JSON.parse(JSON.stringify(d)) }`} {
		if _, err := w.rt.RunString(text); err != nil {
			t.Fatal(err)
		}
	}
	sources := strings.Split(strings.TrimSpace(touches), "\n")
	compiled := make([]goja.Callable, len(sources))
	for i, text := range sources {
		if !strings.Contains(text, "return ") {
			text = "return " + text
		}
		text = "(function (d, k, l, v) { " + text + " })"
		f, err := w.rt.RunString("((...given) => describe(" + text + "(...given)))")
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
			i := rapid.IntRange(0, len(sources)-1).Draw(t, "touch")
			k, l := rapid.SampledFrom(names).Draw(t, "k"), rapid.SampledFrom(names).Draw(t, "l")
			v := w.rt.ToValue(rapid.SampledFrom([]any{1, "text", nil}).Draw(t, "v"))
			got, err := compiled[i](nil, lazy, w.rt.ToValue(k), w.rt.ToValue(l), v)
			want, wantErr := compiled[i](nil, eager, w.rt.ToValue(k), w.rt.ToValue(l), v)
			if problem(err) != problem(wantErr) || err == nil && got.String() != want.String() {
				t.Fatalf("%s with k = %q, l = %q of %s:\n got %v %v\nwant %v %v", sources[i], k, l, bson.Raw(doc), got, err,
					want, wantErr)
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
func same(t *rapid.T, w *Realm, tell goja.Callable, lazy, eager goja.Value) {
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
