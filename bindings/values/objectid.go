package values

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

type objectID struct {
	readOnlyFields
	realm *Realm
	id    bson.ObjectID
}

// ObjectID returns an ObjectId.
func (w *Realm) ObjectID(id bson.ObjectID) goja.Value { return w.newObjectID(id) }

func (w *Realm) newObjectID(id bson.ObjectID) *goja.Object {
	return w.wrap(&objectID{realm: w, id: id})
}

func (*objectID) kind() kind     { return kindObjectID }
func (*objectID) Keys() []string { return []string{"i0", "i1", "i2", "i3"} }

func (o *objectID) Has(key string) bool { return o.Get(key) != nil }

// Get returns the id as four groups of three bytes, the fields of js-bson.
func (o *objectID) Get(key string) goja.Value {
	if len(key) != 2 || key[0] != 'i' || key[1] < '0' || key[1] > '3' {
		return nil
	}
	group := o.id[(key[1]-'0')*3:]
	return o.realm.rt.ToValue(uint32(group[0])<<16 | uint32(group[1])<<8 | uint32(group[2]))
}

func (o *objectID) encode(e *encoder) {
	e.buf = bsoncore.AppendObjectID(e.buf, o.id)
	e.typ = bson.TypeObjectID
}

func (o *objectID) inspectText(in *inspector) string {
	return "ObjectId(" + in.paint(styleString, "'"+o.id.Hex()+"'") + ")"
}

func (o *objectID) writeEJSON(j *jsonWriter) { j.pair("$oid", o.id.Hex()) }

func objectIDClass() classSpec {
	return classSpec{
		name:      "ObjectId",
		bsontype:  "ObjectId",
		parent:    noParent,
		construct: newObjectIDFrom,
		methods: func(w *Realm) []method {
			text := func(o *objectID, _ []goja.Value) goja.Value { return w.rt.ToValue(o.id.Hex()) }
			return []method{
				newMethod(w, "toString", func(o *objectID, args []goja.Value) goja.Value {
					if enc := arg(args, 0); isString(enc) && enc.String() == "base64" {
						return w.rt.ToValue(base64Text(o.id[:]))
					}
					return text(o, nil)
				}),
				newMethod(w, "toHexString", text),
				newMethod(w, "toJSON", text),
				newMethod(w, "valueOf", text),
				newMethod(w, "getTimestamp", func(o *objectID, _ []goja.Value) goja.Value {
					return w.intrinsics.newDate(w.rt.ToValue(int64(binary.BigEndian.Uint32(o.id[:4])) * 1000))
				}),
				newMethod(w, "equals", func(o *objectID, args []goja.Value) goja.Value {
					return w.rt.ToValue(o.equals(arg(args, 0)))
				}),
			}
		},
		getters: func(w *Realm) []method {
			return []method{
				newMethod(w, "id", func(o *objectID, _ []goja.Value) goja.Value { return w.newBuffer(o.id[:]) }),
				newMethod(w, "str", func(o *objectID, _ []goja.Value) goja.Value { return w.rt.ToValue(o.id.Hex()) }),
			}
		},
		statics: objectIDStatics,
	}
}

func objectIDStatics(w *Realm, c *class) {
	w.defineStatic(c, "isValid", func(args []goja.Value) goja.Value {
		return w.rt.ToValue(isValidObjectID(arg(args, 0)))
	})
	w.defineStatic(c, "createFromTime", func(args []goja.Value) goja.Value {
		var id bson.ObjectID
		binary.BigEndian.PutUint32(id[:4], uint32(int64(arg(args, 0).ToFloat())))
		return w.newObjectID(id)
	})
	w.defineStatic(c, "createFromHexString", func(args []goja.Value) goja.Value {
		id, ok := objectIDFromHex(arg(args, 0).String())
		if !ok {
			w.Errors.throwBSON("hex string must be 24 characters")
		}
		return w.newObjectID(id)
	})
	w.defineStatic(c, "createFromBase64", func(args []goja.Value) goja.Value {
		data, strict := decodeBase64(arg(args, 0).String())
		if !strict || len(data) != 12 {
			w.Errors.throwBSON("base64 string must be 16 characters")
		}
		return w.newObjectID(bson.ObjectID(data))
	})
	w.defineStatic(c, "generate", func(args []goja.Value) goja.Value {
		id := bson.NewObjectIDFromTimestamp(w.opts.Now())
		if v := arg(args, 0); goja.IsNumber(v) {
			id = bson.NewObjectIDFromTimestamp(time.Unix(int64(v.ToFloat()), 0))
		}
		return w.newBuffer(id[:])
	})
}

func (o *objectID) equals(v goja.Value) bool {
	if p, ok := payloadOf(v); ok {
		other, ok := p.(*objectID)
		return ok && other.id == o.id
	}
	if isString(v) {
		id, ok := objectIDFromHex(v.String())
		return ok && id == o.id
	}
	return false
}

func objectIDFromHex(s string) (bson.ObjectID, bool) {
	var id bson.ObjectID
	if len(s) != 24 {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err == nil
}

func isValidObjectID(v goja.Value) bool {
	if isMissing(v) {
		return false
	}
	if p, ok := payloadOf(v); ok {
		return p.kind() == kindObjectID
	}
	if data, ok := bytesOf(v); ok {
		return len(data) == 12
	}
	_, ok := objectIDFromHex(v.String())
	return ok && isString(v)
}

const (
	badObjectIDText = "input must be a 24 character hex string, 12 byte Uint8Array, or an integer"
	badObjectIDType = "Argument passed in does not match the accepted types"
)

// newObjectIDFrom implements ObjectId(x) (rules/04-values-and-language §4.7).
func newObjectIDFrom(w *Realm, args []goja.Value) payload {
	v := arg(args, 0)
	callee{w, "ObjectId"}.checkTypes(args, []string{"string", "number", "object", optionalArg})
	if isMissing(v) {
		return &objectID{realm: w, id: bson.NewObjectIDFromTimestamp(w.opts.Now())}
	}
	id, problem := objectIDOf(v)
	if problem != "" {
		w.Errors.throwBSON(problem)
	}
	return &objectID{realm: w, id: id}
}

// objectIDOf converts an argument of ObjectId; problem is the message of the BSONError if that is
// impossible.
func objectIDOf(v goja.Value) (id bson.ObjectID, problem string) {
	switch typeOf(v) {
	case "string":
		id, ok := objectIDFromHex(v.String())
		if !ok {
			return id, badObjectIDText
		}
		return id, ""
	case "number":
		seconds := v.ToFloat()
		if math.IsNaN(seconds) || math.IsInf(seconds, 0) {
			return id, badObjectIDText
		}
		return bson.NewObjectIDFromTimestamp(time.Unix(int64(seconds), 0)), ""
	case "object":
		return objectIDOfObject(v.(*goja.Object))
	default:
		return id, badObjectIDType
	}
}

func objectIDOfObject(o *goja.Object) (id bson.ObjectID, problem string) {
	if p, ok := payloadOf(o); ok {
		if other, ok := p.(*objectID); ok {
			return other.id, ""
		}
		return id, badObjectIDType
	}
	if data, ok := bytesOf(o); ok {
		if len(data) != len(id) {
			return id, badObjectIDType
		}
		return bson.ObjectID(data), ""
	}
	if toHex, ok := goja.AssertFunction(o.Get("toHexString")); ok {
		text, err := toHex(o)
		if err != nil {
			panic(err)
		}
		if id, ok := objectIDFromHex(text.String()); ok {
			return id, ""
		}
		return id, badObjectIDText
	}
	inner := o.Get("id")
	switch {
	case inner == nil:
		return id, badObjectIDType
	case isString(inner):
		return objectIDOf(inner)
	default:
		if data, ok := bytesOf(inner); ok && len(data) == len(id) {
			return bson.ObjectID(data), ""
		}
		return id, "Argument passed in must have an id that is of type string or Buffer"
	}
}
