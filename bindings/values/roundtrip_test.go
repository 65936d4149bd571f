package values

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"pgregory.net/rapid"
)

// drawnDoc writes a random document. want receives the same document as it
// must come back from JavaScript: whole doubles within 32 bits as int32.
func drawnDoc(t *rapid.T, depth int, array bool) (doc, want []byte) {
	start, doc := bsoncore.AppendDocumentStart(nil)
	_, want = bsoncore.AppendDocumentStart(nil)
	used := map[string]bool{}
	for i := range rapid.IntRange(0, 6).Draw(t, "fields") {
		key := strconv.Itoa(i)
		if !array {
			key = rapid.OneOf(
				rapid.StringMatching(`[a-z_$][a-zA-Z0-9_.\-]{0,8}`),
				rapid.SampledFrom([]string{"_id", "__proto__", "constructor", "toString", "length", "toJSON", "valueOf", "", "é",
					"-1", "01", "1.5", "4294967295x", "0", "1", "10", "9", "4294967294", "4294967295"}),
			).Draw(t, "key")
		}
		// a repeated name is one property, and $ref documents have a test of their own
		if used[key] || key == "$ref" {
			continue
		}
		used[key] = true
		typ, value, back := drawnValue(t, depth)
		doc = append(bsoncore.AppendHeader(doc, bsoncore.Type(typ), key), value...)
		if back == nil {
			want = append(bsoncore.AppendHeader(want, bsoncore.Type(typ), key), value...)
			continue
		}
		want = append(bsoncore.AppendHeader(want, bsoncore.Type(back.Type), key), back.Value...)
	}
	doc, _ = bsoncore.AppendDocumentEnd(doc, start)
	want, _ = bsoncore.AppendDocumentEnd(want, start)
	return doc, want
}

var words = rapid.Custom(func(t *rapid.T) string {
	s := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\nb", "it's", "漢字", "😀"})).Draw(t, "text")
	if !utf8.ValidString(s) {
		return "x"
	}
	return s
})

func cstring(t *rapid.T, label string) string {
	return strings.ReplaceAll(words.Draw(t, label), "\x00", "")
}

// drawnValue returns a random value; back is what it comes back as, nil for
// itself.
func drawnValue(t *rapid.T, depth int) (typ bson.Type, value []byte, back *bson.RawValue) {
	kinds := 18
	if depth >= 4 {
		kinds = 16
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return bson.TypeInt32, bsoncore.AppendInt32(nil, rapid.Int32().Draw(t, "int32")), nil
	case 1:
		return bson.TypeInt64, bsoncore.AppendInt64(nil, rapid.Int64().Draw(t, "int64")), nil
	case 2:
		f := rapid.OneOf(rapid.Float64(),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -5, 1 << 31, -1 << 31, 1 << 53, 1 << 62, math.Inf(1),
				math.NaN()})).Draw(t, "double")
		if isInt32(f) {
			back = &bson.RawValue{Type: bson.TypeInt32, Value: bsoncore.AppendInt32(nil, int32(f))}
		}
		return bson.TypeDouble, bsoncore.AppendDouble(nil, f), back
	case 3:
		return bson.TypeString, bsoncore.AppendString(nil, words.Draw(t, "string")), nil
	case 4:
		return bson.TypeBoolean, bsoncore.AppendBoolean(nil, rapid.Bool().Draw(t, "bool")), nil
	case 5:
		return bson.TypeNull, nil, nil
	case 6:
		return bson.TypeObjectID, rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "oid"), nil
	case 7:
		return bson.TypeDateTime, bsoncore.AppendDateTime(nil, rapid.Int64().Draw(t, "date")), nil
	case 8:
		return bson.TypeTimestamp, bsoncore.AppendTimestamp(nil, rapid.Uint32().Draw(t, "t"), rapid.Uint32().Draw(t, "i")),
			nil
	case 9:
		sub := rapid.Byte().Draw(t, "subtype")
		return bson.TypeBinary, bsoncore.AppendBinary(nil, sub, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "data")), nil
	case 10:
		return bson.TypeDecimal128, rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "decimal"), nil
	case 11:
		return rapid.SampledFrom([]bson.Type{bson.TypeMinKey, bson.TypeMaxKey}).Draw(t, "bound"), nil, nil
	case 12:
		options := rapid.SampledFrom([]string{"", "i", "im", "imsu", "x", "lx", "mi"}).Draw(t, "options")
		return bson.TypeRegex, bsoncore.AppendRegex(nil, cstring(t, "pattern"), options), nil
	case 13:
		return bson.TypeJavaScript, bsoncore.AppendJavaScript(nil, words.Draw(t, "code")), nil
	case 14:
		return bson.TypeSymbol, bsoncore.AppendSymbol(nil, words.Draw(t, "symbol")), nil
	case 15:
		return bson.TypeDBPointer, bsoncore.AppendDBPointer(nil, words.Draw(t, "ns"),
			[12]byte(rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "oid"))), nil
	default:
		array := rapid.Bool().Draw(t, "array")
		doc, want := drawnDoc(t, depth+1, array)
		typ = bson.TypeEmbeddedDocument
		if array {
			typ = bson.TypeArray
		}
		if bytes.Equal(doc, want) {
			return typ, doc, nil
		}
		return typ, doc, &bson.RawValue{Type: typ, Value: want}
	}
}

func TestRoundTrip(t *testing.T) {
	w := Install(goja.New(), Options{})
	rapid.Check(t, func(t *rapid.T) {
		doc, want := drawnDoc(t, 0, false)
		kept := bytes.Clone(doc)
		js := w.DocToJS(doc)
		for i := range doc {
			doc[i] = 0xEE // the values must not share the buffer
		}
		got, err := w.DocFromJS(js)
		if err != nil {
			t.Fatalf("%s: %v", bson.Raw(kept), err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("\nfrom %s\nto   %s\nwant %s", bson.Raw(kept), got, bson.Raw(want))
		}
		w.Inspect(js, DefaultInspectOptions())
		if _, err := w.EJSON(js, true, ""); err != nil {
			t.Fatal(err)
		}
	})
}

// The wrappers that ToJS makes keep everything through EJSON as well.
func TestRoundTripThroughEJSON(t *testing.T) {
	w := Install(goja.New(), Options{})
	for _, doc := range []bson.D{
		{{Key: "l", Value: int64(math.MaxInt64)}, {Key: "d", Value: 1.5}, {Key: "n", Value: nil}},
		{{Key: "o", Value: bson.NewObjectID()}, {Key: "t", Value: bson.Timestamp{T: math.MaxUint32, I: 7}},
			{Key: "when", Value: bson.DateTime(-1)}},
		{{Key: "b", Value: bson.Binary{Subtype: 4, Data: make([]byte, 16)}}, {Key: "min", Value: bson.MinKey{}},
			{Key: "max", Value: bson.MaxKey{}}},
		{{Key: "code", Value: bson.CodeWithScope{Code: "x", Scope: bson.D{{Key: "a", Value: int64(1)}}}},
			{Key: "a", Value: bson.A{"x", true}}},
	} {
		raw, err := bson.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		text, err := w.EJSON(w.DocToJS(raw), true, "")
		if err != nil {
			t.Fatal(err)
		}
		var driver bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(text), true, &driver); err != nil || !bytes.Equal(driver, raw) {
			t.Errorf("the driver reads %s as %s (%v)", text, driver, err)
		}
		back, err := w.ParseEJSON(text, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.DocFromJS(back)
		if err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s came back as %s (%v)", bson.Raw(raw), got, err)
		}
	}
}

// Documents of the form {$ref, $id} are DBRefs in JavaScript and unchanged on
// the way back.
func TestDBRefRoundTrip(t *testing.T) {
	w := Install(goja.New(), Options{})
	for _, c := range []struct {
		doc   bson.D
		shown string
	}{
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: int32(1)}}, `DBRef('c', 1)`},
		{bson.D{{Key: "$ref", Value: "a.b"}, {Key: "$id", Value: int32(1)}, {Key: "$db", Value: "d"},
			{Key: "x", Value: int64(2)}}, `DBRef('a.b', 1, 'd', { x: Long('2') })`},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: nil}}, `{ '$ref': 'c', '$id': null }`},
		{bson.D{{Key: "$ref", Value: "c"}, {Key: "$id", Value: int32(1)}, {Key: "$x", Value: int32(1)}},
			`{ '$ref': 'c', '$id': 1, '$x': 1 }`},
		{bson.D{{Key: "$ref", Value: "c"}}, `{ '$ref': 'c' }`},
		{bson.D{{Key: "$id", Value: int32(1)}, {Key: "$ref", Value: "c"}}, `{ '$id': 1, '$ref': 'c' }`},
	} {
		raw, err := bson.Marshal(bson.D{{Key: "v", Value: c.doc}})
		if err != nil {
			t.Fatal(err)
		}
		js := w.DocToJS(raw)
		if got, want := w.Inspect(js.Get("v"), DefaultInspectOptions()), c.shown; got != want {
			t.Errorf("shown as %s, want %s", got, want)
		}
		if got, err := w.DocFromJS(js); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s came back as %s (%v)", bson.Raw(raw), got, err)
		}
	}
}

// Whatever bytes arrive, conversion ends.
func FuzzToJS(f *testing.F) {
	f.Add(byte(bson.TypeEmbeddedDocument), []byte("\x16\x00\x00\x00\x02hello\x00\x06\x00\x00\x00world\x00\x00"))
	f.Add(byte(bson.TypeArray), []byte("\x05\x00\x00\x00\x00"))
	f.Add(byte(bson.TypeCodeWithScope), []byte("\x0e\x00\x00\x00\x02\x00\x00\x00x\x00\x05\x00\x00\x00\x00"))
	f.Add(byte(bson.TypeBinary), []byte("\x04\x00\x00\x00\x02\x00\x00\x00\x00"))
	w := Install(goja.New(), Options{})
	f.Fuzz(func(_ *testing.T, typ byte, data []byte) {
		v := w.ToJS(bson.RawValue{Type: bson.Type(typ), Value: data})
		w.Inspect(v, DefaultInspectOptions())
		_, _ = w.ToBSON(v)
		_, _ = w.EJSON(v, true, "")
	})
}
