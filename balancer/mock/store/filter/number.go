package filter

import (
	"math/big"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// modTest implements $mod: it compares the remainder of the number truncated to an integer.
type modTest struct{ divisor, remainder int64 }

func newModTest(v value.Value) (modTest, error) {
	if !value.IsArray(v) {
		return modTest{}, servererr.BadValue("malformed mod, needs to be an array")
	}
	parts := document.Items(v)
	switch {
	case len(parts) < 2:
		return modTest{}, servererr.BadValue("malformed mod, not enough elements")
	case len(parts) > 2:
		return modTest{}, servererr.BadValue("malformed mod, too many elements")
	case !value.IsNumber(parts[0]):
		return modTest{}, servererr.BadValue("malformed mod, divisor not a number")
	case !value.IsNumber(parts[1]):
		return modTest{}, servererr.BadValue("malformed mod, remainder not a number")
	case !value.FitsInt64(parts[0]):
		return modTest{}, servererr.BadValue("malformed mod, divisor value is invalid")
	case !value.FitsInt64(parts[1]):
		return modTest{}, servererr.BadValue("malformed mod, remainder value is invalid")
	}
	t := modTest{value.ToInteger(parts[0]), value.ToInteger(parts[1])}
	if t.divisor == 0 {
		return t, servererr.BadValue("divisor cannot be 0")
	}
	return t, nil
}

func (t modTest) Test(v value.Value, _ *MatchState) bool {
	if !value.IsNumber(v) || !value.FitsInt64(v) {
		return false
	}
	n := value.ToInteger(v)
	return n%t.divisor == t.remainder
}

// bitMode says whether bits must be set or clear, and whether all or any of the mask.
type bitMode struct{ set, all bool }

var bitModes = map[string]bitMode{
	"$bitsAllSet": {set: true, all: true}, "$bitsAnySet": {set: true},
	"$bitsAllClear": {all: true}, "$bitsAnyClear": {},
}

// bitTest implements $bitsAllSet and the related operators on integers and binary data.
type bitTest struct {
	mode bitMode
	mask *big.Int // bit positions
}

func newBitTest(op string, mode bitMode, v value.Value) (bitTest, error) {
	t := bitTest{mode: mode, mask: new(big.Int)}
	switch {
	case value.IsNumber(v):
		n, ok := value.WholeInteger(v)
		if !ok {
			return t, servererr.FailedToParse("Expected an integer: %s: %s", op, v)
		}
		if n < 0 {
			return t, servererr.FailedToParse("Expected a non-negative number in: %s: %s", op, v)
		}
		t.mask.SetInt64(n)
	case value.IsArray(v):
		for _, item := range document.Fields(v.Value) {
			n, ok := value.WholeInt32(item)
			if !value.IsNumber(item) {
				return t, servererr.BadValue("bit positions must be an integer but got: %s", item)
			}
			if !ok {
				return t, servererr.BadValue("bit positions cannot be represented as a 32-bit signed integer: %s", item)
			}
			if n < 0 {
				return t, servererr.BadValue("bit positions must be >= 0 but got: %s", item)
			}
			if n > 8*document.MaxSize {
				n = 8 * document.MaxSize // greater than any stored value
			}
			t.mask.SetBit(t.mask, n, 1)
		}
	case v.Type == bson.TypeBinary:
		_, data := value.BinaryAt(v.Value)
		t.mask = binaryBits(data)
	default:
		return t, servererr.BadValue("%s takes an Array, a number, or a BinData but received: %s", op, v)
	}
	return t, nil
}

// binaryBits returns binary data as a set of bits; bit 0 is the lowest bit of the first byte.
func binaryBits(data []byte) *big.Int {
	reversed := make([]byte, len(data))
	for i, b := range data {
		reversed[len(data)-1-i] = b
	}
	return new(big.Int).SetBytes(reversed)
}

func (t bitTest) Test(v value.Value, _ *MatchState) bool {
	bits := new(big.Int)
	switch {
	case value.IsNumber(v):
		n, ok := value.WholeInteger(v)
		if !ok {
			return false
		}
		bits.SetInt64(n) // all high bits of negative numbers are set
	case v.Type == bson.TypeBinary:
		_, data := value.BinaryAt(v.Value)
		bits = binaryBits(data)
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
