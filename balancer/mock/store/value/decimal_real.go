package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/quad"
)

// The server's decimals go through quadruples where a function has no exact way: the
// argument becomes the nearest one, the result the nearest decimal. The manual's examples
// that the tests have come out so, but they are few, and a library's quadruples need not
// be the nearest: a server's result may differ in the last digit.

// farAway stands for infinity in functions that have a limit there.
const farAway = 1e100

// DecimalReal returns a function of a decimal, from more digits than it has.
func DecimalReal(d bson.Decimal128, f func(float64) float64, wide quad.Function) bson.Decimal128 {
	if isSpecial(d) {
		limit := f(decimalToDouble(d))
		if math.IsNaN(limit) || math.IsInf(limit, 0) {
			return DecimalOfDouble(limit)
		}
		return decimalOfQuad(wide(big.NewFloat(math.Copysign(farAway, float64(d.IsInf())))))
	}
	return decimalOfQuad(wide(quadOf(d)))
}

// RealOfTwo returns a decimal where one of the two numbers is one, and otherwise a
// double.
func RealOfTwo(a, b Value, f func(x, y float64) float64, wide func(x, y *big.Float) *big.Float) Value {
	if a.Type != bson.TypeDecimal128 && b.Type != bson.TypeDecimal128 {
		return Double(f(ToDouble(a), ToDouble(b)))
	}
	return Decimal(DecimalRealOfTwo(ToDecimal(a), ToDecimal(b), f, wide))
}

// DecimalRealOfTwo asks doubles where they know better what comes of infinities and
// roots of negative numbers.
func DecimalRealOfTwo(a, b bson.Decimal128, f func(x, y float64) float64, wide func(x, y *big.Float) *big.Float,
) bson.Decimal128 {
	rough := f(decimalToDouble(a), decimalToDouble(b))
	if isSpecial(a) || isSpecial(b) || math.IsNaN(rough) {
		return DecimalOfDouble(rough)
	}
	return decimalOfQuad(wide(quadOf(a), quadOf(b)))
}

func isSpecial(d bson.Decimal128) bool { return d.IsNaN() || d.IsInf() != 0 }

// spareBits are of the quotient that the nearest quadruple is taken of.
const spareBits = 2 * quad.Bits

func quadOf(d bson.Decimal128) *big.Float {
	c, exponent := DecimalParts(d)
	f := new(big.Float).SetInt(c)
	if exponent < 0 {
		divisor := new(big.Float).SetInt(TenTo(-exponent))
		return quad.Round(new(big.Float).SetPrec(spareBits).Quo(f, divisor))
	}
	return quad.Round(new(big.Float).SetInt(c.Mul(c, TenTo(exponent))))
}

// decimalOfQuad has all 34 digits, or those of a number that has few.
func decimalOfQuad(f *big.Float) bson.Decimal128 {
	switch f = quad.Round(f); {
	case f.IsInf() && f.Sign() < 0:
		return decimalMinusInf
	case f.IsInf():
		return decimalInfinity
	case f.Sign() == 0:
		return decimalZero
	}
	if d, ok := shortDecimal(f); ok {
		return d
	}
	digits, exponent, _ := strings.Cut(f.Text('e', DecimalDigits-1), "e")
	n, _ := new(big.Int).SetString(strings.Replace(digits, ".", "", 1), 10)
	e, _ := strconv.Atoi(exponent)
	return MakeDecimal(n, e-DecimalDigits+1)
}

// shortDecimal returns a number that 34 digits have room for.
func shortDecimal(f *big.Float) (d bson.Decimal128, ok bool) {
	const fewBits = 48
	behind := int(f.MinPrec()) - f.MantExp(nil) // bits behind the point
	if behind > fewBits {
		return d, false
	}
	behind = max(behind, 0)
	n, _ := new(big.Float).SetMantExp(f, behind).Int(nil)
	n.Mul(n, new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(behind)), nil))
	if digitCount(n) > DecimalDigits {
		return d, false
	}
	return MakeDecimal(n, -behind), true
}
