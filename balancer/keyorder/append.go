package keyorder

import (
	"bytes"
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The first byte of an encoding. Types of one rank that differ only in their
// size class (numbers) or value (bool) have several. Zero is left free: it
// ends objects, arrays and byte strings.
const (
	tagMinKey    = 0x01
	tagUndefined = 0x02
	tagNull      = 0x03

	tagNaN              = 0x10
	tagNegativeInfinity = 0x11
	tagNegativeLarge    = 0x12 // -2^63 and below
	tagNegativeInt      = 0x13 // integer part of 8 bytes down to 1: 0x13 to 0x1a
	tagNegativeSmall    = 0x1b // above -1
	tagZero             = 0x1c
	tagPositiveSmall    = 0x1d // below 1
	tagPositiveInt      = 0x1e // integer part of 1 byte up to 8: 0x1e to 0x25
	tagPositiveLarge    = 0x26 // 2^63 and above
	tagPositiveInfinity = 0x27

	tagString    = 0x30
	tagObject    = 0x34
	tagArray     = 0x36
	tagBinary    = 0x38
	tagObjectID  = 0x3a
	tagFalse     = 0x3c
	tagTrue      = 0x3d
	tagDate      = 0x40
	tagTimestamp = 0x42
	tagRegex     = 0x44
	tagDBPointer = 0x46
	tagCode      = 0x48
	tagScope     = 0x4a
	tagMaxKey    = 0x7f
)

// Append appends the encoding of v to dst. The byte order of encodings is the order of Compare, and
// values that Compare finds equal have the same encoding. No encoding is a prefix of a different one,
// so encodings of several fields can be concatenated and compare field by field. Integers take 2 to 9
// bytes, doubles up to 10, an ObjectID 13, a string its length and 2.
func Append(dst []byte, v bson.RawValue) []byte { return appendValue(dst, v, 0) }

// AppendMinKey appends the encoding of MinKey.
func AppendMinKey(dst []byte) []byte { return append(dst, tagMinKey) }

// AppendMaxKey appends the encoding of MaxKey.
func AppendMaxKey(dst []byte) []byte { return append(dst, tagMaxKey) }

func appendValue(dst []byte, v bson.RawValue, depth int) []byte {
	b := v.Value
	switch v.Type {
	case bson.TypeMinKey:
		return append(dst, tagMinKey)
	case bson.TypeMaxKey:
		return append(dst, tagMaxKey)
	case bson.TypeNull:
		return append(dst, tagNull)
	case bson.TypeInt32:
		return AppendInt64(dst, int64(int32(uint32At(b))))
	case bson.TypeInt64:
		return AppendInt64(dst, int64(uint64At(b)))
	case bson.TypeDouble:
		return appendDouble(dst, math.Float64frombits(uint64At(b)))
	case bson.TypeDecimal128:
		return appendDecimal(dst, decimalOf(b))
	case bson.TypeString, bson.TypeSymbol:
		return appendEscaped(append(dst, tagString), stringContent(b))
	case bson.TypeEmbeddedDocument:
		return appendObject(append(dst, tagObject), b, depth+1)
	case bson.TypeArray:
		return appendArray(append(dst, tagArray), b, depth+1)
	case bson.TypeBinary:
		return appendBinary(dst, b)
	case bson.TypeObjectID:
		return append(append(dst, tagObjectID), padTo(b, 12)...)
	case bson.TypeBoolean:
		if padTo(b, 1)[0] == 0 {
			return append(dst, tagFalse)
		}
		return append(dst, tagTrue)
	case bson.TypeDateTime:
		return binary.BigEndian.AppendUint64(append(dst, tagDate), uint64At(b)^1<<63)
	case bson.TypeTimestamp:
		return binary.BigEndian.AppendUint64(append(dst, tagTimestamp), uint64At(b))
	case bson.TypeRegex:
		pattern, flags := regexParts(b)
		return appendEscaped(appendEscaped(append(dst, tagRegex), pattern), flags)
	case bson.TypeDBPointer:
		ns, id := pointerParts(b)
		dst = binary.BigEndian.AppendUint32(append(dst, tagDBPointer), uint32(len(ns)))
		return append(append(dst, ns...), id...)
	case bson.TypeJavaScript:
		return appendEscaped(append(dst, tagCode), stringContent(b))
	case bson.TypeCodeWithScope:
		code, scope := scopeParts(b)
		return appendObject(appendEscaped(append(dst, tagScope), code), scope, depth+1)
	}
	return append(dst, tagUndefined)
}

// appendEscaped writes bytes and a closing zero. Zero and one inside become
// 01 01 and 01 02, which keeps the order and the zero for the end.
func appendEscaped(dst, s []byte) []byte {
	if bytes.IndexByte(s, 0) < 0 && bytes.IndexByte(s, 1) < 0 {
		return append(append(dst, s...), 0)
	}
	from := 0
	for i, c := range s {
		if c > 1 {
			continue
		}
		dst = append(append(dst, s[from:i]...), 1, c+1)
		from = i + 1
	}
	return append(append(dst, s[from:]...), 0)
}

// appendObject writes for each element the class of its type, its name and its value, because names
// compare before values but after types.
func appendObject(dst, doc []byte, depth int) []byte {
	if depth <= maxDepth {
		for e, rest, ok := Next(Body(doc)); ok; e, rest, ok = Next(rest) {
			dst = append(dst, uint8(Rank(e.Value.Type)+2))
			dst = appendEscaped(dst, e.Name)
			dst = appendValue(dst, e.Value, depth)
		}
	}
	return append(dst, 0)
}

func appendArray(dst, doc []byte, depth int) []byte {
	if depth <= maxDepth {
		for e, rest, ok := Next(Body(doc)); ok; e, rest, ok = Next(rest) {
			dst = appendValue(dst, e.Value, depth)
		}
	}
	return append(dst, 0)
}

// appendBinary orders by length, subtype and bytes. Lengths below 255 take one
// byte.
func appendBinary(dst, b []byte) []byte {
	subtype, data := binaryParts(b)
	dst = append(dst, tagBinary)
	if len(data) < 0xff {
		dst = append(dst, uint8(len(data)))
	} else {
		dst = binary.BigEndian.AppendUint32(append(dst, 0xff), uint32(len(data)))
	}
	return append(append(dst, subtype), data...)
}

// FirstByteRange returns the range of the first bytes of all values that compare with values of a type;
// last is exclusive.
func FirstByteRange(t bson.Type) (first, last byte) {
	switch t {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return tagNaN, tagPositiveInfinity + 1
	case bson.TypeBoolean:
		return tagFalse, tagTrue + 1
	}
	tag := Append(nil, bson.RawValue{Type: t})[0]
	return tag, tag + 1
}
