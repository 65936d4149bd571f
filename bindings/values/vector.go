package values

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// A binary of subtype 9 holds a vector: a byte for the item type, a byte for the number of unused bits
// at the end, then the items.
const (
	subtypeVector byte = 9

	vectorInt8    byte = 0x03
	vectorFloat32 byte = 0x27
	vectorBits    byte = 0x10
)

// vectorText returns the call that creates the vector (rules/04-values-and-language §3.3).
func (b *binaryValue) vectorText(in *inspector) (string, bool) {
	if len(b.data) < 2 {
		return "", false
	}
	items := b.data[2:]
	var call, array string
	var texts []string
	switch b.data[0] {
	case vectorInt8:
		call, array = "fromInt8Array", "Int8Array"
		for _, c := range items {
			texts = append(texts, strconv.Itoa(int(int8(c))))
		}
	case vectorFloat32:
		if len(items)%4 != 0 {
			return "", false
		}
		call, array = "fromFloat32Array", "Float32Array"
		for ; len(items) > 0; items = items[4:] {
			f := math.Float32frombits(binary.LittleEndian.Uint32(items))
			texts = append(texts, numberText(b.realm.rt, float64(f)))
		}
	case vectorBits:
		call, array = "fromPackedBits", "Uint8Array"
		for _, c := range items {
			texts = append(texts, strconv.Itoa(int(c)))
		}
	default:
		return "", false
	}
	list := "[]"
	if len(texts) > 0 {
		for i, t := range texts {
			texts[i] = in.paint(styleNumber, t)
		}
		list = "[ " + strings.Join(texts, ", ") + " ]"
	}
	tail := ""
	if b.data[0] == vectorBits && b.data[1] != 0 {
		tail = fmt.Sprintf(", %d", b.data[1])
	}
	return fmt.Sprintf("Binary.%s(new %s(%s)%s)", call, array, list, tail), true
}

// floatItem converts an item of an array to a number; a hole counts as undefined.
func floatItem(v goja.Value) float64 {
	if v == nil {
		return math.NaN()
	}
	return v.ToFloat()
}

// typedVector returns the items as a typed array, if they are of the wanted type.
func (b *binaryValue) typedVector(want byte, array string) goja.Value {
	if b.sub != subtypeVector || len(b.data) < 2 || b.data[0] != want {
		b.realm.Errors.throwBSON("Binary datatype field is not " + array)
	}
	items := append([]byte(nil), b.data[2:]...)
	return b.realm.intrinsics.typedArray(array, b.realm.rt.ToValue(b.realm.rt.NewArrayBuffer(items)))
}

// newVector implements Binary.fromInt8Array(items) and similar functions.
func (w *Realm) newVector(kind byte, args []goja.Value) goja.Value {
	o, ok := arg(args, 0).(*goja.Object)
	if !ok || !isTypedArray(o) && !isArray(o) {
		w.Errors.throwBSON("Must provide a typed array")
	}
	data := []byte{kind, 0}
	if kind == vectorBits {
		data[1] = byte(clampIndex(arg(args, 1), 0, 7)) // unused bits of the last byte
	}
	if items := reflect.ValueOf(o.Export()); isTypedArray(o) && items.Type().Elem().Kind() == reflect.Uint8 &&
		kind == vectorBits {
		return w.newBinary(subtypeVector, append(data, items.Bytes()...))
	}
	for i := range arrayLength(o) {
		item := o.Get(strconv.Itoa(i))
		if kind == vectorFloat32 {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(floatItem(item))))
			continue
		}
		data = append(data, byte(integerItem(item)))
	}
	return w.newBinary(subtypeVector, data)
}
