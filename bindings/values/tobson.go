package values

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// maxNesting limits the nesting of a value that is converted to BSON. Servers refuse less.
const maxNesting = 2000

// ToBSON converts a JavaScript value (rules/04-values-and-language §4.9): whole numbers within 32 bits
// become int32, all other numbers double, BigInt int64, undefined null, functions code, Map and class
// instances documents. Errors are *goja.Exception with a BSONError, or with the exception of a getter
// or toBSON method of the value.
func (w *Realm) ToBSON(v goja.Value) (bson.RawValue, error) {
	e := encoder{realm: w}
	if ex := w.rt.Try(func() { e.begin(v) }); ex != nil {
		return bson.RawValue{}, ex
	}
	if e.typ == 0 {
		e.typ = bson.TypeNull // a symbol that is not inside a document
	}
	return bson.RawValue{Type: e.typ, Value: e.buf}, nil
}

// DocFromJS converts an object to a document. It returns an error for values that BSON does not
// represent as documents (arrays, dates, ids, functions, primitives).
func (w *Realm) DocFromJS(v goja.Value) (bson.Raw, error) {
	e := w.reusable.takeEncoder(w)
	if ex := w.rt.Try(func() { e.appendRoot(v) }); ex != nil {
		return nil, ex
	}
	doc := w.reusable.copyToSlab(e.buf)
	w.reusable.giveEncoder(e)
	return doc, nil
}

// encoder appends BSON to buf. value sets typ to the type of the appended value, or to 0 if BSON cannot
// represent the value.
type encoder struct {
	realm            *Realm
	nothingHasToBSON bool // see objectFields.prototypesLackToBSON
	buf              []byte
	typ              bson.Type
	stack            []*goja.Object  // the containers being written
	initialStack     [8]*goja.Object // initial memory of stack, which is usually sufficient
}

func (e *encoder) begin(v goja.Value) {
	e.nothingHasToBSON = e.realm.fields.prototypesLackToBSON()
	e.value(v)
}

func (e *encoder) appendRoot(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok {
		e.realm.Errors.throwBSON("serialize does not support non-object as the root input")
	}
	e.begin(o)
	switch e.typ {
	case bson.TypeEmbeddedDocument:
	case bson.TypeArray:
		e.realm.Errors.throwBSON("serialize does not support an array as the root input")
	default:
		if _, wrapped := payloadOf(o); wrapped {
			e.realm.Errors.throwBSON("BSON types cannot be serialized as a document")
		}
		e.realm.Errors.throwBSON("date, regexp, typedarray, and arraybuffer cannot be BSON documents")
	}
}

func (e *encoder) value(v goja.Value) {
	switch v := v.(type) {
	case nil:
		e.typ = bson.TypeNull
		return
	case *goja.Object:
		e.object(v)
		return
	case goja.String:
		e.buf = bsoncore.AppendString(e.buf, v.String())
		e.typ = bson.TypeString
		return
	case *goja.Symbol:
		e.typ = 0
		return
	}
	switch {
	case goja.IsUndefined(v), goja.IsNull(v):
		e.typ = bson.TypeNull
	case goja.IsNumber(v):
		e.number(v)
	case goja.IsBigInt(v):
		b := v.Export().(*big.Int)
		e.buf = bsoncore.AppendInt64(e.buf, low64Bits(b))
		e.typ = bson.TypeInt64
	default:
		e.buf = bsoncore.AppendBoolean(e.buf, v.ToBoolean())
		e.typ = bson.TypeBoolean
	}
}

func (e *encoder) number(v goja.Value) {
	f := v.ToFloat()
	if isInt32(f) {
		e.buf = bsoncore.AppendInt32(e.buf, int32(f))
		e.typ = bson.TypeInt32
		return
	}
	e.buf = bsoncore.AppendDouble(e.buf, f)
	e.typ = bson.TypeDouble
}

func (e *encoder) object(o *goja.Object) {
	if ms, ok := e.realm.Memory.DateMillis(o); ok {
		e.dateAt(ms)
		return
	}
	switch objectKindOf(o) {
	case plainObject:
		if !e.appendToBSON(o) {
			e.document(o)
		}
		return
	case plainArray:
		if !e.appendToBSON(o) {
			e.array(o)
		}
		return
	}
	if p, ok := payloadOf(o); ok {
		p.encode(e)
		return
	}
	if data, ok := bytesOf(o); ok {
		e.buf = bsoncore.AppendBinary(e.buf, 0, data)
		e.typ = bson.TypeBinary
		return
	}
	if isFunction(o) {
		e.function(o)
		return
	}
	switch o.ClassName() {
	case "Date":
		e.date(o)
		return
	case "RegExp":
		e.regexp(o)
		return
	}
	if boxedType(o) != "" {
		e.value(unboxed(o))
		return
	}
	if e.appendToBSON(o) {
		return
	}
	switch {
	case isArray(o) || isTypedArray(o):
		e.array(o)
	case isSet(o):
		e.set(o)
	default:
		e.document(o)
	}
}

// appendToBSON appends the result of the method toBSON. It returns false if there is none, or if it
// returns the object itself.
func (e *encoder) appendToBSON(o *goja.Object) bool {
	v, other := e.realm.fields.callToBSON(o, e.nothingHasToBSON)
	if other {
		e.enter(o) // a result may have a toBSON of its own, without end
		e.value(v)
		e.leave()
	}
	return other
}

// unboxed returns the primitive inside new Number(5) and the like.
func unboxed(o *goja.Object) goja.Value {
	v, err := callable(o.Get("valueOf"))(o)
	if err != nil {
		panic(err)
	}
	return v
}

func (e *encoder) function(o *goja.Object) {
	if b := e.realm.minMaxKeyOfConstructor(o); b != nil {
		b.encode(e)
		return
	}
	e.buf = bsoncore.AppendJavaScript(e.buf, o.String())
	e.typ = bson.TypeJavaScript
}

func (e *encoder) date(o *goja.Object) {
	if t, ok := o.Export().(time.Time); ok {
		e.dateAt(t.UnixMilli())
		return
	}
	ms, kept := e.realm.marks.originalDate(o)
	if !kept {
		e.realm.Errors.throwBSON("Invalid Date cannot be converted to BSON")
	}
	e.dateAt(ms)
}

func (e *encoder) dateAt(ms int64) {
	e.buf = bsoncore.AppendDateTime(e.buf, ms)
	e.typ = bson.TypeDateTime
}

func (e *encoder) regexp(o *goja.Object) {
	source, flags := sourceAndFlags(o)
	if strings.ContainsRune(source, 0) {
		e.realm.Errors.throwBSON("BSON Regex patterns cannot contain null bytes, found: " + quoteJSON(source))
	}
	e.regex(source, bsonOptions(flags))
}

// enter throws for cycles and for nesting that is too deep.
func (e *encoder) enter(o *goja.Object) {
	for _, outer := range e.stack {
		if outer == o {
			e.realm.Errors.throwBSON("Cannot convert circular structure to BSON")
		}
	}
	if len(e.stack) >= maxNesting {
		e.realm.Errors.throwBSON("Cannot convert a value nested more than " + strconv.Itoa(maxNesting) + " levels to BSON")
	}
	if e.stack == nil {
		e.stack = e.initialStack[:0]
	}
	e.stack = append(e.stack, o)
}

func (e *encoder) leave() { e.stack = e.stack[:len(e.stack)-1] }

func (e *encoder) document(o *goja.Object) {
	start, buf := bsoncore.AppendDocumentStart(e.buf)
	e.buf = buf
	if isMap(o) {
		e.mapFields(o)
	} else {
		e.fields(o)
	}
	e.end(start)
	e.typ = bson.TypeEmbeddedDocument
}

// end closes the document or array that starts at start.
func (e *encoder) end(start int32) {
	e.buf = append(e.buf, 0)
	if len(e.buf) > math.MaxInt32 {
		e.realm.Errors.throwBSON("Document is larger than the maximum size 2147483647")
	}
	e.buf = bsoncore.UpdateLength(e.buf, start, int32(len(e.buf))-start)
}

func (e *encoder) fields(o *goja.Object) {
	e.enter(o)
	e.realm.fields.each(o, e.element)
	e.leave()
}

func (e *encoder) mapFields(o *goja.Object) {
	e.enter(o)
	e.realm.rt.ForOf(members(o, e.realm.intrinsics.mapEntries), func(entry goja.Value) bool {
		pair := entry.(*goja.Object)
		e.element(pair.Get("0").String(), pair.Get("1"))
		return true
	})
	e.leave()
}

// element appends one field; it appends nothing for a value that BSON cannot represent.
func (e *encoder) element(key string, v goja.Value) {
	if strings.IndexByte(key, 0) >= 0 {
		e.realm.Errors.throwBSON("key " + key + " must not contain null bytes")
	}
	header := len(e.buf)
	e.buf = append(append(append(e.buf, 0), key...), 0)
	e.value(v)
	if e.typ == 0 {
		e.buf = e.buf[:header]
		return
	}
	e.buf[header] = byte(e.typ)
}

func (e *encoder) array(o *goja.Object) {
	e.enter(o)
	start, buf := bsoncore.AppendDocumentStart(e.buf)
	e.buf = buf
	n := arrayLength(o)
	for i := range n {
		e.item(strconv.Itoa(i), e.realm.fields.item(o, i))
	}
	e.end(start)
	e.leave()
	e.typ = bson.TypeArray
}

// item works like element, for arrays, where no position can be omitted.
func (e *encoder) item(key string, v goja.Value) {
	if _, ok := v.(*goja.Symbol); ok {
		v = goja.Null()
	}
	e.element(key, v)
}

func (e *encoder) set(o *goja.Object) {
	e.enter(o)
	start, buf := bsoncore.AppendDocumentStart(e.buf)
	e.buf = buf
	i := 0
	e.realm.rt.ForOf(members(o, e.realm.intrinsics.setValues), func(v goja.Value) bool {
		e.item(strconv.Itoa(i), v)
		i++
		return true
	})
	e.end(start)
	e.leave()
	e.typ = bson.TypeArray
}
