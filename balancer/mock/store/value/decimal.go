package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Decimal128 arithmetic: results are exact on integers of any size, then rounded half to even to 34
// digits (IEEE 754-2008 §4.3).

// The precision of a decimal and its range of exponents.
const (
	DecimalDigits      = 34
	decimalMinExponent = -6176
	decimalMaxExponent = 6111
)

var (
	decimalNaN      = MustDecimal("NaN")
	decimalInfinity = MustDecimal("Infinity")
	decimalMinusInf = MustDecimal("-Infinity")
	decimalZero     = MustDecimal("0")
)

// MustDecimal parses a decimal literal; it panics on invalid input.
func MustDecimal(s string) bson.Decimal128 {
	d, err := bson.ParseDecimal128(s)
	if err != nil {
		panic(err) // cannot happen: literals are valid
	}
	return d
}

// ToDecimal converts a number to a decimal. Like the server, it keeps 15 digits of a double.
func ToDecimal(v Value) bson.Decimal128 {
	switch v.Type {
	case bson.TypeDecimal128:
		return DecimalAt(v.Value)
	case bson.TypeDouble:
		return DecimalOfDouble(DoubleAt(v.Value))
	}
	return DecimalOfInt(ToInteger(v))
}

// DecimalOfInt converts an integer to a decimal.
func DecimalOfInt(n int64) bson.Decimal128 { return MakeDecimal(big.NewInt(n), 0) }

// DecimalOfDouble converts a double to a decimal with 15 digits, like the server.
func DecimalOfDouble(f float64) bson.Decimal128 {
	switch {
	case math.IsNaN(f):
		return decimalNaN
	case math.IsInf(f, 1):
		return decimalInfinity
	case math.IsInf(f, -1):
		return decimalMinusInf
	case f == 0:
		return withZeroSign(decimalZero, math.Signbit(f))
	}
	d, err := bson.ParseDecimal128(strconv.FormatFloat(f, 'e', 14, 64))
	if err != nil {
		return decimalNaN
	}
	return d
}

// ExactDecimal converts a double to a decimal with all 34 digits.
func ExactDecimal(f float64) bson.Decimal128 {
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', 33, 64), "e")
	d, err := bson.ParseDecimal128(strings.TrimSuffix(strings.TrimRight(digits, "0"), ".") + "e" + exponent)
	if err != nil {
		return DecimalOfDouble(f)
	}
	return d
}

// MakeDecimal returns coefficient · 10^exponent rounded to a decimal.
func MakeDecimal(coefficient *big.Int, exponent int) bson.Decimal128 {
	c := new(big.Int).Set(coefficient)
	if drop := digitCount(c) - DecimalDigits; drop > 0 {
		c = DropDigits(c, drop)
		exponent += drop
		if digitCount(c) > DecimalDigits { // 999… became 1000…
			c = DropDigits(c, 1)
			exponent++
		}
	}
	if exponent < decimalMinExponent {
		c = DropDigits(c, decimalMinExponent-exponent)
		exponent = decimalMinExponent
	}
	negative := coefficient.Sign() < 0
	for exponent > decimalMaxExponent && c.Sign() != 0 && digitCount(c) < DecimalDigits {
		c.Mul(c, big.NewInt(10))
		exponent--
	}
	if exponent > decimalMaxExponent {
		switch c.Sign() {
		case 0:
			exponent = decimalMaxExponent
		case 1:
			return decimalInfinity
		default:
			return decimalMinusInf
		}
	}
	d, ok := bson.ParseDecimal128FromBigInt(c, exponent)
	if !ok {
		return decimalNaN
	}
	return withZeroSign(d, negative)
}

func isNegative(d bson.Decimal128) bool {
	hi, _ := d.GetBytes()
	return hi>>63 != 0
}

// withZeroSign restores the sign of a zero, which integers don't have (IEEE 754-2008 §6.3).
func withZeroSign(d bson.Decimal128, negative bool) bson.Decimal128 {
	if negative && !isNegative(d) && DecimalIsZero(d) {
		return decimalNegate(d)
	}
	return d
}

func digitCount(n *big.Int) int {
	if n.Sign() == 0 {
		return 1
	}
	return len(new(big.Int).Abs(n).String())
}

// DropDigits divides by 10^drop and rounds half to even.
func DropDigits(n *big.Int, drop int) *big.Int {
	if drop > 2*DecimalDigits+DecimalDigits*4 && digitCount(n) < drop {
		return new(big.Int)
	}
	divisor := keyorder.PowerOfTen(drop)
	q, r := new(big.Int).QuoRem(n, divisor, new(big.Int))
	twice := new(big.Int).Abs(r)
	twice.Lsh(twice, 1)
	if c := twice.Cmp(divisor); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(int64(n.Sign())))
	}
	return q
}

// nonFiniteResult computes the result for non-finite operands. ok is false if both are finite.
func nonFiniteResult(a, b bson.Decimal128, f func(x, y float64) float64) (bson.Decimal128, bool) {
	if !a.IsNaN() && !b.IsNaN() && a.IsInf() == 0 && b.IsInf() == 0 {
		return bson.Decimal128{}, false
	}
	return DecimalOfDouble(f(decimalToDouble(a), decimalToDouble(b))), true
}

// DecimalParts returns a finite decimal's coefficient and exponent.
func DecimalParts(d bson.Decimal128) (*big.Int, int) {
	c, exp, err := d.BigInt()
	if err != nil {
		return new(big.Int), 0
	}
	return c, exp
}

// DecimalAdd returns the sum, rounded to 34 digits.
func DecimalAdd(a, b bson.Decimal128) bson.Decimal128 {
	if d, ok := nonFiniteResult(a, b, func(x, y float64) float64 { return x + y }); ok {
		return d
	}
	x, m := DecimalParts(a)
	y, n := DecimalParts(b)
	if m < n {
		x, m, y, n = y, n, x, m
	}
	// If the operands are further apart, the smaller one only affects the rounding.
	if m-n > 3*DecimalDigits && x.Sign() != 0 && y.Sign() != 0 {
		y, n = big.NewInt(int64(y.Sign())), m-3*DecimalDigits
	}
	if x.Sign() == 0 && m-n > 3*DecimalDigits {
		return MakeDecimal(y, n)
	}
	x.Mul(x, keyorder.PowerOfTen(m-n))
	return MakeDecimal(x.Add(x, y), n)
}

func decimalNegate(d bson.Decimal128) bson.Decimal128 {
	hi, lo := d.GetBytes()
	return bson.NewDecimal128(hi^1<<63, lo)
}

// DecimalSubtract returns the difference, rounded to 34 digits.
func DecimalSubtract(a, b bson.Decimal128) bson.Decimal128 { return DecimalAdd(a, decimalNegate(b)) }

// DecimalMultiply returns the product, rounded to 34 digits.
func DecimalMultiply(a, b bson.Decimal128) bson.Decimal128 {
	if d, ok := nonFiniteResult(a, b, func(x, y float64) float64 { return x * y }); ok {
		return d
	}
	x, m := DecimalParts(a)
	y, n := DecimalParts(b)
	return withZeroSign(MakeDecimal(x.Mul(x, y), m+n), isNegative(a) != isNegative(b))
}

// DecimalDivide divides by a non-zero divisor. An exact quotient has as few digits as its operands
// allow.
func DecimalDivide(a, b bson.Decimal128) bson.Decimal128 {
	if d, ok := nonFiniteResult(a, b, func(x, y float64) float64 { return x / y }); ok {
		return d
	}
	x, m := DecimalParts(a)
	y, n := DecimalParts(b)
	if y.Sign() == 0 {
		return decimalNaN
	}
	shift := 2*DecimalDigits + digitCount(y)
	x.Mul(x, keyorder.PowerOfTen(shift))
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	exponent, ideal := m-n-shift, m-n
	if r.Sign() != 0 {
		// One more digit makes the rounding correct.
		q.Mul(q, big.NewInt(10))
		q.Add(q, big.NewInt(int64(q.Sign())))
		exponent--
		return MakeDecimal(q, exponent)
	}
	ten := big.NewInt(10)
	for exponent < ideal {
		next, rest := new(big.Int).QuoRem(q, ten, new(big.Int))
		if rest.Sign() != 0 {
			break
		}
		q = next
		exponent++
	}
	return withZeroSign(MakeDecimal(q, exponent), isNegative(a) != isNegative(b))
}

// DecimalMod returns the remainder with the sign of the dividend.
func DecimalMod(a, b bson.Decimal128) bson.Decimal128 {
	switch {
	case a.IsNaN() || b.IsNaN() || a.IsInf() != 0 || DecimalIsZero(b):
		return decimalNaN
	case b.IsInf() != 0:
		return a
	}
	x, m := DecimalParts(a)
	y, n := DecimalParts(b)
	low := min(m, n)
	if m-low > 2000 || n-low > 2000 { // too far apart to align
		if n > m {
			return a
		}
		return withZeroSign(decimalZero, isNegative(a))
	}
	x.Mul(x, keyorder.PowerOfTen(m-low))
	y.Mul(y, keyorder.PowerOfTen(n-low))
	return withZeroSign(MakeDecimal(x.Rem(x, y), low), isNegative(a))
}

// DecimalRound rounds to a number of decimal places.
func DecimalRound(d bson.Decimal128, places int, mode RoundMode) bson.Decimal128 {
	if d.IsNaN() || d.IsInf() != 0 {
		return d
	}
	c, exp := DecimalParts(d)
	drop := -places - exp
	if drop <= 0 {
		return d
	}
	drop = min(drop, 7000)
	switch mode {
	case RoundTowardZero:
		c.Quo(c, keyorder.PowerOfTen(drop))
	case RoundHalfEven:
		c = DropDigits(c, drop)
	case RoundUp, RoundDown:
		q, r := new(big.Int).QuoRem(c, keyorder.PowerOfTen(drop), new(big.Int))
		if r.Sign() > 0 && mode == RoundUp {
			q.Add(q, big.NewInt(1))
		}
		if r.Sign() < 0 && mode == RoundDown {
			q.Sub(q, big.NewInt(1))
		}
		c = q
	}
	return withZeroSign(MakeDecimal(c, exp+drop), isNegative(d))
}

// RoundMode says how excess digits are rounded.
type RoundMode uint8

// Round to the nearest (half to even), toward zero, up, or down.
const (
	RoundHalfEven RoundMode = iota
	RoundTowardZero
	RoundUp
	RoundDown
)

// DecimalIsZero reports whether the value is a zero of any sign and exponent.
func DecimalIsZero(d bson.Decimal128) bool {
	c, _, err := d.BigInt()
	return err == nil && c.Sign() == 0
}
