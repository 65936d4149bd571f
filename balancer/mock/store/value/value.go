// Package value implements operations on single BSON values: types, truth values, order, arithmetic and
// decimals. Types follow the BSON specification. Conversions, arithmetic and the order follow the server
// (8.0), according to its manual and to the recordings in testdata of the store.
package value

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Value is a BSON value. The zero value stands for a missing value, which sorts like undefined and is
// omitted when a document is built.
type Value = bson.RawValue

// OmittedArgument marks an optional argument that was not given. Some operators treat it differently from an
// argument that evaluates to missing.
var OmittedArgument = Value{Type: 0xf0}

// IsOmittedArgument reports whether an optional argument was not given.
func IsOmittedArgument(v Value) bool { return v.Type == OmittedArgument.Type }

// IsMissing reports whether the value is missing or OmittedArgument.
func IsMissing(v Value) bool { return v.Type == 0 || v.Type == OmittedArgument.Type }

// IsNullish reports whether the value is null, undefined or missing.
func IsNullish(v Value) bool {
	return v.Type == bson.TypeNull || v.Type == bson.TypeUndefined || IsMissing(v)
}

// IsNumber reports whether the value is an int, a long, a double or a decimal.
func IsNumber(v Value) bool {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return true
	}
	return false
}

// IsObject reports whether the value is a document.
func IsObject(v Value) bool { return v.Type == bson.TypeEmbeddedDocument }

// IsArray reports whether the value is an array.
func IsArray(v Value) bool { return v.Type == bson.TypeArray }

// IsString reports whether the value is a string. It is false for a symbol.
func IsString(v Value) bool { return v.Type == bson.TypeString }

// IsRegex reports whether the value is a regular expression.
func IsRegex(v Value) bool { return v.Type == bson.TypeRegex }

// Int32 returns an int32 value.
func Int32(n int32) Value {
	return Value{Type: bson.TypeInt32, Value: binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

// Int64 returns an int64 value.
func Int64(n int64) Value {
	return Value{Type: bson.TypeInt64, Value: binary.LittleEndian.AppendUint64(nil, uint64(n))}
}

// SmallestInt returns an int32 if the number fits, else an int64.
func SmallestInt(n int64) Value {
	if n == int64(int32(n)) {
		return Int32(int32(n))
	}
	return Int64(n)
}

// Double returns a double value.
func Double(f float64) Value {
	return Value{Type: bson.TypeDouble, Value: binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
}

// Decimal returns a decimal value.
func Decimal(d bson.Decimal128) Value {
	hi, lo := d.GetBytes()
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 16), lo)
	return Value{Type: bson.TypeDecimal128, Value: binary.LittleEndian.AppendUint64(b, hi)}
}

// String returns a string value.
func String(s string) Value {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, len(s)+5), uint32(len(s)+1))
	return Value{Type: bson.TypeString, Value: append(append(b, s...), 0)}
}

// Bool returns a boolean value.
func Bool(b bool) Value {
	if b {
		return Value{Type: bson.TypeBoolean, Value: []byte{1}}
	}
	return Value{Type: bson.TypeBoolean, Value: []byte{0}}
}

// Null returns null.
func Null() Value { return Value{Type: bson.TypeNull} }

// Date returns the date of a number of milliseconds since 1970.
func Date(ms int64) Value {
	return Value{Type: bson.TypeDateTime, Value: binary.LittleEndian.AppendUint64(nil, uint64(ms))}
}

// Timestamp returns a timestamp of seconds since 1970 and an increment.
func Timestamp(seconds, increment uint32) Value {
	return Value{Type: bson.TypeTimestamp, Value: binary.LittleEndian.AppendUint64(nil,
		uint64(seconds)<<32|uint64(increment))}
}

// ObjectID returns an ObjectId value.
func ObjectID(id bson.ObjectID) Value {
	return Value{Type: bson.TypeObjectID, Value: append([]byte(nil), id[:]...)}
}

// Binary returns binary data of the generic subtype.
func Binary(data []byte) Value {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, len(data)+5), uint32(len(data)))
	return Value{Type: bson.TypeBinary, Value: append(append(b, bson.TypeBinaryGeneric), data...)}
}

// Object returns the value of an encoded document. It does not copy doc.
func Object(doc []byte) Value { return Value{Type: bson.TypeEmbeddedDocument, Value: doc} }

// Array returns the value of an encoded array. It does not copy arr.
func Array(arr []byte) Value { return Value{Type: bson.TypeArray, Value: arr} }

// The readers never fail: a truncated value reads as zero.

// Int32At reads an int32.
func Int32At(b []byte) int32 {
	if len(b) < 4 {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(b))
}

// Int64At reads an int64, or the milliseconds of a date.
func Int64At(b []byte) int64 {
	if len(b) < 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// DoubleAt reads a double.
func DoubleAt(b []byte) float64 { return math.Float64frombits(uint64(Int64At(b))) }

// DecimalAt reads a decimal.
func DecimalAt(b []byte) bson.Decimal128 {
	if len(b) < 16 {
		return bson.Decimal128{}
	}
	return bson.NewDecimal128(binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b))
}

// TextAt returns the content of a string, symbol or code.
func TextAt(b []byte) string {
	n := int(Int32At(b))
	if n < 1 || len(b) < 4+n {
		return ""
	}
	return string(b[4 : 4+n-1])
}

// BoolAt reads a boolean.
func BoolAt(b []byte) bool { return len(b) > 0 && b[0] != 0 }

// BinaryAt reads binary data; a truncated value has no data.
func BinaryAt(b []byte) (subtype byte, data []byte) {
	n := int(Int32At(b))
	if len(b) < 5 || n < 0 || n > len(b)-5 {
		return 0, nil
	}
	return b[4], b[5 : 5+n]
}

// PatternOf returns the pattern of a string, or the pattern and options of a regular expression. It
// returns false for other types.
func PatternOf(v Value) (pattern, options string, ok bool) {
	switch v.Type {
	case bson.TypeString:
		return TextAt(v.Value), "", true
	case bson.TypeRegex:
		pattern, options = RegexAt(v.Value)
		return pattern, options, true
	}
	return "", "", false
}

// RegexAt splits a regular expression into pattern and options.
func RegexAt(b []byte) (pattern, options string) {
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

// TimestampAt reads a timestamp.
func TimestampAt(b []byte) (seconds, increment uint32) {
	n := uint64(Int64At(b))
	return uint32(n >> 32), uint32(n)
}

// TimeFromMillis returns the time of a date in UTC.
func TimeFromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// IsTruthy returns the truth value of v: false, null, undefined, missing and zero are false, everything
// else is true.
func IsTruthy(v Value) bool {
	switch v.Type {
	case bson.TypeBoolean:
		return BoolAt(v.Value)
	case bson.TypeInt32:
		return Int32At(v.Value) != 0
	case bson.TypeInt64:
		return Int64At(v.Value) != 0
	case bson.TypeDouble:
		return DoubleAt(v.Value) != 0
	case bson.TypeDecimal128:
		return !DecimalIsZero(DecimalAt(v.Value))
	}
	return !IsNullish(v)
}

// ToDouble returns the nearest double of a number, zero for other types.
func ToDouble(v Value) float64 {
	switch v.Type {
	case bson.TypeInt32:
		return float64(Int32At(v.Value))
	case bson.TypeInt64:
		return float64(Int64At(v.Value))
	case bson.TypeDouble:
		return DoubleAt(v.Value)
	case bson.TypeDecimal128:
		return decimalToDouble(DecimalAt(v.Value))
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

// ToInteger returns the number truncated to an integer and clamped to 64 bits. It returns zero for NaN
// and for other types.
func ToInteger(v Value) int64 {
	switch v.Type {
	case bson.TypeInt32:
		return int64(Int32At(v.Value))
	case bson.TypeInt64:
		return Int64At(v.Value)
	case bson.TypeDouble:
		f := DoubleAt(v.Value)
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
		d := DecimalAt(v.Value)
		switch {
		case d.IsNaN():
			return 0
		case d.IsInf() > 0:
			return math.MaxInt64
		case d.IsInf() < 0:
			return math.MinInt64
		}
		n, _ := truncateDecimal(d)
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

// truncateDecimal truncates a finite decimal to an integer. whole is false if there was a fraction.
// Beyond 64 bits only the magnitude is reliable.
func truncateDecimal(d bson.Decimal128) (n *big.Int, whole bool) {
	coefficient, exp, err := d.BigInt()
	if err != nil {
		return new(big.Int), false
	}
	if exp >= 0 {
		return coefficient.Mul(coefficient, keyorder.PowerOfTen(min(exp, 40))), true
	}
	if -exp > 40 {
		return new(big.Int), coefficient.Sign() == 0
	}
	q, r := new(big.Int).QuoRem(coefficient, keyorder.PowerOfTen(-exp), new(big.Int))
	return q, r.Sign() == 0
}

// WholeInteger returns the number as an int64 if it is an integer that fits.
func WholeInteger(v Value) (int64, bool) {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		return ToInteger(v), true
	case bson.TypeDouble:
		f := DoubleAt(v.Value)
		if f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
			return 0, false
		}
		return int64(f), true
	case bson.TypeDecimal128:
		d := DecimalAt(v.Value)
		if d.IsNaN() || d.IsInf() != 0 {
			return 0, false
		}
		n, whole := truncateDecimal(d)
		return n.Int64(), whole && n.IsInt64()
	}
	return 0, false
}

// WholeInt32 returns the number if it is an integer that fits in 32 bits.
func WholeInt32(v Value) (int, bool) {
	n, ok := WholeInteger(v)
	return int(n), ok && n == int64(int32(n))
}

// IsNaN reports whether the value is a double or decimal that is not a number.
func IsNaN(v Value) bool {
	switch v.Type {
	case bson.TypeDouble:
		return math.IsNaN(DoubleAt(v.Value))
	case bson.TypeDecimal128:
		return DecimalAt(v.Value).IsNaN()
	}
	return false
}

// Compare compares two values in the server's order and returns -1, 0 or 1.
func Compare(a, b Value) int { return keyorder.Compare(a, b) }

// EncodedKey returns an encoding of a value that is equal for equal values, for use in sets and groups.
func EncodedKey(v Value) string { return string(keyorder.Append(nil, v)) }
