package values

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/humanize"
)

type binaryValue struct {
	readOnlyFields
	realm *Realm
	sub   byte
	data  []byte
}

func (w *Realm) newBinary(sub byte, data []byte) *goja.Object {
	return w.wrap(&binaryValue{realm: w, sub: sub, data: data})
}

// kind returns UUID for every binary that can be shown as one.
func (b *binaryValue) kind() kind {
	if b.sub == bson.TypeBinaryUUID && len(b.data) == 16 {
		return kindUUID
	}
	return kindBinary
}

func (*binaryValue) Keys() []string      { return []string{"sub_type", "buffer", "position"} }
func (b *binaryValue) Has(k string) bool { return hasField(b, k) }

func (b *binaryValue) Get(key string) goja.Value {
	switch key {
	case "sub_type":
		return b.realm.rt.ToValue(b.sub)
	case "buffer":
		return b.realm.newBuffer(b.data)
	case "position":
		return b.realm.rt.ToValue(len(b.data))
	}
	return nil
}

func (b *binaryValue) encode(e *encoder) {
	e.buf = bsoncore.AppendBinary(e.buf, b.sub, b.data)
	e.typ = bson.TypeBinary
}

func (b *binaryValue) inspectText(in *inspector) string {
	quoted := func(s string) string { return in.paint(styleString, "'"+s+"'") }
	switch {
	case b.kind() == kindUUID:
		return "UUID('" + humanize.UUID(b.data) + "')"
	case b.sub == bson.TypeBinaryMD5:
		return "MD5(" + quoted(hex.EncodeToString(b.data)) + ")"
	case b.sub == subtypeVector:
		if text, ok := b.vectorText(in); ok {
			return text
		}
	}
	return fmt.Sprintf("Binary.createFromBase64(%s, %s)", quoted(base64Text(b.data)),
		in.paint(styleNumber, strconv.Itoa(int(b.sub))))
}

func (b *binaryValue) writeEJSON(j *jsonWriter) {
	if j.legacy {
		j.open('{')
		j.key("$binary")
		j.text(base64Text(b.data))
		j.key("$type")
		j.text(hex.EncodeToString([]byte{b.sub}))
		j.close('}')
		return
	}
	j.open('{')
	j.key("$binary")
	j.open('{')
	j.key("base64")
	j.text(base64Text(b.data))
	j.key("subType")
	j.text(hex.EncodeToString([]byte{b.sub}))
	j.close('}')
	j.close('}')
}

func binaryClass() classSpec {
	return classSpec{
		name: "Binary", bsontype: "Binary", parent: noParent, construct: newBinaryFrom,
		methods: binaryMethods,
		statics: binaryStatics,
	}
}

func binaryMethods(w *Realm) []method {
	text := func(s string) goja.Value { return w.rt.ToValue(s) }
	return []method{
		newMethod(w, "length", func(b *binaryValue, _ []goja.Value) goja.Value { return w.rt.ToValue(len(b.data)) }),
		newMethod(w, "value", func(b *binaryValue, _ []goja.Value) goja.Value { return w.newBuffer(b.data) }),
		newMethod(w, "read", func(b *binaryValue, args []goja.Value) goja.Value {
			from := clampIndex(arg(args, 0), 0, len(b.data))
			to := clampIndex(arg(args, 1), len(b.data), len(b.data))
			return w.newBuffer(b.data[from:min(from+to, len(b.data))])
		}),
		newMethod(w, "toString", func(b *binaryValue, args []goja.Value) goja.Value { return text(b.text(arg(args, 0))) }),
		newMethod(w, "toJSON", func(b *binaryValue, _ []goja.Value) goja.Value { return text(base64Text(b.data)) }),
		newMethod(w, "toUUID", func(b *binaryValue, _ []goja.Value) goja.Value {
			if b.kind() != kindUUID {
				w.Errors.throwBSON(fmt.Sprintf("Binary sub_type \"%d\" (number) is not supported for converting to UUID. "+
					"Only 0x04 is currently supported.", b.sub))
			}
			return w.newBinary(b.sub, b.data)
		}),
		newMethod(w, "equals", func(b *binaryValue, args []goja.Value) goja.Value {
			p, _ := payloadOf(arg(args, 0))
			o, ok := p.(*binaryValue)
			return w.rt.ToValue(ok && o.sub == b.sub && slices.Equal(o.data, b.data))
		}),
		// members of the old shell's BinData
		newMethod(w, "base64", func(b *binaryValue, _ []goja.Value) goja.Value { return text(base64Text(b.data)) }),
		newMethod(w, "hex", func(b *binaryValue, _ []goja.Value) goja.Value { return text(hex.EncodeToString(b.data)) }),
		newMethod(w, "subtype", func(b *binaryValue, _ []goja.Value) goja.Value { return w.rt.ToValue(b.sub) }),
		newMethod(w, "toInt8Array", func(b *binaryValue, _ []goja.Value) goja.Value {
			return b.typedVector(vectorInt8, "Int8Array")
		}),
		newMethod(w, "toFloat32Array", func(b *binaryValue, _ []goja.Value) goja.Value {
			return b.typedVector(vectorFloat32, "Float32Array")
		}),
		newMethod(w, "toPackedBits", func(b *binaryValue, _ []goja.Value) goja.Value {
			return b.typedVector(vectorBits, "Uint8Array")
		}),
	}
}

func clampIndex(v goja.Value, missing, limit int) int {
	if isMissing(v) {
		return missing
	}
	return int(min(max(v.ToInteger(), 0), int64(limit)))
}

// text implements toString(encoding).
func (b *binaryValue) text(encoding goja.Value) string {
	enc := ""
	if isString(encoding) {
		enc = encoding.String()
	}
	switch enc {
	case "hex":
		return hex.EncodeToString(b.data)
	case "base64":
		return base64Text(b.data)
	default:
		return string(b.data)
	}
}

func binaryStatics(w *Realm, c *class) {
	w.defineStatic(c, "createFromBase64", func(args []goja.Value) goja.Value {
		data, _ := decodeBase64(arg(args, 0).String())
		return w.newBinary(callee{w, "Binary.createFromBase64"}.subtype(arg(args, 1)), data)
	})
	w.defineStatic(c, "createFromHexString", func(args []goja.Value) goja.Value {
		c := callee{w, "Binary.createFromHexString"}
		return w.newBinary(c.subtype(arg(args, 1)), c.hexBytes(arg(args, 0).String()))
	})
	for _, v := range []struct {
		name string
		kind byte
	}{{"fromInt8Array", vectorInt8}, {"fromFloat32Array", vectorFloat32}, {"fromPackedBits", vectorBits}} {
		w.defineStatic(c, v.name, func(args []goja.Value) goja.Value { return w.newVector(v.kind, args) })
	}
	for name, sub := range map[string]int{
		"SUBTYPE_DEFAULT": 0, "SUBTYPE_FUNCTION": 1, "SUBTYPE_BYTE_ARRAY": 2, "SUBTYPE_UUID_OLD": 3, "SUBTYPE_UUID": 4,
		"SUBTYPE_MD5": 5, "SUBTYPE_ENCRYPTED": 6, "SUBTYPE_COLUMN": 7, "SUBTYPE_SENSITIVE": 8, "SUBTYPE_VECTOR": 9,
		"SUBTYPE_USER_DEFINED": 128,
	} {
		defineHidden(c.ctor, name, w.rt.ToValue(sub))
	}
}

// subtype returns a binary subtype; it throws for values outside of 0–255.
func (c callee) subtype(v goja.Value) byte {
	if isMissing(v) {
		return 0
	}
	f := v.ToFloat()
	if !(f >= 0 && f <= 255) || f != float64(int(f)) {
		c.throwArgument("Binary subtype must be an integer between 0 and 255, got " + v.String() + " instead")
	}
	return byte(f)
}

// newBinaryFrom implements Binary(bytes[, subtype]).
func newBinaryFrom(w *Realm, args []goja.Value) payload {
	v := arg(args, 0)
	sub := callee{w, "Binary"}.subtype(arg(args, 1))
	if isMissing(v) {
		return &binaryValue{realm: w, sub: sub}
	}
	if data, ok := bytesOf(v); ok {
		return &binaryValue{realm: w, sub: sub, data: slices.Clone(data)}
	}
	if p, ok := payloadOf(v); ok {
		if b, ok := p.(*binaryValue); ok {
			return &binaryValue{realm: w, sub: sub, data: slices.Clone(b.data)}
		}
	}
	o, ok := v.(*goja.Object)
	if !ok {
		w.Errors.throwBSON("Binary can only be constructed from Uint8Array or number[]")
	}
	if !isArray(o) {
		w.Errors.throwBSON("Cannot create Buffer from the passed potentialBuffer.")
	}
	n := arrayLength(o)
	data := make([]byte, 0, min(n, 1<<20))
	for i := range n {
		data = append(data, byte(integerItem(o.Get(strconv.Itoa(i)))))
	}
	return &binaryValue{realm: w, sub: sub, data: data}
}

// integerItem converts an item of an array to an integer; other values count as 0.
func integerItem(v goja.Value) int64 {
	if isMissing(v) {
		return 0
	}
	return v.ToInteger()
}

func arrayLength(o *goja.Object) int {
	n := o.Get("length")
	if n == nil {
		return 0
	}
	return int(n.ToInteger())
}

// newBinData implements BinData(subtype, base64).
func newBinData(w *Realm, args []goja.Value) payload {
	c := callee{w, "BinData"}
	c.checkTypes(args, []string{"number"}, []string{"string"})
	data, _ := decodeBase64(args[1].String())
	return &binaryValue{realm: w, sub: c.subtype(args[0]), data: data}
}

// newHexData implements HexData(subtype, hex).
func newHexData(w *Realm, args []goja.Value) payload {
	c := callee{w, "HexData"}
	c.checkTypes(args, []string{"number"}, []string{"string"})
	return &binaryValue{realm: w, sub: c.subtype(args[0]), data: c.hexBytes(args[1].String())}
}

// newMD5 implements MD5(hex).
func newMD5(w *Realm, args []goja.Value) payload {
	c := callee{w, "MD5"}
	c.checkTypes(args, []string{"string"})
	return &binaryValue{realm: w, sub: bson.TypeBinaryMD5, data: c.hexBytes(args[0].String())}
}

func (c callee) hexBytes(text string) []byte {
	data, err := hex.DecodeString(text)
	if err != nil {
		c.throwArgument(quoteJSON(text) + " is not a valid hex string")
	}
	return data
}
