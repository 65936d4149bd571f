package values

import (
	"reflect"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
)

// lazyDoc decodes the fields of a server's document from its bytes when a script reads them. It
// implements its object as long as the object is not changed. A change converts the object permanently
// to an ordinary object: it is materialized. A document is also materialized if JavaScript would treat
// its fields differently, for example by not preserving their order, and if it is read so often that
// scanning the bytes takes longer.
//
// Until it is materialized, the object differs from ordinary objects in its prototype, and in the effect of
// functions such as Object.freeze. lazyGuard hides both differences.
type lazyDoc struct {
	realm        *Realm
	o            *goja.Object // the object of scripts
	body         []byte       // the elements
	fields       []lazyField  // sorted; nil until several fields were requested
	level        int
	lookups      int // number of lookups by name
	nextField    int // the field that is probably requested next
	materialized bool
	exposed      bool // scripts have a mutable value of a field
}

// lazyField is the position of a field in the body, from its name to the end of its value.
type lazyField struct {
	name, start, end int32
	t                bson.Type
	value            goja.Value // nil before its first use
}

const (
	// maxScans is how many lookups scan the bytes before all fields are indexed.
	maxScans = 3
	// maxExtraLookups is how many lookups, in addition to twice the number of fields, are cheaper than
	// materializing.
	maxExtraLookups = 16
	// maxLazyFields is the number of fields from which a linear search is too slow.
	maxLazyFields = 32
)

var typeOfLazy = reflect.TypeFor[*lazyDoc]()

// LazyDoc returns an object for a document. It behaves like the object of DocToJS, but decodes only the
// fields that scripts read.
func (w *Realm) LazyDoc(d bson.Raw) goja.Value { return w.newLazy(w.reusable.copyToSlab(d), 0) }

// newLazy works like LazyDoc, for bytes that never change.
func (w *Realm) newLazy(d []byte, level int) goja.Value {
	body, ok := rawdoc.Elements(d)
	if !ok || looksLikeDBRef(body) || level > maxNesting || !w.Memory.CanRead() {
		v, _ := w.decode(bson.TypeEmbeddedDocument, d, level)
		return v
	}
	l := &lazyDoc{realm: w, body: body, level: level}
	l.o = w.rt.NewDynamicObject(l)
	must(l.o.SetPrototype(w.lazyGuard.prototype()))
	return l.o
}

// LazyObject returns an object whose fields are separate values from a server.
func (w *Realm) LazyObject(fields bson.Raw) goja.Value { return w.newLazy(fields, shellObjectLevel) }

// shellObjectLevel is the level of an object of the shell that contains documents.
const shellObjectLevel = -1

// lazyOf returns the lazy document of an object; nil if the object has none, or it was materialized.
func lazyOf(o *goja.Object) *lazyDoc {
	if o.ExportType() != typeOfLazy {
		return nil
	}
	l, _ := o.Export().(*lazyDoc)
	return l
}

// Get returns a field.
func (l *lazyDoc) Get(key string) goja.Value {
	if l.shouldScan() {
		t, value, ok := l.scan(key)
		if !ok {
			return nil
		}
		if isJSPrimitive(t) {
			return l.decode(t, value)
		}
	}
	f := l.field(key)
	switch {
	case l.materialized:
		return l.ownValue(key)
	case f == nil:
		return nil
	}
	return l.value(f)
}

// Has reports whether a field exists.
func (l *lazyDoc) Has(key string) bool {
	if l.shouldScan() {
		_, _, ok := l.scan(key)
		return ok
	}
	f := l.field(key)
	return f != nil || l.materialized && l.ownValue(key) != nil
}

// Keys returns the names of all fields.
func (l *lazyDoc) Keys() []string {
	if !l.ensureIndex() {
		return l.o.GetOwnPropertyNames()
	}
	l.nextField = 0
	names := make([]string, len(l.fields))
	for i := range l.fields {
		names[i] = string(l.name(i))
	}
	return names
}

// Set sets a field.
func (l *lazyDoc) Set(key string, v goja.Value) bool {
	l.materialize()
	setField(l.o, key, v)
	return true
}

// Delete removes a field.
func (l *lazyDoc) Delete(key string) bool {
	l.materialize()
	return l.o.Delete(key) == nil
}

// ownValue works like Get, for a document that was materialized but is still in use by the operation that
// materialized it.
func (l *lazyDoc) ownValue(key string) goja.Value {
	d, err := l.realm.intrinsics.getOwnDescriptor(nil, l.o, l.realm.rt.ToValue(key))
	if err != nil {
		panic(err)
	}
	if goja.IsUndefined(d) {
		return nil
	}
	return l.o.Get(key)
}

// isJSPrimitive reports whether two decoded values of a type are indistinguishable for scripts.
func isJSPrimitive(t bson.Type) bool {
	switch t {
	case bson.TypeInt32, bson.TypeDouble, bson.TypeString, bson.TypeBoolean, bson.TypeNull, bson.TypeUndefined:
		return true
	}
	return false
}

// shouldScan reports whether to scan the bytes for a field instead of indexing all.
func (l *lazyDoc) shouldScan() bool {
	if l.fields != nil || l.materialized || l.lookups >= maxScans {
		return false
	}
	l.lookups++
	return true
}

// scan searches the bytes for a field; the last field with the name counts.
func (l *lazyDoc) scan(name string) (t bson.Type, value []byte, found bool) {
	for body := l.body; len(body) > 0; {
		kind, key, v, rest, ok := rawdoc.NextElement(body)
		if !ok {
			break
		}
		if string(key) == name {
			t, value, found = kind, v, true
		}
		body = rest
	}
	return t, value, found
}

// field returns a field; nil when it is missing, or the document was materialized.
func (l *lazyDoc) field(key string) *lazyField {
	if !l.ensureIndex() {
		return nil
	}
	if l.nextField < len(l.fields) && string(l.name(l.nextField)) == key {
		l.nextField++
		return &l.fields[l.nextField-1]
	}
	if l.lookups++; l.lookups > maxExtraLookups+2*len(l.fields) {
		l.materialize()
		return nil
	}
	for i := range l.fields {
		if string(l.name(i)) == key {
			l.nextField = i + 1
			return &l.fields[i]
		}
	}
	return nil
}

// name returns a field's name, without its terminating zero.
func (l *lazyDoc) name(i int) []byte { return l.body[l.fields[i].name : l.fields[i].start-1] }

// ensureIndex records the offsets of all fields; false if the document was materialized.
func (l *lazyDoc) ensureIndex() bool {
	if l.materialized || l.fields != nil {
		return !l.materialized
	}
	l.fields = make([]lazyField, 0, 8)
	for at := 0; at < len(l.body); {
		t, key, value, rest, ok := rawdoc.NextElement(l.body[at:])
		if !ok {
			break
		}
		if l.needsMaterializing(key) {
			l.materialize()
			return false
		}
		end := len(l.body) - len(rest)
		l.fields = append(l.fields, lazyField{name: int32(at + 1), start: int32(end - len(value)), end: int32(end), t: t})
		at = end
	}
	return true
}

// needsMaterializing reports whether JavaScript would treat a field differently from its bytes: its name is
// a duplicate, is moved to the front, or has a special meaning, or there are too many fields.
func (l *lazyDoc) needsMaterializing(key []byte) bool {
	if len(l.fields) >= maxLazyFields || len(key) > 0 && key[0] >= '0' && key[0] <= '9' || string(key) == "__proto__" {
		return true
	}
	for i := range l.fields {
		if string(l.name(i)) == string(key) {
			return true
		}
	}
	return false
}

// value returns the value of a field, the same on each call.
func (l *lazyDoc) value(f *lazyField) goja.Value {
	if f.value == nil {
		f.value = l.decode(f.t, l.body[f.start:f.end])
		l.exposed = l.exposed || !isJSPrimitive(f.t)
	}
	return f.value
}

func (l *lazyDoc) decode(t bson.Type, value []byte) goja.Value {
	return l.realm.decodeLazy(t, value, l.level+1)
}

// decodeLazy decodes a value; documents in it are lazy.
func (w *Realm) decodeLazy(t bson.Type, value []byte, level int) goja.Value {
	switch {
	case t == bson.TypeEmbeddedDocument:
		return w.newLazy(value, level)
	case t != bson.TypeArray || level > maxNesting:
		v, _ := w.decode(t, value, level)
		return v
	}
	var items []any
	body, _ := rawdoc.Elements(value)
	for len(body) > 0 {
		t, _, value, rest, ok := rawdoc.NextElement(body)
		if !ok {
			break
		}
		body = rest
		items = append(items, w.decodeLazy(t, value, level+1))
	}
	o := w.rt.NewArray(items...)
	w.marks.markFromServer(o, extentOf(bson.TypeArray, value, level), level)
	return o
}

// materialize converts the object to an ordinary object.
func (l *lazyDoc) materialize() {
	if l.materialized {
		return
	}
	l.materialized = true
	w := l.realm
	o := w.rt.NewObject()
	order := orderWatch{lastIndex: -1}
	for at, n := 0, 0; at < len(l.body); n++ {
		t, key, value, rest, ok := rawdoc.NextElement(l.body[at:])
		if !ok {
			break
		}
		at = len(l.body) - len(rest)
		var v goja.Value
		if n < len(l.fields) {
			v = l.fields[n].value
		}
		if v == nil {
			v = l.decode(t, value)
		}
		name := string(key)
		defineField(o, name, v)
		order.note(name)
	}
	if order.orderLost {
		w.fields.keepOrder(o, namesOf(l.body))
	}
	if l.level != shellObjectLevel {
		ext, _ := extentOfItems(l.body, l.level)
		w.marks.markFromServer(o, ext, l.level)
	}
	if p := l.o.Prototype(); p != w.lazyGuard.proto {
		must(o.SetPrototype(p))
	}
	w.Memory.Replace(l.o, o)
	l.body, l.fields = nil, nil
}
