package quad

import "math/big"

// Exp returns e^x.
func Exp(x *big.Float) *big.Float {
	if over(x, huge) {
		if x.Sign() < 0 {
			return number(0)
		}
		return new(big.Float).SetInf(false)
	}
	// x = k·ln 2 + r; e^r is the square of the square … of e^(r/2^halvings).
	const halvings = 12
	k, _ := quo(x, ln2()).Int64()
	r := scaled(sub(x, mul(number(float64(k)), ln2())), -halvings)
	sum := series(number(1), func(term *big.Float, n int64) *big.Float {
		return quo(mul(term, r), number(float64(n)))
	})
	for range halvings {
		sum = mul(sum, sum)
	}
	return scaled(sum, int(k))
}

// Ln returns the natural logarithm of a positive number.
func Ln(x *big.Float) *big.Float {
	mantissa := fresh(x, x)
	exponent := x.MantExp(mantissa)
	if mantissa.Cmp(big.NewFloat(0.7)) < 0 { // from 0.7 to 1.4, so that nothing cancels near 1
		mantissa, exponent = scaled(mantissa, 1), exponent-1
	}
	ln := lnNearOne(mantissa)
	if exponent == 0 {
		return ln
	}
	return add(ln, mul(number(float64(exponent)), ln2()))
}

// Log2 and Log10 are logarithms to these bases.
func Log2(x *big.Float) *big.Float { return quo(Ln(x), ln2()) }

// Log10 is the decimal one.
func Log10(x *big.Float) *big.Float { return quo(Ln(x), Ln(number(10))) }

// Pow returns x^y. Of a negative x it is meant for whole y.
func Pow(x, y *big.Float) *big.Float {
	if x.Sign() == 0 {
		return number(0)
	}
	power := Exp(mul(y, Ln(fresh(x, x).Abs(x))))
	if n, _ := y.Int(nil); x.Sign() < 0 && n.Bit(0) == 1 {
		return neg(power)
	}
	return power
}

// lnNearOne is 2·artanh((x-1)/(x+1)).
func lnNearOne(x *big.Float) *big.Float {
	one := number(1)
	return scaled(odd(quo(sub(x, one), add(x, one)), false), 1)
}

// ln2 is 2·artanh(1/3).
func ln2() *big.Float { return lnNearOne(number(2)) }

// Sinh is the hyperbolic sine.
func Sinh(x *big.Float) *big.Float {
	if below(x, 0) { // the exponentials would cancel
		square := mul(x, x)
		return series(x, func(term *big.Float, n int64) *big.Float {
			return quo(mul(term, square), number(float64(2*n*(2*n+1))))
		})
	}
	e := Exp(x)
	if e.IsInf() || e.Sign() == 0 {
		return new(big.Float).SetInf(x.Sign() < 0)
	}
	return scaled(sub(e, quo(number(1), e)), -1)
}

// Cosh is the hyperbolic cosine.
func Cosh(x *big.Float) *big.Float {
	e := Exp(x)
	if e.IsInf() || e.Sign() == 0 {
		return new(big.Float).SetInf(false)
	}
	return scaled(add(e, quo(number(1), e)), -1)
}

// Tanh is the hyperbolic tangent.
func Tanh(x *big.Float) *big.Float {
	if over(x, working) {
		return number(float64(x.Sign()))
	}
	return quo(Sinh(x), Cosh(x))
}

// Asinh is the area hyperbolic sine.
func Asinh(x *big.Float) *big.Float {
	if below(x, 1) {
		return Atanh(quo(x, root(add(mul(x, x), number(1)))))
	}
	magnitude := fresh(x, x).Abs(x)
	ln := Ln(add(magnitude, root(add(mul(x, x), number(1)))))
	if x.Sign() < 0 {
		return neg(ln)
	}
	return ln
}

// Acosh is the area hyperbolic cosine of a number from 1 on.
func Acosh(x *big.Float) *big.Float {
	square := sub(mul(x, x), number(1))
	if square.Sign() <= 0 {
		return number(0)
	}
	return Ln(add(x, root(square)))
}

// Atanh is the area hyperbolic tangent of a number from -1 to 1.
func Atanh(x *big.Float) *big.Float {
	one := number(1)
	switch {
	case fresh(x, x).Abs(x).Cmp(one) >= 0:
		return new(big.Float).SetInf(x.Sign() < 0)
	case below(x, -2):
		return odd(x, false)
	}
	return scaled(Ln(quo(add(one, x), sub(one, x))), -1)
}
