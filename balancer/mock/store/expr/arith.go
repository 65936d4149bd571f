package expr

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

var arithmeticFunctions = map[string]function{
	"$add":      {0, -1, exprAdd},
	"$subtract": {2, 2, exprSubtract},
	"$multiply": {0, -1, exprMultiply},
	"$divide":   {2, 2, exprDivide},
	"$mod":      {2, 2, exprMod},
	"$abs":      {1, 1, exprAbs},
	"$ceil":     {1, 1, roundToWhole("$ceil", math.Ceil, value.RoundUp)},
	"$floor":    {1, 1, roundToWhole("$floor", math.Floor, value.RoundDown)},
}

var bitFunctions = map[string]function{
	"$bitAnd": {0, -1, bitwise("$bitAnd", -1, func(a, b int64) int64 { return a & b })},
	"$bitOr":  {0, -1, bitwise("$bitOr", 0, func(a, b int64) int64 { return a | b })},
	"$bitXor": {0, -1, bitwise("$bitXor", 0, func(a, b int64) int64 { return a ^ b })},
	"$bitNot": {1, 1, exprBitNot},
}

// exprAdd sums numbers. With one date among the arguments the sum is a date.
func exprAdd(_ *Evaluation, args []value.Value) (value.Value, error) {
	sum := value.Int32(0)
	date := false
	for _, v := range args {
		switch {
		case value.IsNullish(v):
			return value.Null(), nil
		case v.Type == bson.TypeDateTime:
			if date {
				return value.Value{}, servererr.NewCode(16612, "only one date allowed in an $add expression")
			}
			date = true
			v = value.Int64(value.Int64At(v.Value))
		case !value.IsNumber(v):
			return value.Value{}, servererr.TypeMismatch("$add only supports numeric or date types, not %s", value.TypeName(v))
		}
		sum, _ = value.Add(sum, v)
	}
	if date {
		return dateFromMillis(sum)
	}
	return sum, nil
}

// dateFromMillis returns the date of a number of milliseconds since 1970.
func dateFromMillis(ms value.Value) (value.Value, error) {
	f := value.ToDouble(ms)
	if math.IsNaN(f) || f >= 1<<63 || f < -1<<63 {
		return value.Value{}, servererr.New(mongoerr.Overflow, "date overflow")
	}
	if ms.Type == bson.TypeDouble {
		return value.Date(int64(math.Round(f))), nil
	}
	return value.Date(value.ToInteger(ms)), nil
}

func exprSubtract(_ *Evaluation, args []value.Value) (value.Value, error) {
	a, b := args[0], args[1]
	switch {
	case value.IsNullish(a) || value.IsNullish(b):
		return value.Null(), nil
	case a.Type == bson.TypeDateTime && b.Type == bson.TypeDateTime:
		d, ok := value.SubtractInt64(value.Int64At(a.Value), value.Int64At(b.Value))
		if !ok {
			return value.Value{}, servererr.New(mongoerr.Overflow, "date overflow in $subtract")
		}
		return value.Int64(d), nil
	case a.Type == bson.TypeDateTime && value.IsNumber(b):
		d, _ := value.Subtract(value.Int64(value.Int64At(a.Value)), b)
		return dateFromMillis(d)
	case !value.IsNumber(a) || !value.IsNumber(b):
		return value.Value{}, servererr.TypeMismatch("can't $subtract %s from %s", value.TypeName(b), value.TypeName(a))
	}
	d, _ := value.Subtract(a, b)
	return d, nil
}

func exprMultiply(_ *Evaluation, args []value.Value) (value.Value, error) {
	product := value.Int32(1)
	for _, v := range args {
		switch {
		case value.IsNullish(v):
			return value.Null(), nil
		case !value.IsNumber(v):
			return value.Value{}, servererr.TypeMismatch("$multiply only supports numeric types, not %s", value.TypeName(v))
		}
		product, _ = value.Multiply(product, v)
	}
	return product, nil
}

func exprDivide(_ *Evaluation, args []value.Value) (value.Value, error) {
	a, b := args[0], args[1]
	switch {
	case value.IsNullish(a) || value.IsNullish(b):
		return value.Null(), nil
	case !value.IsNumber(a) || !value.IsNumber(b):
		return value.Value{}, servererr.TypeMismatch("$divide only supports numeric types, not %s and %s", value.TypeName(a),
			value.TypeName(b))
	case !value.IsTruthy(b):
		return value.Value{}, servererr.BadValue("can't $divide by zero")
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		return value.Decimal(value.DecimalDivide(value.ToDecimal(a), value.ToDecimal(b))), nil
	}
	return value.Double(value.ToDouble(a) / value.ToDouble(b)), nil
}

func exprMod(_ *Evaluation, args []value.Value) (value.Value, error) {
	a, b := args[0], args[1]
	switch {
	case value.IsNullish(a) || value.IsNullish(b):
		return value.Null(), nil
	case !value.IsNumber(a) || !value.IsNumber(b):
		return value.Value{}, servererr.NewCode(16611, "$mod only supports numeric types, not %s and %s", value.TypeName(a),
			value.TypeName(b))
	case !value.IsTruthy(b):
		return value.Value{}, servererr.NewCode(16610, "can't $mod by zero")
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		return value.Decimal(value.DecimalMod(value.ToDecimal(a), value.ToDecimal(b))), nil
	case a.Type == bson.TypeDouble || b.Type == bson.TypeDouble:
		return value.Double(math.Mod(value.ToDouble(a), value.ToDouble(b))), nil
	}
	m, n := value.ToInteger(a), value.ToInteger(b)
	r := int64(0)
	if n != -1 {
		r = m % n
	}
	if a.Type == bson.TypeInt32 && b.Type == bson.TypeInt32 {
		return value.Int32(int32(r)), nil
	}
	return value.Int64(r), nil
}

func checkNumber(op string, v value.Value) error {
	if !value.IsNumber(v) {
		return servererr.NewCode(28765, "%s only supports numeric types, not %s", op, value.TypeName(v))
	}
	return nil
}

func exprAbs(_ *Evaluation, args []value.Value) (value.Value, error) {
	v := args[0]
	if value.IsNullish(v) {
		return value.Null(), nil
	}
	if err := checkNumber("$abs", v); err != nil {
		return value.Value{}, err
	}
	switch v.Type {
	case bson.TypeDouble:
		return value.Double(math.Abs(value.DoubleAt(v.Value))), nil
	case bson.TypeDecimal128:
		hi, lo := value.DecimalAt(v.Value).GetBytes()
		return value.Decimal(bson.NewDecimal128(hi&^(1<<63), lo)), nil
	}
	n := value.ToInteger(v)
	if n == math.MinInt64 {
		return value.Value{}, servererr.NewCode(28680, "can't take $abs of long long min")
	}
	if n < 0 {
		n = -n
	}
	if v.Type == bson.TypeInt32 {
		return value.SmallestInt(n), nil
	}
	return value.Int64(n), nil
}

// roundToWhole returns the implementation of $ceil or $floor.
func roundToWhole(op string, double func(float64) float64, mode value.RoundMode,
) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		v := args[0]
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		switch v.Type {
		case bson.TypeDouble:
			return value.Double(double(value.DoubleAt(v.Value))), nil
		case bson.TypeDecimal128:
			return value.Decimal(value.DecimalRound(value.DecimalAt(v.Value), 0, mode)), nil
		}
		return v, checkNumber(op, v)
	}
}

// compileRand compiles $rand, whose argument must be {} or [].
func compileRand(_ string, arg value.Value, _ *Scope) (Expression, error) {
	if !value.IsObject(arg) && !value.IsArray(arg) || !document.IsEmpty(arg.Value) {
		return nil, servererr.NewCode(3040501, "$rand does not currently accept arguments")
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) { return value.Double(c.Random()), nil }), nil
}

func bitwise(op string, identity int32, f func(a, b int64) int64,
) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		acc, long := int64(identity), false
		for _, v := range args {
			switch {
			case value.IsNullish(v):
				return value.Null(), nil
			case v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64:
				return value.Value{}, servererr.TypeMismatch("%s only supports int and long operands.", op)
			}
			long = long || v.Type == bson.TypeInt64
			acc = f(acc, value.ToInteger(v))
		}
		if long {
			return value.Int64(acc), nil
		}
		return value.Int32(int32(acc)), nil
	}
}

func exprBitNot(_ *Evaluation, args []value.Value) (value.Value, error) {
	switch v := args[0]; v.Type {
	case bson.TypeInt32:
		return value.Int32(^value.Int32At(v.Value)), nil
	case bson.TypeInt64:
		return value.Int64(^value.Int64At(v.Value)), nil
	default:
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		return value.Value{}, servererr.NewCode(28765, "$bitNot only supports int and long, not %s", value.TypeName(v))
	}
}
