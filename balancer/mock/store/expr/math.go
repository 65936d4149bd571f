package store

import (
	"math"
	"math/big"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/quad"
)

var mathFunctions = map[string]function{
	"$round": {1, 2, rounding("$round", roundHalfEven)},
	"$trunc": {1, 2, rounding("$trunc", roundCut)},
	"$pow":   {2, 2, exprPow},
	"$sqrt":  {1, 1, exprSqrt},
	"$exp":   {1, 1, real("$exp", math.Exp, quad.Exp)},
	"$ln":    {1, 1, logarithm("$ln", 28766, math.Log, quad.Ln)},
	"$log10": {1, 1, logarithm("$log10", 28761, math.Log10, quad.Log10)},
	"$log":   {2, 2, exprLog},

	"$sin":  {1, 1, bounded("$sin", math.Sin, quad.Sin, finiteOnly)},
	"$cos":  {1, 1, bounded("$cos", math.Cos, quad.Cos, finiteOnly)},
	"$tan":  {1, 1, bounded("$tan", math.Tan, quad.Tan, finiteOnly)},
	"$asin": {1, 1, bounded("$asin", math.Asin, quad.Asin, unit)},
	"$acos": {1, 1, bounded("$acos", math.Acos, quad.Acos, unit)},
	"$atan": {1, 1, real("$atan", math.Atan, quad.Atan)}, "$atan2": {2, 2, exprAtan2},
	"$sinh":  {1, 1, real("$sinh", math.Sinh, quad.Sinh)},
	"$cosh":  {1, 1, real("$cosh", math.Cosh, quad.Cosh)},
	"$tanh":  {1, 1, real("$tanh", math.Tanh, quad.Tanh)},
	"$asinh": {1, 1, real("$asinh", math.Asinh, quad.Asinh)},
	"$acosh": {1, 1, bounded("$acosh", math.Acosh, quad.Acosh, interval{1, math.Inf(1)})},
	"$atanh": {1, 1, bounded("$atanh", math.Atanh, quad.Atanh, unit)},

	"$degreesToRadians": {1, 1, scale("$degreesToRadians", math.Pi/180, radiansOfDegree)},
	"$radiansToDegrees": {1, 1, scale("$radiansToDegrees", 180/math.Pi, degreesOfRadian)},
}

// π/180 and 180/π, to the 34 digits of a decimal. Two of the manual's examples of
// $radiansToDegrees differ from what comes of these in their last digit.
var (
	radiansOfDegree = mustDecimal("0.01745329251994329576923690768488613")
	degreesOfRadian = mustDecimal("57.29577951308232087679815481410517")
)

// random is in [0, 1).
func (c *evaluation) random() float64 {
	if c.rand != nil {
		return c.rand()
	}
	return rand.Float64()
}

func real(op string, f func(float64) float64, wide quad.Function) func(*evaluation, []value) (value, error) {
	return ofNumber(op, func(v value) value {
		if v.Type == bson.TypeDecimal128 {
			return decimalValue(decimalReal(decimalAt(v.Value), f, wide))
		}
		return doubleValue(f(toDouble(v)))
	})
}

// scale multiplies by a constant.
func scale(op string, by float64, decimal bson.Decimal128) func(*evaluation, []value) (value, error) {
	return ofNumber(op, func(v value) value {
		if v.Type == bson.TypeDecimal128 {
			return decimalValue(decimalMultiply(decimalAt(v.Value), decimal))
		}
		return doubleValue(toDouble(v) * by)
	})
}

func ofNumber(op string, f func(value) value) func(*evaluation, []value) (value, error) {
	return func(_ *evaluation, args []value) (value, error) {
		if isNullish(args[0]) {
			return nullValue(), nil
		}
		if err := numeric(op, args[0]); err != nil {
			return value{}, err
		}
		return f(args[0]), nil
	}
}

type interval struct{ low, high float64 }

var (
	unit       = interval{-1, 1}
	finiteOnly = interval{-math.MaxFloat64, math.MaxFloat64}
)

func bounded(op string, f func(float64) float64, wide quad.Function, in interval,
) func(*evaluation, []value) (value, error) {
	inner := real(op, f, wide)
	return func(c *evaluation, args []value) (value, error) {
		if v := args[0]; isNumber(v) {
			if x := toDouble(v); !math.IsNaN(x) && (x < in.low || x > in.high) {
				return value{}, fail(50989, "cannot apply %s to %s, value must be in [%v,%v]", op, v, in.low, in.high)
			}
		}
		return inner(c, args)
	}
}

func exprAtan2(_ *evaluation, args []value) (value, error) {
	y, x := args[0], args[1]
	if isNullish(y) || isNumber(y) && isNullish(x) {
		return nullValue(), nil
	}
	if !isNumber(y) {
		return value{}, fail(51044, "$atan2 only supports numeric types, not %s", typeName(y))
	}
	if !isNumber(x) {
		return value{}, fail(51045, "$atan2 only supports numeric types, not %s", typeName(x))
	}
	return realOfTwo(y, x, math.Atan2, quad.Atan2), nil
}

func logarithm(op string, code int32, f func(float64) float64, wide quad.Function,
) func(*evaluation, []value) (value, error) {
	inner := real(op, f, wide)
	return func(c *evaluation, args []value) (value, error) {
		if v := args[0]; isNumber(v) && notPositive(v) {
			return value{}, fail(code, "%s's argument must be a positive number, but is %s", op, v)
		}
		return inner(c, args)
	}
}

func exprLog(_ *evaluation, args []value) (value, error) {
	v, base := args[0], args[1]
	switch {
	case isNullish(v) || isNullish(base):
		return nullValue(), nil
	case !isNumber(v):
		return value{}, fail(28756, "$log's argument must be numeric, not %s", typeName(v))
	case !isNumber(base):
		return value{}, fail(28757, "$log's base must be numeric, not %s", typeName(base))
	}
	switch {
	case notPositive(v):
		return value{}, fail(28758, "$log's argument must be a positive number, but is %s", v)
	case notPositive(base) || compare(base, int32Value(1)) == 0:
		return value{}, fail(28759, "$log's base must be a positive number not equal to 1, but is %s", base)
	}
	return realOfTwo(v, base, func(x, b float64) float64 { return math.Log(x) / math.Log(b) }, logTo), nil
}

// logTo has ways of its own to the bases 2 and 10, in which whole results are whole.
func logTo(x, base *big.Float) *big.Float {
	switch n, exact := base.Int64(); {
	case exact == big.Exact && n == 2:
		return quad.Log2(x)
	case exact == big.Exact && n == 10:
		return quad.Log10(x)
	}
	return new(big.Float).Quo(quad.Ln(x), quad.Ln(base))
}

// notPositive: NaN is neither.
func notPositive(v value) bool {
	return !math.IsNaN(toDouble(v)) && compare(v, int32Value(0)) <= 0
}

func exprSqrt(_ *evaluation, args []value) (value, error) {
	v := args[0]
	if isNullish(v) {
		return nullValue(), nil
	}
	if err := numeric("$sqrt", v); err != nil {
		return value{}, err
	}
	if toDouble(v) < 0 {
		return value{}, fail(28714, "$sqrt's argument must be greater than or equal to 0")
	}
	if v.Type != bson.TypeDecimal128 {
		return doubleValue(math.Sqrt(toDouble(v))), nil
	}
	d := decimalAt(v.Value)
	if d.IsNaN() || d.IsInf() != 0 || decimalIsZero(d) {
		return v, nil
	}
	c, exp := parts(d)
	shift := 2 * decimalDigits
	if (exp-shift)%2 != 0 {
		shift++
	}
	c.Mul(c, tenTo(shift))
	return decimalValue(trimmed(new(big.Int).Sqrt(c), (exp-shift)/2)), nil
}

// trimmed makes a decimal without needless zeros behind the point.
func trimmed(c *big.Int, exp int) bson.Decimal128 {
	ten := big.NewInt(10)
	for exp < 0 {
		q, r := new(big.Int).QuoRem(c, ten, new(big.Int))
		if r.Sign() != 0 {
			break
		}
		c, exp = q, exp+1
	}
	return makeDecimal(c, exp)
}

// exprPow stays with integers as long as the result is one.
func exprPow(_ *evaluation, args []value) (value, error) {
	base, exp := args[0], args[1]
	switch {
	case isNullish(base) || isNullish(exp):
		return nullValue(), nil
	case !isNumber(base):
		return value{}, fail(28762, "$pow's base must be numeric, not %s", typeName(base))
	case !isNumber(exp):
		return value{}, fail(28763, "$pow's exponent must be numeric, not %s", typeName(exp))
	case !truthy(base) && toDouble(exp) < 0:
		return value{}, fail(28764, "$pow cannot take a base of 0 and a negative exponent")
	case base.Type == bson.TypeDecimal128 || exp.Type == bson.TypeDecimal128:
		return decimalValue(decimalPow(toDecimal(base), toDecimal(exp))), nil
	case base.Type == bson.TypeDouble || exp.Type == bson.TypeDouble:
		return doubleValue(math.Pow(toDouble(base), toDouble(exp))), nil
	}
	n, ok := powInt64(toInteger(base), toInteger(exp))
	switch {
	case !ok:
		return doubleValue(math.Pow(toDouble(base), toDouble(exp))), nil
	case base.Type == bson.TypeInt32 && exp.Type == bson.TypeInt32:
		return smallestInt(n), nil
	}
	return int64Value(n), nil
}

func powInt64(base, exp int64) (int64, bool) {
	switch {
	case base == 1 || exp == 0:
		return 1, true
	case base == -1:
		if exp%2 == 0 {
			return 1, true
		}
		return -1, true
	case base == 0:
		return 0, true
	case exp < 0 || exp > 63:
		return 0, false
	}
	n := int64(1)
	for range exp {
		var ok bool
		if n, ok = multiplyInt64(n, base); !ok {
			return 0, false
		}
	}
	return n, true
}

func decimalPow(base, exp bson.Decimal128) bson.Decimal128 {
	n, whole := wholeInteger(decimalValue(exp))
	if !whole || n < -10000 || n > 10000 || base.IsNaN() || base.IsInf() != 0 {
		return decimalRealOfTwo(base, exp, math.Pow, quad.Pow)
	}
	result, square := decimalOfInt(1), base
	for left := max(n, -n); left > 0; left /= 2 {
		if left%2 == 1 {
			result = decimalMultiply(result, square)
		}
		if left > 1 {
			square = decimalMultiply(square, square)
		}
	}
	if n < 0 {
		return decimalDivide(decimalOfInt(1), result)
	}
	return result
}

// rounding is $round and $trunc, to an optional number of places.
func rounding(op string, mode roundMode) func(*evaluation, []value) (value, error) {
	return func(_ *evaluation, args []value) (value, error) {
		v := args[0]
		if !isNullish(v) && !isNumber(v) {
			return value{}, fail(51081, "%s only supports numeric types, not %s", op, typeName(v))
		}
		places := 0
		if len(args) > 1 {
			p := args[1]
			if isNullish(p) || isNullish(v) {
				return nullValue(), nil
			}
			if !isNumber(p) {
				return value{}, fail(16004, "can't convert from BSON type %s to long", typeName(p))
			}
			n, ok := wholeInteger(p)
			if !ok {
				return value{}, fail(51082, "precision argument to  %s must be a integral value", op)
			}
			if n < -20 || n > 100 {
				return value{}, fail(51083, "cannot apply %s with precision value %d value must be in [-20, 100]", op, n)
			}
			places = int(n)
		}
		if isNullish(v) {
			return nullValue(), nil
		}
		switch v.Type {
		case bson.TypeDouble:
			return doubleValue(roundDouble(doubleAt(v.Value), places, mode)), nil
		case bson.TypeDecimal128:
			return decimalValue(decimalRound(decimalAt(v.Value), places, mode)), nil
		}
		return roundInteger(v, places, mode)
	}
}

func roundInteger(v value, places int, mode roundMode) (value, error) {
	if places >= 0 {
		return v, nil
	}
	n := big.NewInt(toInteger(v))
	if mode == roundCut {
		n.Quo(n, tenTo(-places))
	} else {
		n = roundedShift(n, -places)
	}
	n.Mul(n, tenTo(-places))
	if !n.IsInt64() {
		return value{}, fail(51080, "invalid conversion from Decimal128 result in $round resulting from arguments: [%s, %d]",
			v, places)
	}
	if v.Type == bson.TypeInt32 {
		return smallestInt(n.Int64()), nil
	}
	return int64Value(n.Int64()), nil
}

// roundDouble rounds the exact binary value.
func roundDouble(f float64, places int, mode roundMode) float64 {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return f
	case places == 0 && mode == roundCut:
		return math.Trunc(f)
	case places == 0:
		return math.RoundToEven(f)
	}
	d, ok := new(big.Rat).SetString(bigFloatText(f))
	if !ok {
		return f
	}
	scale := new(big.Rat).SetInt(tenTo(max(places, -places)))
	if places > 0 {
		d.Mul(d, scale)
	} else {
		d.Quo(d, scale)
	}
	q, r := new(big.Int).QuoRem(d.Num(), d.Denom(), new(big.Int))
	if mode == roundHalfEven {
		r.Abs(r).Lsh(r, 1)
		if c := r.Cmp(d.Denom()); c > 0 || c == 0 && q.Bit(0) == 1 {
			q.Add(q, big.NewInt(int64(d.Sign())))
		}
	}
	out := new(big.Rat).SetInt(q)
	if places > 0 {
		out.Quo(out, scale)
	} else {
		out.Mul(out, scale)
	}
	rounded, _ := out.Float64()
	return math.Copysign(rounded, f)
}

// bigFloatText returns the number to the 34 digits the server rounds it to
// first.
func bigFloatText(f float64) string { return new(big.Float).SetFloat64(f).Text('e', decimalDigits-1) }
