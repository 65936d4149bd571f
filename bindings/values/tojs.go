package values

import (
	"math"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/bindings/rawdoc"
)

// ToJS converts a value from a server (rules/04-values-and-language §3.6): int32 and double become
// numbers, int64 a Long, dates Dates, regular expressions RegExps where JavaScript supports them, and
// other types their wrappers. The result shares no memory with v. Malformed BSON ends the document that
// contains it. Values that are nested deeper than any server allows become undefined.
func (w *Realm) ToJS(v bson.RawValue) goja.Value {
	js, _ := w.decode(v.Type, v.Value, 0)
	return js
}

// DocToJS converts a document; see ToJS. Its fields keep their order, but Object.keys lists
// integer-like names first, as for any object.
func (w *Realm) DocToJS(d bson.Raw) *goja.Object {
	o, _ := w.decodeDocument(d, 0)
	doc, ok := o.(*goja.Object)
	if !ok {
		return w.rt.NewObject()
	}
	return doc
}

// displayExtent says whether a value could be truncated when it is shown.
type displayExtent struct {
	height int  // levels of documents and arrays below and including this one
	long   bool // contains an array or a string that exceeds a limit
}

func (w *Realm) decodeDocument(d []byte, level int) (goja.Value, displayExtent) {
	var ext displayExtent
	o := w.rt.NewObject()
	body, ok := rawdoc.Elements(d)
	if !ok {
		return o, ext
	}
	if isDBRef(body) {
		return w.decodeDBRef(body, level), ext
	}
	order := orderWatch{lastIndex: -1}
	for left := body; len(left) > 0; {
		t, key, value, rest, ok := rawdoc.NextElement(left)
		if !ok {
			break
		}
		left = rest
		v, inner := w.decode(t, value, level+1)
		ext.height = max(ext.height, inner.height)
		ext.long = ext.long || inner.long
		name := string(key)
		setField(o, name, v)
		order.note(name)
	}
	if order.orderLost {
		w.fields.keepOrder(o, namesOf(body))
	}
	ext.height++
	w.marks.markFromServer(o, ext, level)
	return o, ext
}

// setField sets an own field with any name.
func setField(o *goja.Object, key string, v goja.Value) {
	if key == "__proto__" {
		defineField(o, key, v)
		return
	}
	if o.Set(key, v) != nil { // for example, a script has frozen Object.prototype
		defineField(o, key, v)
	}
}

// defineField defines an own field, regardless of inherited fields.
func defineField(o *goja.Object, key string, v goja.Value) {
	must(o.DefineDataProperty(key, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE))
}

// extentOf returns the same extent as decode, without decoding the value.
func extentOf(t bson.Type, value []byte, level int) displayExtent {
	switch {
	case level > maxNesting:
		return displayExtent{}
	case t == bson.TypeString:
		s, _, _ := bsoncore.ReadString(value)
		return displayExtent{long: len(s) > defaultMaxString}
	case t != bson.TypeEmbeddedDocument && t != bson.TypeArray:
		return displayExtent{}
	}
	body, ok := rawdoc.Elements(value)
	if !ok {
		return displayExtent{}
	}
	if t == bson.TypeEmbeddedDocument && isDBRef(body) {
		return displayExtent{}
	}
	ext, n := extentOfItems(body, level)
	ext.long = ext.long || t == bson.TypeArray && n > defaultMaxItems
	return ext
}

// extentOfItems works like extentOf, for the elements of a document or array; n is the number of its
// own elements.
func extentOfItems(body []byte, level int) (ext displayExtent, n int) {
	for ; len(body) > 0; n++ {
		t, _, value, rest, ok := rawdoc.NextElement(body)
		if !ok {
			break
		}
		inner := extentOf(t, value, level+1)
		ext.height = max(ext.height, inner.height)
		ext.long = ext.long || inner.long
		body = rest
	}
	ext.height++
	return ext, n
}

func (w *Realm) decodeArray(d []byte, level int) (goja.Value, displayExtent) {
	var ext displayExtent
	body, ok := rawdoc.Elements(d)
	if !ok {
		return w.rt.NewArray(), ext
	}
	var items []any
	for len(body) > 0 {
		t, _, value, rest, ok := rawdoc.NextElement(body)
		if !ok {
			break
		}
		body = rest
		v, inner := w.decode(t, value, level+1)
		ext.height = max(ext.height, inner.height)
		ext.long = ext.long || inner.long
		items = append(items, v)
	}
	o := w.rt.NewArray(items...)
	ext.height++
	ext.long = ext.long || len(items) > defaultMaxItems
	w.marks.markFromServer(o, ext, level)
	return o, ext
}

func (w *Realm) decode(t bson.Type, value []byte, level int) (goja.Value, displayExtent) {
	if level > maxNesting {
		return goja.Undefined(), displayExtent{}
	}
	switch t {
	case bson.TypeEmbeddedDocument:
		return w.decodeDocument(value, level)
	case bson.TypeArray:
		return w.decodeArray(value, level)
	case bson.TypeString:
		s, _, _ := bsoncore.ReadString(value)
		return w.rt.ToValue(s), displayExtent{long: len(s) > defaultMaxString}
	default:
		return w.decodeScalar(t, value), displayExtent{}
	}
}

func (w *Realm) decodeScalar(t bson.Type, value []byte) goja.Value {
	switch t {
	case bson.TypeInt32:
		n, _, _ := bsoncore.ReadInt32(value)
		return w.rt.ToValue(n)
	case bson.TypeDouble:
		f, _, _ := bsoncore.ReadDouble(value)
		return w.rt.ToValue(f)
	case bson.TypeInt64:
		n, _, _ := bsoncore.ReadInt64(value)
		return w.newLong(n)
	case bson.TypeBoolean:
		b, _, _ := bsoncore.ReadBoolean(value)
		return w.rt.ToValue(b)
	case bson.TypeNull:
		return goja.Null()
	case bson.TypeObjectID:
		id, _, _ := bsoncore.ReadObjectID(value)
		return w.newObjectID(id)
	case bson.TypeDateTime:
		ms, _, _ := bsoncore.ReadDateTime(value)
		return w.marks.newDate(ms)
	case bson.TypeTimestamp:
		ts, i, _, _ := bsoncore.ReadTimestamp(value)
		return w.newTimestamp(ts, i)
	case bson.TypeBinary:
		sub, data, _, _ := bsoncore.ReadBinary(value)
		return w.newBinary(sub, append([]byte(nil), data...))
	case bson.TypeDecimal128:
		high, low, _, _ := bsoncore.ReadDecimal128(value)
		return w.wrap(&decimal128{realm: w, d: bson.NewDecimal128(high, low)})
	case bson.TypeMinKey, bson.TypeMaxKey:
		return w.wrap(&minMaxKey{max: t == bson.TypeMaxKey})
	default:
		return w.decodeRare(t, value)
	}
}

func (w *Realm) decodeRare(t bson.Type, value []byte) goja.Value {
	switch t {
	case bson.TypeRegex:
		pattern, options, _, _ := bsoncore.ReadRegex(value)
		return w.regexToJS(pattern, options)
	case bson.TypeJavaScript:
		text, _, _ := bsoncore.ReadJavaScript(value)
		return w.wrap(&code{realm: w, text: text})
	case bson.TypeCodeWithScope:
		text, scope, _, _ := bsoncore.ReadCodeWithScope(value)
		return w.wrap(&code{realm: w, text: text, scope: w.DocToJS(scope)})
	case bson.TypeSymbol:
		text, _, _ := bsoncore.ReadSymbol(value)
		return w.wrap(&bsonSymbol{realm: w, text: text})
	case bson.TypeDBPointer:
		ns, id, _, _ := bsoncore.ReadDBPointer(value)
		return w.wrap(&dbRef{realm: w, collection: ns, oid: w.newObjectID(id), pointer: true})
	default:
		return goja.Undefined()
	}
}

// looksLikeDBRef reports whether a document's fields start with $ref.
func looksLikeDBRef(body []byte) bool {
	return len(body) > 6 && body[0] == byte(bson.TypeString) && string(body[1:6]) == "$ref\x00"
}

// isDBRef reports whether a document's fields are {$ref, $id[, $db], …}. A document with another field
// that starts with a dollar, or with another order, is an ordinary document.
func isDBRef(body []byte) bool {
	if !looksLikeDBRef(body) {
		return false
	}
	position := 0
	for ; len(body) > 0; position++ {
		t, key, value, rest, ok := rawdoc.NextElement(body)
		if !ok {
			return false
		}
		body = rest
		switch {
		case position == 0:
		case position == 1:
			if string(key) != "$id" || t == bson.TypeNull || t == bson.TypeUndefined {
				return false
			}
		case position == 2 && t == bson.TypeString && string(key) == "$db":
			if name, _, _ := bsoncore.ReadString(value); name == "" {
				return false
			}
		case len(key) > 0 && key[0] == '$':
			return false
		}
	}
	return position > 1
}

// decodeDBRef decodes a document for which isDBRef returns true.
func (w *Realm) decodeDBRef(body []byte, level int) goja.Value {
	ref := &dbRef{realm: w}
	for position := 0; len(body) > 0; position++ {
		t, key, value, rest, _ := rawdoc.NextElement(body)
		body = rest
		switch name := string(key); {
		case position == 0:
			ref.collection, _, _ = bsoncore.ReadString(value)
		case position == 1:
			ref.oid, _ = w.decode(t, value, level+1)
		case position == 2 && name == "$db":
			ref.db, _, _ = bsoncore.ReadString(value)
		default:
			if ref.fields == nil {
				ref.fields = w.rt.NewObject()
			}
			v, _ := w.decode(t, value, level+1)
			setField(ref.fields, name, v)
		}
	}
	return w.wrap(ref)
}

// isInt32 reports whether f is converted to int32 on the way back to BSON.
func isInt32(f float64) bool {
	return f >= math.MinInt32 && f <= math.MaxInt32 && f == math.Trunc(f) && !(f == 0 && math.Signbit(f))
}

// utf16Length returns the length of s in JavaScript.
func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		if r > 0xFFFF {
			n++
		}
		n++
	}
	return n
}
