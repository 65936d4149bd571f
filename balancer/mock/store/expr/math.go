package expr

import (
	"math"
	"math/big"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

var mathFunctions = map[string]function{
	"$round": {1, 2, roundingFunction("$round", value.RoundHalfEven)},
	"$trunc": {1, 2, roundingFunction("$trunc", value.RoundTowardZero)},
	"$pow":   {2, 2, exprPow},
	"$sqrt":  {1, 1, exprSqrt},
	"$exp":   {1, 1, realFunction("$exp", math.Exp)},
	"$ln":    {1, 1, logFunction("$ln", 28766, math.Log)},
	"$log10": {1, 1, logFunction("$log10", 28761, math.Log10)},
	"$log":   {2, 2, exprLog},

	"$sin":  {1, 1, boundedFunction("$sin", math.Sin, finiteOnly)},
	"$cos":  {1, 1, boundedFunction("$cos", math.Cos, finiteOnly)},
	"$tan":  {1, 1, boundedFunction("$tan", math.Tan, finiteOnly)},
	"$asin": {1, 1, boundedFunction("$asin", math.Asin, unitInterval)},
	"$acos": {1, 1, boundedFunction("$acos", math.Acos, unitInterval)},
	"$atan": {1, 1, realFunction("$atan", math.Atan)}, "$atan2": {2, 2, exprAtan2},
	"$sinh":  {1, 1, realFunction("$sinh", math.Sinh)},
	"$cosh":  {1, 1, realFunction("$cosh", math.Cosh)},
	"$tanh":  {1, 1, realFunction("$tanh", math.Tanh)},
	"$asinh": {1, 1, realFunction("$asinh", math.Asinh)},
	"$acosh": {1, 1, boundedFunction("$acosh", math.Acosh, interval{1, math.Inf(1)})},
	"$atanh": {1, 1, boundedFunction("$atanh", math.Atanh, unitInterval)},

	"$degreesToRadians": {1, 1, scaleFunction("$degreesToRadians", math.Pi/180, radiansOfDegree)},
	"$radiansToDegrees": {1, 1, scaleFunction("$radiansToDegrees", 180/math.Pi, degreesOfRadian)},
}

// π/180 and 180/π, with the 34 digits of a decimal. Two examples of $radiansToDegrees in the manual have
// a different last digit.
var (
	radiansOfDegree = value.MustDecimal("0.01745329251994329576923690768488613")
	degreesOfRadian = value.MustDecimal("57.29577951308232087679815481410517")
)

// Random returns a random number in [0, 1).
func (c *Evaluation) Random() float64 {
	if c.Rand != nil {
		return c.Rand()
	}
	return rand.Float64()
}

func realFunction(op string, f func(float64) float64) func(*Evaluation, []value.Value) (value.Value, error) {
	return numberFunction(op, func(v value.Value) value.Value { return value.ApplyReal(v, f) })
}

// scaleFunction returns an operator that multiplies by a constant.
func scaleFunction(
	op string,
	by float64,
	decimal bson.Decimal128,
) func(*Evaluation, []value.Value) (value.Value, error) {
	return numberFunction(op, func(v value.Value) value.Value {
		if v.Type == bson.TypeDecimal128 {
			return value.Decimal(value.DecimalMultiply(value.DecimalAt(v.Value), decimal))
		}
		return value.Double(value.ToDouble(v) * by)
	})
}

func numberFunction(op string, f func(value.Value) value.Value) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		if value.IsNullish(args[0]) {
			return value.Null(), nil
		}
		if err := checkNumber(op, args[0]); err != nil {
			return value.Value{}, err
		}
		return f(args[0]), nil
	}
}

type interval struct{ low, high float64 }

var (
	unitInterval = interval{-1, 1}
	finiteOnly   = interval{-math.MaxFloat64, math.MaxFloat64}
)

func boundedFunction(
	op string,
	f func(float64) float64,
	in interval,
) func(*Evaluation, []value.Value) (value.Value, error) {
	inner := realFunction(op, f)
	return func(c *Evaluation, args []value.Value) (value.Value, error) {
		if v := args[0]; value.IsNumber(v) {
			if x := value.ToDouble(v); !math.IsNaN(x) && (x < in.low || x > in.high) {
				return value.Value{}, servererr.NewCode(50989, "cannot apply %s to %s, value must be in [%v,%v]", op, v, in.low,
					in.high)
			}
		}
		return inner(c, args)
	}
}

func exprAtan2(_ *Evaluation, args []value.Value) (value.Value, error) {
	y, x := args[0], args[1]
	if value.IsNullish(y) || value.IsNumber(y) && value.IsNullish(x) {
		return value.Null(), nil
	}
	if !value.IsNumber(y) {
		return value.Value{}, servererr.NewCode(51044, "$atan2 only supports numeric types, not %s", value.TypeName(y))
	}
	if !value.IsNumber(x) {
		return value.Value{}, servererr.NewCode(51045, "$atan2 only supports numeric types, not %s", value.TypeName(x))
	}
	return value.ApplyReal2(y, x, math.Atan2), nil
}

func logFunction(op string, code int32, f func(float64) float64) func(*Evaluation, []value.Value) (value.Value, error) {
	inner := realFunction(op, f)
	return func(c *Evaluation, args []value.Value) (value.Value, error) {
		if v := args[0]; value.IsNumber(v) && notPositive(v) {
			return value.Value{}, servererr.NewCode(code, "%s's argument must be a positive number, but is %s", op, v)
		}
		return inner(c, args)
	}
}

func exprLog(_ *Evaluation, args []value.Value) (value.Value, error) {
	v, base := args[0], args[1]
	switch {
	case value.IsNullish(v) || value.IsNullish(base):
		return value.Null(), nil
	case !value.IsNumber(v):
		return value.Value{}, servererr.NewCode(28756, "$log's argument must be numeric, not %s", value.TypeName(v))
	case !value.IsNumber(base):
		return value.Value{}, servererr.NewCode(28757, "$log's base must be numeric, not %s", value.TypeName(base))
	}
	switch {
	case notPositive(v):
		return value.Value{}, servererr.NewCode(28758, "$log's argument must be a positive number, but is %s", v)
	case notPositive(base) || value.Compare(base, value.Int32(1)) == 0:
		return value.Value{}, servererr.NewCode(28759, "$log's base must be a positive number not equal to 1, but is %s",
			base)
	}
	return value.ApplyReal2(v, base, func(x, b float64) float64 { return math.Log(x) / math.Log(b) }), nil
}

// notPositive reports whether a number is zero or negative. It is false for NaN.
func notPositive(v value.Value) bool {
	return !math.IsNaN(value.ToDouble(v)) && value.Compare(v, value.Int32(0)) <= 0
}

func exprSqrt(_ *Evaluation, args []value.Value) (value.Value, error) {
	v := args[0]
	if value.IsNullish(v) {
		return value.Null(), nil
	}
	if err := checkNumber("$sqrt", v); err != nil {
		return value.Value{}, err
	}
	if value.ToDouble(v) < 0 {
		return value.Value{}, servererr.NewCode(28714, "$sqrt's argument must be greater than or equal to 0")
	}
	if v.Type != bson.TypeDecimal128 {
		return value.Double(math.Sqrt(value.ToDouble(v))), nil
	}
	d := value.DecimalAt(v.Value)
	if d.IsNaN() || d.IsInf() != 0 || value.DecimalIsZero(d) {
		return v, nil
	}
	c, exp := value.DecimalParts(d)
	shift := 2 * value.DecimalDigits
	if (exp-shift)%2 != 0 {
		shift++
	}
	c.Mul(c, keyorder.PowerOfTen(shift))
	return value.Decimal(withoutTrailingZeros(new(big.Int).Sqrt(c), (exp-shift)/2)), nil
}

// withoutTrailingZeros returns a decimal without trailing zeros after the point.
func withoutTrailingZeros(c *big.Int, exp int) bson.Decimal128 {
	ten := big.NewInt(10)
	for exp < 0 {
		q, r := new(big.Int).QuoRem(c, ten, new(big.Int))
		if r.Sign() != 0 {
			break
		}
		c, exp = q, exp+1
	}
	return value.MakeDecimal(c, exp)
}

// exprPow computes a power. Integers stay integers as long as the result is an integer.
func exprPow(_ *Evaluation, args []value.Value) (value.Value, error) {
	base, exp := args[0], args[1]
	switch {
	case value.IsNullish(base) || value.IsNullish(exp):
		return value.Null(), nil
	case !value.IsNumber(base):
		return value.Value{}, servererr.NewCode(28762, "$pow's base must be numeric, not %s", value.TypeName(base))
	case !value.IsNumber(exp):
		return value.Value{}, servererr.NewCode(28763, "$pow's exponent must be numeric, not %s", value.TypeName(exp))
	case !value.IsTruthy(base) && value.ToDouble(exp) < 0:
		return value.Value{}, servererr.NewCode(28764, "$pow cannot take a base of 0 and a negative exponent")
	case base.Type == bson.TypeDecimal128 || exp.Type == bson.TypeDecimal128:
		return decimalPow(value.ToDecimal(base), value.ToDecimal(exp)), nil
	case base.Type == bson.TypeDouble || exp.Type == bson.TypeDouble:
		return value.Double(math.Pow(value.ToDouble(base), value.ToDouble(exp))), nil
	}
	n, ok := powInt64(value.ToInteger(base), value.ToInteger(exp))
	switch {
	case !ok:
		return value.Double(math.Pow(value.ToDouble(base), value.ToDouble(exp))), nil
	case base.Type == bson.TypeInt32 && exp.Type == bson.TypeInt32:
		return value.SmallestInt(n), nil
	}
	return value.Int64(n), nil
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
		if n, ok = value.MultiplyInt64(n, base); !ok {
			return 0, false
		}
	}
	return n, true
}

func decimalPow(base, exp bson.Decimal128) value.Value {
	n, whole := value.WholeInteger(value.Decimal(exp))
	if !whole || n < -10000 || n > 10000 || base.IsNaN() || base.IsInf() != 0 {
		return value.ApplyReal2(value.Decimal(base), value.Decimal(exp), math.Pow)
	}
	result, square := value.DecimalOfInt(1), base
	for left := max(n, -n); left > 0; left /= 2 {
		if left%2 == 1 {
			result = value.DecimalMultiply(result, square)
		}
		if left > 1 {
			square = value.DecimalMultiply(square, square)
		}
	}
	if n < 0 {
		return value.Decimal(value.DecimalDivide(value.DecimalOfInt(1), result))
	}
	return value.Decimal(result)
}

// roundingFunction returns the implementation of $round or $trunc, with an optional number of places.
func roundingFunction(op string, mode value.RoundMode) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		v := args[0]
		if !value.IsNullish(v) && !value.IsNumber(v) {
			return value.Value{}, servererr.NewCode(51081, "%s only supports numeric types, not %s", op, value.TypeName(v))
		}
		places := 0
		if len(args) > 1 {
			p := args[1]
			if value.IsNullish(p) || value.IsNullish(v) {
				return value.Null(), nil
			}
			if !value.IsNumber(p) {
				return value.Value{}, servererr.NewCode(16004, "can't convert from BSON type %s to long", value.TypeName(p))
			}
			n, ok := value.WholeInteger(p)
			if !ok {
				return value.Value{}, servererr.NewCode(51082, "precision argument to  %s must be a integral value", op)
			}
			if n < -20 || n > 100 {
				return value.Value{}, servererr.NewCode(51083,
					"cannot apply %s with precision value %d value must be in [-20, 100]", op, n)
			}
			places = int(n)
		}
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		switch v.Type {
		case bson.TypeDouble:
			return value.Double(roundDouble(value.DoubleAt(v.Value), places, mode)), nil
		case bson.TypeDecimal128:
			return value.Decimal(value.DecimalRound(value.DecimalAt(v.Value), places, mode)), nil
		}
		return roundInteger(v, places, mode)
	}
}

func roundInteger(v value.Value, places int, mode value.RoundMode) (value.Value, error) {
	if places >= 0 {
		return v, nil
	}
	n := big.NewInt(value.ToInteger(v))
	if mode == value.RoundTowardZero {
		n.Quo(n, keyorder.PowerOfTen(-places))
	} else {
		n = value.DropDigits(n, -places)
	}
	n.Mul(n, keyorder.PowerOfTen(-places))
	if !n.IsInt64() {
		return value.Value{}, servererr.NewCode(51080,
			"invalid conversion from Decimal128 result in $round resulting from arguments: [%s, %d]",
			v, places)
	}
	if v.Type == bson.TypeInt32 {
		return value.SmallestInt(n.Int64()), nil
	}
	return value.Int64(n.Int64()), nil
}

// roundDouble rounds the exact binary value.
func roundDouble(f float64, places int, mode value.RoundMode) float64 {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return f
	case places == 0 && mode == value.RoundTowardZero:
		return math.Trunc(f)
	case places == 0:
		return math.RoundToEven(f)
	}
	d, ok := new(big.Rat).SetString(bigFloatText(f))
	if !ok {
		return f
	}
	scale := new(big.Rat).SetInt(keyorder.PowerOfTen(max(places, -places)))
	if places > 0 {
		d.Mul(d, scale)
	} else {
		d.Quo(d, scale)
	}
	q, r := new(big.Int).QuoRem(d.Num(), d.Denom(), new(big.Int))
	if mode == value.RoundHalfEven {
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

// bigFloatText returns the number with 34 digits, to which the server rounds it first.
func bigFloatText(f float64) string {
	return new(big.Float).SetFloat64(f).Text('e', value.DecimalDigits-1)
}
