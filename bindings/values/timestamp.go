package values

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

type timestamp struct {
	readOnlyFields
	realm *Realm
	t, i  uint32
}

func (w *Realm) newTimestamp(t, i uint32) *goja.Object {
	return w.wrap(&timestamp{realm: w, t: t, i: i})
}

func (*timestamp) kind() kind           { return kindTimestamp }
func (*timestamp) Keys() []string       { return []string{"high", "low", "unsigned"} }
func (ts *timestamp) Has(k string) bool { return hasField(ts, k) }

func (ts *timestamp) Get(key string) goja.Value { return ts.realm.longField(key, ts.bits(), true) }

// bits returns the value as the server compares it: the seconds in the high half, the increment in the
// low half.
func (ts *timestamp) bits() int64 { return int64(uint64(ts.t)<<32 | uint64(ts.i)) }

func (ts *timestamp) decimalText() string { return strconv.FormatUint(uint64(ts.bits()), 10) }

// primitiveValue returns a BigInt for values beyond the exact range of a number: two timestamps within
// a second differ only in the last digits, and < has to distinguish them.
func (ts *timestamp) primitiveValue() goja.Value {
	if n := ts.bits(); isSafeInteger(n) && n >= 0 {
		return ts.realm.rt.ToValue(n)
	}
	return ts.realm.rt.ToValue(new(big.Int).SetUint64(uint64(ts.bits())))
}

func (*timestamp) losesPrecision() bool { return false }

func (ts *timestamp) encode(e *encoder) {
	e.buf = bsoncore.AppendTimestamp(e.buf, ts.t, ts.i)
	e.typ = bson.TypeTimestamp
}

func (ts *timestamp) inspectText(*inspector) string {
	return fmt.Sprintf("Timestamp({ t: %d, i: %d })", ts.t, ts.i)
}

func (ts *timestamp) writeEJSON(j *jsonWriter) {
	j.open('{')
	j.key("$timestamp")
	j.open('{')
	j.key("t")
	j.raw(strconv.FormatUint(uint64(ts.t), 10))
	j.key("i")
	j.raw(strconv.FormatUint(uint64(ts.i), 10))
	j.close('}')
	j.close('}')
}

func timestampClass() classSpec {
	return classSpec{
		name: "Timestamp", bsontype: "Timestamp", parent: kindLong, construct: newTimestampFrom,
		methods: func(w *Realm) []method {
			return []method{
				newMethod(w, "toJSON", func(ts *timestamp, _ []goja.Value) goja.Value {
					return objectWith(w.rt, "$timestamp", w.rt.ToValue(strconv.FormatUint(uint64(ts.bits()), 10)))
				}),
				newMethod(w, "getTime", func(ts *timestamp, _ []goja.Value) goja.Value { return w.rt.ToValue(ts.t) }),
				newMethod(w, "getInc", func(ts *timestamp, _ []goja.Value) goja.Value { return w.rt.ToValue(ts.i) }),
			}
		},
		getters: func(w *Realm) []method {
			return []method{
				newMethod(w, "t", func(ts *timestamp, _ []goja.Value) goja.Value { return w.rt.ToValue(ts.t) }),
				newMethod(w, "i", func(ts *timestamp, _ []goja.Value) goja.Value { return w.rt.ToValue(ts.i) }),
			}
		},
		statics: func(w *Realm, c *class) {
			of := func(n int64) goja.Value { return w.newTimestamp(uint32(uint64(n)>>32), uint32(n)) }
			defineHidden(c.ctor, "MAX_VALUE", w.class(kindLong).ctor.Get("MAX_UNSIGNED_VALUE"))
			w.defineStatic(c, "fromBits", func(args []goja.Value) goja.Value { return of(fromBits(arg(args, 0), arg(args, 1))) })
			w.defineStatic(c, "fromInt",
				func(args []goja.Value) goja.Value { return of(int64(uint32(arg(args, 0).ToInteger()))) })
			w.defineStatic(c, "fromNumber", func(args []goja.Value) goja.Value {
				return of(clampInt64(arg(args, 0).ToFloat(), true))
			})
			w.defineStatic(c, "fromString", func(args []goja.Value) goja.Value {
				n, err := strconv.ParseUint(arg(args, 0).String(), radixOf(w, arg(args, 1)), 64)
				if err != nil {
					callee{w, "Timestamp"}.throwNotInteger(arg(args, 0).String(), 64)
				}
				return of(int64(n))
			})
		},
	}
}

// newTimestampFrom implements Timestamp([t[, i]]) and Timestamp({t, i}).
func newTimestampFrom(w *Realm, args []goja.Value) payload {
	first, second := arg(args, 0), arg(args, 1)
	if typeOf(first) == "bigint" {
		n := w.longOf(first).n
		return &timestamp{realm: w, t: uint32(uint64(n) >> 32), i: uint32(n)}
	}
	callee{w, "Timestamp"}.checkTypes(args, []string{"number", "object", optionalArg}, []string{"number", optionalArg})
	if p, ok := payloadOf(first); ok {
		switch p.(type) {
		case *long, *timestamp:
			n := w.longOf(first).n
			return &timestamp{realm: w, t: uint32(uint64(n) >> 32), i: uint32(n)}
		}
	}
	if o, ok := first.(*goja.Object); ok {
		t, i := o.Get("t"), o.Get("i")
		if isMissing(t) || isMissing(i) {
			w.Errors.throwBSON(badTimestamp)
		}
		return &timestamp{realm: w, t: w.timestampPart("t", t), i: w.timestampPart("i", i)}
	}
	zero := w.rt.ToValue(0)
	if isMissing(first) {
		first = zero
	}
	if goja.IsUndefined(second) {
		second = zero
	}
	return &timestamp{realm: w, t: w.timestampPart("t", first), i: w.timestampPart("i", second)}
}

const badTimestamp = "A Timestamp can only be constructed with: bigint, Long, or { t: number; i: number }"

func (w *Realm) timestampPart(name string, v goja.Value) uint32 {
	if p, ok := payloadOf(v); ok {
		if _, ok := p.(*int32Value); !ok {
			if _, ok := p.(*long); !ok {
				w.Errors.throwBSON("Timestamp constructed from { t, i } must provide " + name + " as a number")
			}
		}
	} else if !goja.IsNumber(v) {
		w.Errors.throwBSON("Timestamp constructed from { t, i } must provide " + name + " as a number")
	}
	f := v.ToFloat()
	switch {
	case f < 0 || math.IsNaN(f):
		w.Errors.throwBSON("Timestamp constructed from { t, i } must provide a positive " + name)
	case f > math.MaxUint32:
		w.Errors.throwBSON("Timestamp constructed from { t, i } must provide " + name + " equal or less than uint32 max")
	}
	return uint32(f)
}
