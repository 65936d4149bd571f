// Package quad computes real functions to the precision of quadruples, the binary
// floating point numbers of 128 bits: with these the server's decimals are computed
// wherever decimals themselves have no exact way (exponentials, logarithms,
// trigonometry). Arguments and results are finite; the callers know what to do with
// the others, and with arguments that a function has no value for.
package quad

import "math/big"

// Bits is the precision of a quadruple's mantissa.
const Bits = 113

// working is the precision of what lies between: enough that the rounding to Bits is
// the only one that shows.
const working = 320

// huge is from where on exponentials leave the range of decimals, 10^6144.
const huge = 15000

// Function is one of one argument.
type Function func(x *big.Float) *big.Float

// Round returns the nearest quadruple.
func Round(x *big.Float) *big.Float { return new(big.Float).SetPrec(Bits).Set(x) }

func number(n float64) *big.Float { return new(big.Float).SetPrec(working).SetFloat64(n) }

func add(x, y *big.Float) *big.Float { return fresh(x, y).Add(x, y) }
func sub(x, y *big.Float) *big.Float { return fresh(x, y).Sub(x, y) }
func mul(x, y *big.Float) *big.Float { return fresh(x, y).Mul(x, y) }
func quo(x, y *big.Float) *big.Float { return fresh(x, y).Quo(x, y) }
func neg(x *big.Float) *big.Float    { return fresh(x, x).Neg(x) }
func root(x *big.Float) *big.Float   { return fresh(x, x).Sqrt(x) }

func fresh(x, y *big.Float) *big.Float {
	return new(big.Float).SetPrec(max(working, x.Prec(), y.Prec()))
}

// scaled returns x · 2^n.
func scaled(x *big.Float, n int) *big.Float { return fresh(x, x).SetMantExp(x, n) }

// below reports whether |x| < 2^n.
func below(x *big.Float, n int) bool { return x.Sign() == 0 || x.MantExp(nil) <= n }

// over reports whether |x| > limit.
func over(x *big.Float, limit float64) bool {
	return new(big.Float).Abs(x).Cmp(big.NewFloat(limit)) > 0
}

// series sums terms, each made of the one before, until they no longer count.
func series(first *big.Float, next func(term *big.Float, n int64) *big.Float) *big.Float {
	sum, term := first, first
	for n := int64(1); ; n++ {
		if term = next(term, n); term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-int(sum.Prec())-2 {
			return sum
		}
		sum = add(sum, term)
	}
}

// odd sums x + c(1)·x³ + c(2)·x⁵ + …, in which c(n) is ±1/(2n+1).
func odd(x *big.Float, alternating bool) *big.Float {
	if x.Sign() == 0 {
		return x
	}
	square := mul(x, x)
	if alternating {
		square = neg(square)
	}
	power := x
	return series(x, func(_ *big.Float, n int64) *big.Float {
		power = mul(power, square)
		return quo(power, number(float64(2*n+1)))
	})
}
