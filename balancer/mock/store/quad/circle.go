package quad

import (
	"math"
	"math/big"
)

// Sin is the sine of an angle in radians.
func Sin(x *big.Float) *big.Float {
	r, quadrant := reduced(x)
	return signed(turned(r, quadrant), quadrant >= 2)
}

// Cos is the cosine.
func Cos(x *big.Float) *big.Float {
	r, quadrant := reduced(x)
	quadrant = (quadrant + 1) % 4
	return signed(turned(r, quadrant), quadrant >= 2)
}

// Tan is the tangent.
func Tan(x *big.Float) *big.Float { return quo(Sin(x), Cos(x)) }

// Atan is the angle from -π/2 to π/2 of a tangent.
func Atan(x *big.Float) *big.Float {
	one := number(1)
	if fresh(x, x).Abs(x).Cmp(one) > 0 {
		rest := sub(scaled(pi(working), -1), Atan(quo(one, fresh(x, x).Abs(x))))
		return signed(rest, x.Sign() < 0)
	}
	// tan(a/2) = t / (1 + √(1+t²))
	halvings := 0
	for ; !below(x, -4); halvings++ {
		x = quo(x, add(one, root(add(one, mul(x, x)))))
	}
	return scaled(odd(x, true), halvings)
}

// Atan2 is the angle of a point; that of (0, 0) is 0.
func Atan2(y, x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return mul(scaled(pi(working), -1), number(float64(y.Sign())))
	}
	angle := Atan(quo(y, x))
	switch {
	case x.Sign() > 0:
		return angle
	case y.Sign() < 0:
		return sub(angle, pi(working))
	}
	return add(angle, pi(working))
}

// Asin is the angle of a sine from -1 to 1.
func Asin(x *big.Float) *big.Float {
	return Atan2(x, root(notNegative(mul(sub(number(1), x), add(number(1), x)))))
}

// Acos is the angle of a cosine from -1 to 1.
func Acos(x *big.Float) *big.Float {
	return Atan2(root(notNegative(mul(sub(number(1), x), add(number(1), x)))), x)
}

// notNegative keeps what rounding has pushed over the edge on it.
func notNegative(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return number(0)
	}
	return x
}

func signed(x *big.Float, negative bool) *big.Float {
	if negative {
		return neg(x)
	}
	return x
}

// turned is the sine of r in the even quadrants, the cosine in the odd ones.
func turned(r *big.Float, quadrant int) *big.Float {
	square := neg(mul(r, r))
	if quadrant%2 == 1 {
		return series(number(1), func(term *big.Float, n int64) *big.Float {
			return quo(mul(term, square), number(float64(2*n*(2*n-1))))
		})
	}
	if r.Sign() == 0 {
		return r
	}
	return series(r, func(term *big.Float, n int64) *big.Float {
		return quo(mul(term, square), number(float64(2*n*(2*n+1))))
	})
}

// reduced returns an angle between -π/4 and π/4, and how many quarters of the circle
// lie before it. A large angle takes as many digits of π more as it has before the
// point.
func reduced(x *big.Float) (r *big.Float, quadrant int) {
	precision := uint(working + max(x.MantExp(nil), 0))
	quarter := scaled(pi(precision), -1)
	turns := new(big.Float).SetPrec(precision).Quo(x, quarter)
	turns.Add(turns, big.NewFloat(math.Copysign(0.5, float64(x.Sign()))))
	n, _ := turns.Int(nil)
	r = new(big.Float).SetPrec(precision).SetInt(n)
	r.Sub(x, r.Mul(r, quarter))
	return new(big.Float).SetPrec(working).Set(r), int(new(big.Int).And(n, big.NewInt(3)).Int64())
}

// pi is 16·arctan(1/5) - 4·arctan(1/239).
func pi(precision uint) *big.Float {
	const spare = 64
	unit := new(big.Int).Lsh(big.NewInt(1), precision+spare)
	sum := new(big.Int).Sub(
		new(big.Int).Lsh(arctanOfInverse(5, unit), 4), new(big.Int).Lsh(arctanOfInverse(239, unit), 2))
	f := new(big.Float).SetPrec(precision).SetInt(sum)
	return f.SetMantExp(f, -int(precision+spare))
}

// arctanOfInverse returns arctan(1/n) in units.
func arctanOfInverse(n int64, unit *big.Int) *big.Int {
	square := big.NewInt(n * n)
	power := new(big.Int).Quo(unit, big.NewInt(n))
	sum := new(big.Int)
	for i := int64(0); power.Sign() != 0; i++ {
		term := new(big.Int).Quo(power, big.NewInt(2*i+1))
		if i%2 == 1 {
			term.Neg(term)
		}
		sum.Add(sum, term)
		power.Quo(power, square)
	}
	return sum
}
