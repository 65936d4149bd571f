package keyorder

import (
	"crypto/md5"
	"encoding/binary"
	"hash"
	"math"
	"math/big"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Hash is the 64-bit hash of a hashed index or shard key: the first eight
// bytes of an MD5 over the value (spec 03 §4.6). Numbers hash by their integer
// part, so 1, 1.0 and 1.7 hash alike. A missing field hashes as null.
func Hash(v bson.RawValue) int64 {
	h := hasher{md5.New()}
	h.int32(0) // the seed
	h.value(v, nil, false, 0)
	return int64(binary.LittleEndian.Uint64(h.Sum(nil)))
}

type hasher struct{ hash.Hash }

func (h hasher) int32(n int32) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(n))
	h.Write(b[:])
}

func (h hasher) terminated(b []byte) {
	h.Write(b)
	h.Write([]byte{0})
}

// value feeds one value: its rank, its name when it lies inside another value,
// and its content.
func (h hasher) value(v bson.RawValue, name []byte, named bool, depth int) {
	h.int32(int32(Rank(v.Type)))
	if named {
		h.terminated(name)
	}
	b := v.Value
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(integerPart(v)))
		h.Write(n[:])
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		t := text(b)
		h.int32(int32(len(t) + 1))
		h.terminated(t)
	case bson.TypeBoolean:
		h.Write(fixed(b, 1))
	case bson.TypeDateTime, bson.TypeTimestamp:
		h.Write(fixed(b, 8))
	case bson.TypeObjectID:
		h.Write(fixed(b, 12))
	case bson.TypeBinary:
		subtype, data := binaryParts(b)
		h.int32(int32(len(data)))
		h.Write([]byte{subtype})
		h.Write(data)
	case bson.TypeRegex:
		pattern, flags := regexParts(b)
		h.terminated(pattern)
		h.terminated(flags)
	case bson.TypeDBPointer:
		ns, id := pointerParts(b)
		h.int32(int32(len(ns)))
		h.Write(ns)
		h.Write(id)
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		h.elements(b, depth+1)
	case bson.TypeCodeWithScope:
		code, scope := scopeParts(b)
		h.terminated(code)
		h.elements(scope, depth+1)
	}
}

// elements feeds what is inside an object, and the nameless end mark.
func (h hasher) elements(doc []byte, depth int) {
	if depth <= maxDepth {
		for e, rest, ok := Next(Body(doc)); ok; e, rest, ok = Next(rest) {
			h.value(e.Value, e.Name, true, depth)
		}
	}
	h.int32(0)
}

// integerPart converts a number as the hash wants it: doubles towards zero,
// decimals half to even, NaN to 0, everything else to the nearest int64 -
// except that the double 2^63 becomes the smallest int64, an overflow the
// server has kept.
func integerPart(v bson.RawValue) int64 {
	if i, ok := integer(v); ok {
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
	case d.nan || d.zero():
		return 0
	case d.infinite || d.exponent > 19:
		return limit
	case d.exponent < -40:
		return 0 // below one half, whatever the 34 digits are
	}
	n := d.coefficient()
	if d.exponent >= 0 {
		n.Mul(n, powerOfTen(d.exponent))
	} else {
		unit := powerOfTen(-d.exponent)
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
