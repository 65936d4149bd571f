package values

import (
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// fromExtended converts an object with a $-key to the value that it represents, or returns it
// unchanged.
func (r *jsonReader) fromExtended(o *goja.Object) goja.Value {
	if v := o.Get("$undefined"); v != nil && v.ToBoolean() {
		return goja.Null()
	}
	for _, key := range o.Keys() {
		read := extendedTypeReader(key)
		if read == nil {
			continue
		}
		if inner := o.Get(key); !isMissing(inner) {
			return read(r, o, inner)
		}
	}
	switch {
	case !isMissing(o.Get("$date")):
		return r.date(o.Get("$date"))
	case !isMissing(o.Get("$code")):
		c := &code{realm: r.realm, text: o.Get("$code").String()}
		c.scope, _ = o.Get("$scope").(*goja.Object)
		return r.realm.wrap(c)
	}
	return r.dbRef(o)
}

// extendedTypeReader returns the reader for a key that names a type.
func extendedTypeReader(key string) func(r *jsonReader, o *goja.Object, v goja.Value) goja.Value {
	switch key {
	case "$oid":
		return (*jsonReader).oid
	case "$binary":
		return (*jsonReader).binary
	case "$uuid":
		return (*jsonReader).uuid
	case "$symbol":
		return func(r *jsonReader, _ *goja.Object, v goja.Value) goja.Value {
			return r.realm.wrap(&bsonSymbol{realm: r.realm, text: v.String()})
		}
	case "$numberInt":
		return (*jsonReader).numberInt
	case "$numberLong":
		return (*jsonReader).numberLong
	case "$numberDouble":
		return (*jsonReader).numberDouble
	case "$numberDecimal":
		return func(r *jsonReader, _ *goja.Object, v goja.Value) goja.Value {
			return r.realm.wrap(&decimal128{realm: r.realm, d: parseDecimal(r.realm, v.String())})
		}
	case "$minKey", "$maxKey":
		return func(r *jsonReader, _ *goja.Object, _ goja.Value) goja.Value {
			return r.realm.wrap(&minMaxKey{max: key == "$maxKey"})
		}
	case "$regex", "$regularExpression":
		return (*jsonReader).regex
	case "$timestamp":
		return (*jsonReader).timestamp
	default:
		return nil
	}
}

func (r *jsonReader) oid(_ *goja.Object, v goja.Value) goja.Value {
	id, ok := objectIDFromHex(v.String())
	if !ok {
		r.realm.Errors.throwBSON(badObjectIDText)
	}
	return r.realm.newObjectID(id)
}

func (r *jsonReader) uuid(_ *goja.Object, v goja.Value) goja.Value {
	return r.realm.newBinary(bson.TypeBinaryUUID, callee{r.realm, "UUID"}.uuidBytes(v.String()))
}

func (r *jsonReader) binary(o *goja.Object, v goja.Value) goja.Value {
	text, sub := v, o.Get("$type")
	if inner, ok := v.(*goja.Object); ok {
		text, sub = inner.Get("base64"), inner.Get("subType")
	}
	if isMissing(text) {
		r.realm.Errors.throwBSON("Unexpected Binary Extended JSON format " + quoteJSON(v.String()))
	}
	data, _ := decodeBase64(text.String())
	return r.realm.newBinary(subtypeOf(sub), data)
}

// subtypeOf parses the hexadecimal string, or the number, of a binary subtype.
func subtypeOf(v goja.Value) byte {
	switch {
	case isMissing(v):
		return 0
	case isString(v):
		n, _ := strconv.ParseUint(v.String(), 16, 8)
		return byte(n)
	default:
		return byte(v.ToInteger())
	}
}

func (r *jsonReader) numberInt(_ *goja.Object, v goja.Value) goja.Value {
	n := callee{r.realm, "$numberInt"}.integerFrom(v, 32)
	if r.relaxed || r.legacy {
		return r.realm.rt.ToValue(n)
	}
	return r.realm.wrap(&int32Value{realm: r.realm, n: int32(n)})
}

// numberLong returns a Long where a JavaScript number would not be exact (rules/04-values-and-language
// §4.10, fix).
func (r *jsonReader) numberLong(_ *goja.Object, v goja.Value) goja.Value {
	n := callee{r.realm, "$numberLong"}.integerFrom(v, 64)
	if r.relaxed && isSafeInteger(n) {
		return r.realm.rt.ToValue(n)
	}
	return r.realm.newLong(n)
}

func (r *jsonReader) numberDouble(_ *goja.Object, v goja.Value) goja.Value {
	f := v.ToFloat()
	if text := strings.TrimSpace(v.String()); text == "-0.0" || text == "-0" {
		f = math.Copysign(0, -1)
	}
	if r.relaxed {
		return r.realm.rt.ToValue(f)
	}
	return r.realm.wrap(&doubleValue{realm: r.realm, f: f})
}

func (r *jsonReader) regex(o *goja.Object, _ goja.Value) goja.Value {
	pattern, options := o.Get("$regex"), o.Get("$options")
	if inner, ok := o.Get("$regularExpression").(*goja.Object); ok {
		pattern, options = inner.Get("pattern"), inner.Get("options")
	}
	if !isString(pattern) {
		return o // this is the query operator with a regular expression
	}
	text := ""
	if !isMissing(options) {
		text = options.String()
	}
	return r.realm.wrap(regExpClass().construct(r.realm, []goja.Value{pattern, r.realm.rt.ToValue(text)}))
}

func (r *jsonReader) timestamp(_ *goja.Object, v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		n, err := strconv.ParseUint(v.String(), 10, 64)
		if err != nil {
			r.realm.Errors.throwBSON(badTimestamp)
		}
		return r.realm.newTimestamp(uint32(n>>32), uint32(n))
	}
	return r.realm.wrap(newTimestampFrom(r.realm, []goja.Value{o}))
}

func (r *jsonReader) date(v goja.Value) goja.Value {
	if p, ok := payloadOf(v); ok && isLong(p) {
		return r.realm.marks.newDate(p.(*long).n)
	}
	switch {
	case goja.IsNumber(v):
		return r.realm.intrinsics.newDate(v)
	case isString(v):
		return r.realm.intrinsics.newDate(r.realm.intrinsics.parseDate(v))
	}
	if p, ok := payloadOf(v); ok {
		switch p.(type) {
		case *int32Value, *doubleValue:
			return r.realm.intrinsics.newDate(r.realm.rt.ToValue(v.ToFloat()))
		}
	}
	r.realm.Errors.Throw("BSONRuntimeError", "Unrecognized type for EJSON date: "+typeOf(v), nil)
	return nil
}

// dbRef converts {$ref, $id[, $db], …} and {$dbPointer: …} to a DBRef.
func (r *jsonReader) dbRef(o *goja.Object) goja.Value {
	d := o
	if inner, ok := o.Get("$dbPointer").(*goja.Object); ok {
		if _, wrapped := payloadOf(inner); wrapped {
			return inner
		}
		d = inner
	}
	collection, id, db := d.Get("$ref"), d.Get("$id"), d.Get("$db")
	if !isString(collection) || isMissing(id) || !(isMissing(db) || isString(db)) {
		return o
	}
	ref := &dbRef{realm: r.realm, collection: collection.String(), oid: id}
	if isString(db) {
		ref.db = db.String()
	}
	for _, key := range d.Keys() {
		switch {
		case key == "$ref" || key == "$id" || key == "$db":
		case strings.HasPrefix(key, "$"):
			return o
		default:
			if ref.fields == nil {
				ref.fields = r.realm.rt.NewObject()
			}
			setField(ref.fields, key, d.Get(key))
		}
	}
	ref.splitNamespace()
	return r.realm.wrap(ref)
}
