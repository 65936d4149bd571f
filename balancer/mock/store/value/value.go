package store

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// value is one BSON value; the zero value stands for "missing", which orders
// like Undefined and is dropped when a document is built.
type value = bson.RawValue

// absent marks an optional argument that was not given at all, which some
// operators tell from one that evaluates to missing.
var absent = value{Type: 0xf0}

func isAbsent(v value) bool  { return v.Type == absent.Type }
func isMissing(v value) bool { return v.Type == 0 || v.Type == absent.Type }

// isNullish reports whether the value is null, undefined or missing.
func isNullish(v value) bool {
	return v.Type == bson.TypeNull || v.Type == bson.TypeUndefined || isMissing(v)
}

func isNumber(v value) bool {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return true
	}
	return false
}

func isObject(v value) bool { return v.Type == bson.TypeEmbeddedDocument }
func isArray(v value) bool  { return v.Type == bson.TypeArray }
func isString(v value) bool { return v.Type == bson.TypeString }
func isRegex(v value) bool  { return v.Type == bson.TypeRegex }

func int32Value(n int32) value {
	return value{Type: bson.TypeInt32, Value: binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

func int64Value(n int64) value {
	return value{Type: bson.TypeInt64, Value: binary.LittleEndian.AppendUint64(nil, uint64(n))}
}

// smallestInt returns an int32 where the number fits, otherwise an int64.
func smallestInt(n int64) value {
	if n == int64(int32(n)) {
		return int32Value(int32(n))
	}
	return int64Value(n)
}

func doubleValue(f float64) value {
	return value{Type: bson.TypeDouble, Value: binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
}

func decimalValue(d bson.Decimal128) value {
	hi, lo := d.GetBytes()
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 16), lo)
	return value{Type: bson.TypeDecimal128, Value: binary.LittleEndian.AppendUint64(b, hi)}
}

func stringValue(s string) value {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, len(s)+5), uint32(len(s)+1))
	return value{Type: bson.TypeString, Value: append(append(b, s...), 0)}
}

func boolValue(b bool) value {
	if b {
		return value{Type: bson.TypeBoolean, Value: []byte{1}}
	}
	return value{Type: bson.TypeBoolean, Value: []byte{0}}
}

func nullValue() value { return value{Type: bson.TypeNull} }

func dateValue(ms int64) value {
	return value{Type: bson.TypeDateTime, Value: binary.LittleEndian.AppendUint64(nil, uint64(ms))}
}

func timestampValue(seconds, increment uint32) value {
	return value{Type: bson.TypeTimestamp, Value: binary.LittleEndian.AppendUint64(nil,
		uint64(seconds)<<32|uint64(increment))}
}

func objectIDValue(id bson.ObjectID) value {
	return value{Type: bson.TypeObjectID, Value: append([]byte(nil), id[:]...)}
}

func objectValue(doc []byte) value { return value{Type: bson.TypeEmbeddedDocument, Value: doc} }
func arrayValue(arr []byte) value  { return value{Type: bson.TypeArray, Value: arr} }

// The readers never fail: a value cut short reads as zero.

func int32At(b []byte) int32 {
	if len(b) < 4 {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(b))
}

func int64At(b []byte) int64 {
	if len(b) < 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func doubleAt(b []byte) float64 { return math.Float64frombits(uint64(int64At(b))) }

func decimalAt(b []byte) bson.Decimal128 {
	if len(b) < 16 {
		return bson.Decimal128{}
	}
	return bson.NewDecimal128(binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b))
}

// textAt returns the content of a string, symbol or code.
func textAt(b []byte) string {
	n := int(int32At(b))
	if n < 1 || len(b) < 4+n {
		return ""
	}
	return string(b[4 : 4+n-1])
}

func boolAt(b []byte) bool { return len(b) > 0 && b[0] != 0 }

func binaryAt(b []byte) (subtype byte, data []byte) {
	n := int(int32At(b))
	if len(b) < 5 || n < 0 || n > len(b)-5 {
		return 0, nil
	}
	return b[4], b[5 : 5+n]
}

// regexAt splits a regular expression into pattern and options.
func regexAt(b []byte) (pattern, options string) {
	for i, c := range b {
		if c != 0 {
			continue
		}
		pattern, b = string(b[:i]), b[i+1:]
		for j, c := range b {
			if c == 0 {
				return pattern, string(b[:j])
			}
		}
		return pattern, ""
	}
	return "", ""
}

func timestampAt(b []byte) (seconds, increment uint32) {
	n := uint64(int64At(b))
	return uint32(n >> 32), uint32(n)
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// truthy reports the value as a condition: false, null, undefined, missing and
// zero are false, everything else is true.
func truthy(v value) bool {
	switch v.Type {
	case bson.TypeBoolean:
		return boolAt(v.Value)
	case bson.TypeInt32:
		return int32At(v.Value) != 0
	case bson.TypeInt64:
		return int64At(v.Value) != 0
	case bson.TypeDouble:
		return doubleAt(v.Value) != 0
	case bson.TypeDecimal128:
		return !decimalIsZero(decimalAt(v.Value))
	}
	return !isNullish(v)
}

// toDouble returns the nearest double of a number, zero for anything else.
func toDouble(v value) float64 {
	switch v.Type {
	case bson.TypeInt32:
		return float64(int32At(v.Value))
	case bson.TypeInt64:
		return float64(int64At(v.Value))
	case bson.TypeDouble:
		return doubleAt(v.Value)
	case bson.TypeDecimal128:
		return decimalToDouble(decimalAt(v.Value))
	}
	return 0
}

func decimalToDouble(d bson.Decimal128) float64 {
	switch {
	case d.IsNaN():
		return math.NaN()
	case d.IsInf() != 0:
		return math.Inf(d.IsInf())
	}
	f, _ := strconv.ParseFloat(d.String(), 64)
	return f
}

// toInteger returns the number cut to an integer and clamped to 64 bits; NaN
// and what is no number give zero.
func toInteger(v value) int64 {
	switch v.Type {
	case bson.TypeInt32:
		return int64(int32At(v.Value))
	case bson.TypeInt64:
		return int64At(v.Value)
	case bson.TypeDouble:
		f := doubleAt(v.Value)
		switch {
		case math.IsNaN(f):
			return 0
		case f >= 1<<63:
			return math.MaxInt64
		case f < -1<<63:
			return math.MinInt64
		}
		return int64(f)
	case bson.TypeDecimal128:
		d := decimalAt(v.Value)
		switch {
		case d.IsNaN():
			return 0
		case d.IsInf() > 0:
			return math.MaxInt64
		case d.IsInf() < 0:
			return math.MinInt64
		}
		n, _ := decimalInteger(d)
		switch {
		case n.IsInt64():
			return n.Int64()
		case n.Sign() > 0:
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return 0
}

// decimalInteger cuts a finite decimal to an integer; whole is false when a
// fraction fell off. Beyond 64 bits the size is all that can be relied on.
func decimalInteger(d bson.Decimal128) (n *big.Int, whole bool) {
	coefficient, exp, err := d.BigInt()
	if err != nil {
		return new(big.Int), false
	}
	if exp >= 0 {
		return coefficient.Mul(coefficient, tenTo(min(exp, 40))), true
	}
	if -exp > 40 {
		return new(big.Int), coefficient.Sign() == 0
	}
	q, r := new(big.Int).QuoRem(coefficient, tenTo(-exp), new(big.Int))
	return q, r.Sign() == 0
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// wholeInteger returns the number as an int64 when it is exactly one.
func wholeInteger(v value) (int64, bool) {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		return toInteger(v), true
	case bson.TypeDouble:
		f := doubleAt(v.Value)
		if f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
			return 0, false
		}
		return int64(f), true
	case bson.TypeDecimal128:
		d := decimalAt(v.Value)
		if d.IsNaN() || d.IsInf() != 0 {
			return 0, false
		}
		n, whole := decimalInteger(d)
		return n.Int64(), whole && n.IsInt64()
	}
	return 0, false
}

func wholeInt32(v value) (int, bool) {
	n, ok := wholeInteger(v)
	return int(n), ok && n == int64(int32(n))
}

func isNaN(v value) bool {
	switch v.Type {
	case bson.TypeDouble:
		return math.IsNaN(doubleAt(v.Value))
	case bson.TypeDecimal128:
		return decimalAt(v.Value).IsNaN()
	}
	return false
}

func compare(a, b value) int { return keyorder.Compare(a, b) }

// encoded returns the comparable form of a value, for sets and groups.
func encoded(v value) string { return string(keyorder.Append(nil, v)) }
