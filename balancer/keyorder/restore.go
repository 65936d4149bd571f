package keyorder

import (
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Restorable reports whether Restore can rebuild v, byte for byte, from its
// encoding and its type. It is false for objects, arrays, decimals, code with
// scope, pointers, NaN and negative zero, and for damaged values.
func Restorable(v bson.RawValue) bool {
	b := v.Value
	if ValueSize(v.Type, b) != len(b) {
		return false
	}
	switch v.Type {
	case bson.TypeDouble:
		f := math.Float64frombits(uint64At(b))
		return !math.IsNaN(f) && (f != 0 || !math.Signbit(f))
	case bson.TypeBoolean:
		return b[0] <= 1
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		return b[len(b)-1] == 0
	case bson.TypeEmbeddedDocument, bson.TypeArray, bson.TypeDecimal128, bson.TypeCodeWithScope, bson.TypeDBPointer:
		return false
	}
	return true
}

// typeTags are the first bytes of the types that have one of their own.
var typeTags = [256]byte{
	bson.TypeMinKey:     tagMinKey,
	bson.TypeMaxKey:     tagMaxKey,
	bson.TypeNull:       tagNull,
	bson.TypeUndefined:  tagUndefined,
	bson.TypeDateTime:   tagDate,
	bson.TypeTimestamp:  tagTimestamp,
	bson.TypeObjectID:   tagObjectID,
	bson.TypeString:     tagString,
	bson.TypeSymbol:     tagString,
	bson.TypeJavaScript: tagCode,
	bson.TypeBinary:     tagBinary,
	bson.TypeRegex:      tagRegex,
}

// Restore appends the BSON bytes of the value whose encoding enc begins with,
// given its type, and returns how many bytes of enc it took. It reports false when
// the encoding does not fit the type.
func Restore[T ~string | ~[]byte](dst []byte, enc T, t bson.Type) (out []byte, size int, ok bool) {
	size = EncodedSize(enc)
	if size == 0 {
		return dst, 0, false
	}
	if want := typeTags[t]; want != 0 && enc[0] != want {
		return dst, 0, false
	}
	in := enc[1:size]
	switch t {
	case bson.TypeMinKey, bson.TypeMaxKey, bson.TypeNull, bson.TypeUndefined:
		return dst, size, true
	case bson.TypeBoolean:
		return append(dst, enc[0]-tagFalse), size, enc[0] == tagFalse || enc[0] == tagTrue
	case bson.TypeInt32:
		n, ok := restoreInteger(enc[0], in)
		return binary.LittleEndian.AppendUint32(dst, uint32(n)), size, ok && int64(int32(n)) == n
	case bson.TypeInt64:
		n, ok := restoreInteger(enc[0], in)
		return binary.LittleEndian.AppendUint64(dst, uint64(n)), size, ok
	case bson.TypeDouble:
		f, ok := restoreDouble(enc[0], in)
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), size, ok
	case bson.TypeDateTime:
		return binary.LittleEndian.AppendUint64(dst, bigEndian(in)^1<<63), size, true
	case bson.TypeTimestamp:
		return binary.LittleEndian.AppendUint64(dst, bigEndian(in)), size, true
	case bson.TypeObjectID:
		return append(dst, in...), size, true
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		return restoreText(dst, in), size, true
	case bson.TypeBinary:
		return restoreBinary(dst, in), size, true
	case bson.TypeRegex:
		n := escapedSize(in)
		return append(unescape(append(unescape(dst, in[:n-1]), 0), in[n:len(in)-1]), 0), size, true
	}
	return dst, 0, false
}

// bigEndian reads up to eight bytes.
func bigEndian[T ~string | ~[]byte](b T) uint64 {
	var n uint64
	for i := range min(len(b), 8) {
		n = n<<8 | uint64(b[i])
	}
	return n
}

func restoreInteger[T ~string | ~[]byte](tag byte, in T) (int64, bool) {
	n := bigEndian(in)
	switch {
	case tag == tagZero:
		return 0, true
	case tag >= tagPositiveInt && tag < tagPositiveLarge:
		return int64(n >> 1), n&1 == 0
	case tag >= tagNegativeInt && tag < tagNegativeSmall:
		n = ^n & (1<<(8*len(in)) - 1)
		return -int64(n >> 1), n&1 == 0
	case tag == tagNegativeLarge:
		return math.MinInt64, ^n>>1 == math.Float64bits(1<<63)
	}
	return 0, false
}

func restoreDouble[T ~string | ~[]byte](tag byte, in T) (float64, bool) {
	switch {
	case tag == tagZero:
		return 0, true
	case tag == tagNaN:
		return math.NaN(), true
	case tag == tagPositiveInfinity:
		return math.Inf(1), true
	case tag == tagNegativeInfinity:
		return math.Inf(-1), true
	case tag < tagNaN || tag > tagPositiveInfinity:
		return 0, false
	}
	sign, flip := 1.0, byte(0)
	if tag < tagZero {
		sign, flip = -1, 0xff
	}
	whole := integerSize(tag)
	if whole == 0 {
		n := bigEndian(in)
		if flip != 0 {
			n = ^n
		}
		return sign * math.Float64frombits(n>>1), n&1 == 0
	}
	var n, fraction uint64
	for i := range whole {
		n = n<<8 | uint64(in[i]^flip)
	}
	for i := whole; i < len(in) && i < whole+7; i++ {
		fraction = fraction<<8 | uint64(in[i]^flip)
	}
	return sign * (float64(n>>1) + float64(fraction>>4)/(1<<52)), fraction&1 == 0
}

func restoreText[T ~string | ~[]byte](dst []byte, in T) []byte {
	at := len(dst)
	dst = unescape(append(dst, 0, 0, 0, 0), in[:len(in)-1])
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func unescape[T ~string | ~[]byte](dst []byte, in T) []byte {
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c == 1 && i+1 < len(in) {
			i++
			c = in[i] - 1
		}
		dst = append(dst, c)
	}
	return dst
}

func restoreBinary[T ~string | ~[]byte](dst []byte, in T) []byte {
	head := 1
	if in[0] == 0xff {
		head = 5
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(in)-head-1))
	dst = append(dst, in[head])
	return append(dst, in[head+1:]...)
}
