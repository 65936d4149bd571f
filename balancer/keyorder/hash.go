package keyorder

import (
	"crypto/md5"
	"encoding/binary"
	"math"
	"math/big"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Hash returns the 64-bit hash of a hashed index or shard key: the first eight bytes of an MD5 over the
// value (rules/03-catalog-and-keys §4.6). The hash of a number is that of its integer part, so 1, 1.0
// and 1.7 have the same hash. A missing field has the hash of null.
func Hash(v bson.RawValue) int64 {
	var buf [128]byte                                     // enough for most values without a heap allocation
	input := binary.LittleEndian.AppendUint32(buf[:0], 0) // the seed
	input = appendHashInput(input, v, nil, false, 0)
	sum := md5.Sum(input)
	return int64(binary.LittleEndian.Uint64(sum[:]))
}

// appendHashInput appends the hash input of one value: its rank, its name when it lies
// inside another value, and its content.
func appendHashInput(dst []byte, v bson.RawValue, name []byte, named bool, depth int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(Rank(v.Type))))
	if named {
		dst = appendTerminated(dst, name)
	}
	b := v.Value
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return binary.LittleEndian.AppendUint64(dst, uint64(integerPart(v)))
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		t := stringContent(b)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(t)+1))
		return appendTerminated(dst, t)
	case bson.TypeBoolean:
		return append(dst, padTo(b, 1)...)
	case bson.TypeDateTime, bson.TypeTimestamp:
		return append(dst, padTo(b, 8)...)
	case bson.TypeObjectID:
		return append(dst, padTo(b, 12)...)
	case bson.TypeBinary:
		subtype, data := binaryParts(b)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(data)))
		return append(append(dst, subtype), data...)
	case bson.TypeRegex:
		pattern, flags := regexParts(b)
		return appendTerminated(appendTerminated(dst, pattern), flags)
	case bson.TypeDBPointer:
		ns, id := pointerParts(b)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(ns)))
		return append(append(dst, ns...), id...)
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		return appendElementsHashInput(dst, b, depth+1)
	case bson.TypeCodeWithScope:
		code, scope := scopeParts(b)
		return appendElementsHashInput(appendTerminated(dst, code), scope, depth+1)
	}
	return dst
}

// appendElementsHashInput appends the elements of an object, and the end mark, which has no name.
func appendElementsHashInput(dst, doc []byte, depth int) []byte {
	if depth <= maxDepth {
		for e, rest, ok := Next(Body(doc)); ok; e, rest, ok = Next(rest) {
			dst = appendHashInput(dst, e.Value, e.Name, true, depth)
		}
	}
	return binary.LittleEndian.AppendUint32(dst, 0)
}

func appendTerminated(dst, b []byte) []byte { return append(append(dst, b...), 0) }

// integerPart converts a number for hashing: doubles round towards zero, decimals half to even, NaN
// becomes 0, and other numbers outside of int64 become the nearest int64. One exception is the double
// 2^63: it becomes the smallest int64, an overflow that the server has kept.
func integerPart(v bson.RawValue) int64 {
	if i, ok := toInt64(v); ok {
		return i
	}
	if v.Type == bson.TypeDecimal128 {
		return roundDecimal(decimalOf(v.Value))
	}
	f := math.Float64frombits(uint64At(v.Value))
	switch {
	case math.IsNaN(f):
		return 0
	case f == 1<<63 || f < -1<<63:
		return math.MinInt64
	case f > 1<<63:
		return math.MaxInt64
	}
	return int64(f)
}

func roundDecimal(d decimal) int64 {
	limit := int64(math.MaxInt64)
	if d.negative {
		limit = math.MinInt64
	}
	switch {
	case d.nan || d.isZero():
		return 0
	case d.infinite || d.exponent > 19:
		return limit
	case d.exponent < -40:
		return 0 // the value is below one half, whatever its 34 digits are
	}
	n := d.coefficient()
	if d.exponent >= 0 {
		n.Mul(n, PowerOfTen(d.exponent))
	} else {
		unit := PowerOfTen(-d.exponent)
		rest := new(big.Int)
		n.QuoRem(n, unit, rest)
		half := rest.Lsh(rest, 1).Cmp(unit)
		if half > 0 || half == 0 && n.Bit(0) == 1 {
			n.Add(n, big.NewInt(1))
		}
	}
	if d.negative {
		n.Neg(n)
	}
	if !n.IsInt64() {
		return limit
	}
	return n.Int64()
}
