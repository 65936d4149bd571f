package values

import (
	"math"
	"math/big"
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// int32Value is a number with the BSON type int32.
type int32Value struct {
	readOnlyFields
	realm *Realm
	n     int32
}

func (*int32Value) kind() kind          { return kindInt32 }
func (*int32Value) Keys() []string      { return []string{"value"} }
func (*int32Value) Has(key string) bool { return key == "value" }

func (v *int32Value) Get(key string) goja.Value {
	if key == "value" {
		return v.realm.rt.ToValue(v.n)
	}
	return nil
}

func (v *int32Value) encode(e *encoder) {
	e.buf = bsoncore.AppendInt32(e.buf, v.n)
	e.typ = bson.TypeInt32
}

func (v *int32Value) inspectText(in *inspector) string {
	return "Int32(" + in.paint(styleNumber, strconv.Itoa(int(v.n))) + ")"
}

func (v *int32Value) writeEJSON(j *jsonWriter) { j.number(float64(v.n), numberInt) }

func int32Class() classSpec {
	return classSpec{
		name: "Int32", bsontype: "Int32", parent: noParent, construct: newInt32From,
		methods: func(w *Realm) []method {
			value := func(v *int32Value, _ []goja.Value) goja.Value { return w.rt.ToValue(v.n) }
			return []method{
				newMethod(w, "valueOf", value),
				newMethod(w, "toJSON", value),
				newMethod(w, "toNumber", value),
				newMethod(w, "toString", func(v *int32Value, args []goja.Value) goja.Value {
					return w.rt.ToValue(strconv.FormatInt(int64(v.n), radixOf(w, arg(args, 0))))
				}),
			}
		},
		statics: func(w *Realm, c *class) {
			w.defineStatic(c, "fromString", func(args []goja.Value) goja.Value {
				return w.wrap(newInt32From(w, args))
			})
		},
	}
}

// doubleValue is a number with the BSON type double.
type doubleValue struct {
	readOnlyFields
	realm *Realm
	f     float64
}

func (*doubleValue) kind() kind          { return kindDouble }
func (*doubleValue) Keys() []string      { return []string{"value"} }
func (*doubleValue) Has(key string) bool { return key == "value" }

func (v *doubleValue) Get(key string) goja.Value {
	if key == "value" {
		return v.realm.rt.ToValue(v.f)
	}
	return nil
}

func (v *doubleValue) encode(e *encoder) {
	e.buf = bsoncore.AppendDouble(e.buf, v.f)
	e.typ = bson.TypeDouble
}

func (v *doubleValue) inspectText(in *inspector) string {
	return "Double(" + in.paint(styleNumber, numberText(v.realm.rt, v.f)) + ")"
}

func (v *doubleValue) writeEJSON(j *jsonWriter) { j.number(v.f, numberDouble) }

// numberText formats f as JavaScript does, but with the sign of zero.
func numberText(rt *goja.Runtime, f float64) string {
	if f == 0 && math.Signbit(f) {
		return "-0"
	}
	return rt.ToValue(f).String()
}

func doubleClass() classSpec {
	return classSpec{
		name: "Double", bsontype: "Double", parent: noParent,
		construct: func(w *Realm, args []goja.Value) payload {
			v := arg(args, 0)
			if p, ok := payloadOf(v); ok && isLong(p) {
				return &doubleValue{realm: w, f: p.(*long).float()}
			}
			if b, ok := v.Export().(*big.Int); ok {
				f, _ := new(big.Float).SetInt(b).Float64()
				return &doubleValue{realm: w, f: f}
			}
			return &doubleValue{realm: w, f: v.ToFloat()}
		},
		methods: func(w *Realm) []method {
			value := func(v *doubleValue, _ []goja.Value) goja.Value { return w.rt.ToValue(v.f) }
			return []method{
				newMethod(w, "valueOf", value),
				newMethod(w, "toJSON", value),
				newMethod(w, "toNumber", value),
				newMethod(w, "toString", func(v *doubleValue, args []goja.Value) goja.Value {
					if len(args) == 0 {
						return w.rt.ToValue(w.rt.ToValue(v.f).String())
					}
					n := w.rt.ToValue(v.f).ToObject(w.rt)
					text, err := callable(n.Get("toString"))(n, args...)
					if err != nil {
						panic(err)
					}
					return text
				}),
			}
		},
	}
}
