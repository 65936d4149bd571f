package store

import (
	"math/big"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// modTest is $mod: the number, cut to an integer, leaves this remainder.
type modTest struct{ divisor, remainder int64 }

func newModTest(v value) (modTest, error) {
	if !isArray(v) {
		return modTest{}, badValue("malformed mod, needs to be an array")
	}
	parts := items(v)
	switch {
	case len(parts) < 2:
		return modTest{}, badValue("malformed mod, not enough elements")
	case len(parts) > 2:
		return modTest{}, badValue("malformed mod, too many elements")
	case !isNumber(parts[0]):
		return modTest{}, badValue("malformed mod, divisor not a number")
	case !isNumber(parts[1]):
		return modTest{}, badValue("malformed mod, remainder not a number")
	case !isFinite(parts[0]):
		return modTest{}, badValue("malformed mod, divisor value is invalid")
	case !isFinite(parts[1]):
		return modTest{}, badValue("malformed mod, remainder value is invalid")
	}
	t := modTest{toInteger(parts[0]), toInteger(parts[1])}
	if t.divisor == 0 {
		return t, badValue("divisor cannot be 0")
	}
	return t, nil
}

func (t modTest) test(v value, _ *matching) bool {
	if !isNumber(v) || !isFinite(v) {
		return false
	}
	n := toInteger(v)
	if t.divisor == -1 {
		return t.remainder == 0
	}
	return n%t.divisor == t.remainder
}

// bitMode says which bits of the mask must be how.
type bitMode struct{ set, all bool }

var bitModes = map[string]bitMode{
	"$bitsAllSet": {set: true, all: true}, "$bitsAnySet": {set: true},
	"$bitsAllClear": {all: true}, "$bitsAnyClear": {},
}

// bitTest is $bitsAllSet and its kin, on integers and binary data.
type bitTest struct {
	mode bitMode
	mask *big.Int // bit positions
}

func newBitTest(op string, mode bitMode, v value) (bitTest, error) {
	t := bitTest{mode: mode, mask: new(big.Int)}
	switch {
	case isNumber(v):
		n, ok := wholeInteger(v)
		if !ok {
			return t, failedToParse("Expected an integer: %s: %s", op, v)
		}
		if n < 0 {
			return t, failedToParse("Expected a non-negative number in: %s: %s", op, v)
		}
		t.mask.SetInt64(n)
	case isArray(v):
		for _, item := range fields(v.Value) {
			n, ok := wholeInt32(item)
			if !isNumber(item) {
				return t, badValue("bit positions must be an integer but got: %s", item)
			}
			if !ok {
				return t, badValue("bit positions cannot be represented as a 32-bit signed integer: %s", item)
			}
			if n < 0 {
				return t, badValue("bit positions must be >= 0 but got: %s", item)
			}
			if n > 8*MaxDocumentSize {
				n = 8 * MaxDocumentSize // beyond any stored value
			}
			t.mask.SetBit(t.mask, n, 1)
		}
	case v.Type == bson.TypeBinary:
		_, data := binaryAt(v.Value)
		t.mask = littleEndian(data)
	default:
		return t, badValue("%s takes an Array, a number, or a BinData but received: %s", op, v)
	}
	return t, nil
}

// littleEndian reads binary data as a set of bits: bit 0 is the lowest of the
// first byte.
func littleEndian(data []byte) *big.Int {
	reversed := make([]byte, len(data))
	for i, b := range data {
		reversed[len(data)-1-i] = b
	}
	return new(big.Int).SetBytes(reversed)
}

func (t bitTest) test(v value, _ *matching) bool {
	bits := new(big.Int)
	switch {
	case isNumber(v):
		n, ok := wholeInteger(v)
		if !ok {
			return false
		}
		bits.SetInt64(n) // negative numbers have all high bits set
	case v.Type == bson.TypeBinary:
		_, data := binaryAt(v.Value)
		bits = littleEndian(data)
	default:
		return false
	}
	hit := new(big.Int)
	if t.mode.set {
		hit.And(bits, t.mask)
	} else {
		hit.AndNot(t.mask, bits)
	}
	if t.mode.all {
		return hit.Cmp(t.mask) == 0
	}
	return hit.Sign() != 0
}
