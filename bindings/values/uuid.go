package values

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
)

// uuidClass returns the class of Binary values with subtype 4 and 16 bytes; _bsontype stays Binary.
func uuidClass() classSpec {
	return classSpec{
		name: "UUID", bsontype: "Binary", parent: kindBinary,
		construct: func(w *Realm, args []goja.Value) payload {
			c := callee{w, "UUID"}
			c.checkTypes(args, []string{"string", optionalArg})
			if goja.IsUndefined(arg(args, 0)) {
				return &binaryValue{realm: w, sub: bson.TypeBinaryUUID, data: randomUUID()}
			}
			return &binaryValue{realm: w, sub: bson.TypeBinaryUUID, data: c.uuidBytes(args[0].String())}
		},
		methods: func(w *Realm) []method {
			dashed := func(b *binaryValue, _ []goja.Value) goja.Value { return w.rt.ToValue(humanize.UUID(b.data)) }
			return []method{
				newMethod(w, "toString", func(b *binaryValue, args []goja.Value) goja.Value {
					if isString(arg(args, 0)) {
						return w.rt.ToValue(b.text(args[0]))
					}
					return dashed(b, nil)
				}),
				newMethod(w, "toHexString", func(b *binaryValue, args []goja.Value) goja.Value {
					if v := arg(args, 0); !goja.IsUndefined(v) && !v.ToBoolean() {
						return w.rt.ToValue(hex.EncodeToString(b.data))
					}
					return dashed(b, nil)
				}),
				newMethod(w, "toJSON", dashed),
				newMethod(w, "toBinary", func(b *binaryValue, _ []goja.Value) goja.Value { return w.newBinary(b.sub, b.data) }),
				newMethod(w, "equals", func(b *binaryValue, args []goja.Value) goja.Value {
					v := arg(args, 0)
					if isString(v) {
						data, ok := parseUUID(v.String())
						return w.rt.ToValue(ok && slices.Equal(data, b.data))
					}
					p, _ := payloadOf(v)
					o, ok := p.(*binaryValue)
					return w.rt.ToValue(ok && o.sub == b.sub && slices.Equal(o.data, b.data))
				}),
			}
		},
		statics: func(w *Realm, c *class) {
			w.defineStatic(c, "generate", func([]goja.Value) goja.Value { return w.newBuffer(randomUUID()) })
			w.defineStatic(c, "isValid", func(args []goja.Value) goja.Value {
				v := arg(args, 0)
				if p, ok := payloadOf(v); ok {
					return w.rt.ToValue(p.kind() == kindUUID)
				}
				if data, ok := bytesOf(v); ok {
					return w.rt.ToValue(len(data) == 16)
				}
				_, ok := parseUUID(v.String())
				return w.rt.ToValue(isString(v) && ok)
			})
			w.defineStatic(c, "createFromHexString", func(args []goja.Value) goja.Value {
				return w.newBinary(bson.TypeBinaryUUID, callee{w, "UUID.createFromHexString"}.uuidBytes(arg(args, 0).String()))
			})
		},
	}
}

func randomUUID() []byte {
	data := make([]byte, 16)
	rand.Read(data) // never fails
	data[6] = data[6]&0x0f | 0x40
	data[8] = data[8]&0x3f | 0x80
	return data
}

func parseUUID(text string) ([]byte, bool) {
	data, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	return data, err == nil && len(data) == 16
}

func (c callee) uuidBytes(text string) []byte {
	data, ok := parseUUID(text)
	if !ok {
		c.throwArgument(quoteJSON(text) + " is not a valid UUID")
	}
	return data
}

// byteOrder rearranges the 16 bytes of a UUID to the order that an old driver used.
type byteOrder func(data []byte)

func plainOrder([]byte) {}

// javaOrder reverses each half of the bytes.
func javaOrder(data []byte) {
	slices.Reverse(data[:8])
	slices.Reverse(data[8:])
}

// csharpOrder reverses each of the first three groups.
func csharpOrder(data []byte) {
	slices.Reverse(data[:4])
	slices.Reverse(data[4:6])
	slices.Reverse(data[6:8])
}

// newLegacyUUID implements LegacyJavaUUID([hex]) and similar constructors: subtype 3.
func newLegacyUUID(name string, order byteOrder) func(*Realm, []goja.Value) payload {
	return func(w *Realm, args []goja.Value) payload {
		c := callee{w, name}
		c.checkTypes(args, []string{"string", optionalArg})
		data := randomUUID()
		if v := arg(args, 0); !goja.IsUndefined(v) {
			data = c.uuidBytes(strings.Trim(v.String(), "{}"))
		}
		order(data)
		return &binaryValue{realm: w, sub: bson.TypeBinaryUUIDOld, data: data}
	}
}
