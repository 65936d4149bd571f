package store

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

var arithmeticFunctions = map[string]function{
	"$add":      {0, -1, exprAdd},
	"$subtract": {2, 2, exprSubtract},
	"$multiply": {0, -1, exprMultiply},
	"$divide":   {2, 2, exprDivide},
	"$mod":      {2, 2, exprMod},
	"$abs":      {1, 1, exprAbs},
	"$ceil":     {1, 1, toWhole("$ceil", math.Ceil, roundUp)},
	"$floor":    {1, 1, toWhole("$floor", math.Floor, roundDown)},
}

var bitFunctions = map[string]function{
	"$bitAnd": {0, -1, bitwise("$bitAnd", -1, func(a, b int64) int64 { return a & b })},
	"$bitOr":  {0, -1, bitwise("$bitOr", 0, func(a, b int64) int64 { return a | b })},
	"$bitXor": {0, -1, bitwise("$bitXor", 0, func(a, b int64) int64 { return a ^ b })},
	"$bitNot": {1, 1, exprBitNot},
}

// exprAdd sums numbers; one date among them makes the sum a date.
func exprAdd(_ *evaluation, args []value) (value, error) {
	sum := int32Value(0)
	date := false
	for _, v := range args {
		switch {
		case isNullish(v):
			return nullValue(), nil
		case v.Type == bson.TypeDateTime:
			if date {
				return value{}, fail(16612, "only one date allowed in an $add expression")
			}
			date = true
			v = int64Value(int64At(v.Value))
		case !isNumber(v):
			return value{}, typeMismatch("$add only supports numeric or date types, not %s", typeName(v))
		}
		sum, _ = addNumbers(sum, v)
	}
	if date {
		return dateOf(sum)
	}
	return sum, nil
}

// dateOf makes a date of a number of milliseconds.
func dateOf(ms value) (value, error) {
	f := toDouble(ms)
	if math.IsNaN(f) || f >= 1<<63 || f < -1<<63 {
		return value{}, serverError(mongoerr.Overflow, "date overflow")
	}
	if ms.Type == bson.TypeDouble {
		return dateValue(int64(math.Round(f))), nil
	}
	return dateValue(toInteger(ms)), nil
}

func exprSubtract(_ *evaluation, args []value) (value, error) {
	a, b := args[0], args[1]
	switch {
	case isNullish(a) || isNullish(b):
		return nullValue(), nil
	case a.Type == bson.TypeDateTime && b.Type == bson.TypeDateTime:
		d, ok := subtractInt64(int64At(a.Value), int64At(b.Value))
		if !ok {
			return value{}, serverError(mongoerr.Overflow, "date overflow in $subtract")
		}
		return int64Value(d), nil
	case a.Type == bson.TypeDateTime && isNumber(b):
		d, _ := subtractNumbers(int64Value(int64At(a.Value)), b)
		return dateOf(d)
	case !isNumber(a) || !isNumber(b):
		return value{}, typeMismatch("can't $subtract %s from %s", typeName(b), typeName(a))
	}
	d, _ := subtractNumbers(a, b)
	return d, nil
}

func exprMultiply(_ *evaluation, args []value) (value, error) {
	product := int32Value(1)
	for _, v := range args {
		switch {
		case isNullish(v):
			return nullValue(), nil
		case !isNumber(v):
			return value{}, typeMismatch("$multiply only supports numeric types, not %s", typeName(v))
		}
		product, _ = multiplyNumbers(product, v)
	}
	return product, nil
}

func exprDivide(_ *evaluation, args []value) (value, error) {
	a, b := args[0], args[1]
	switch {
	case isNullish(a) || isNullish(b):
		return nullValue(), nil
	case !isNumber(a) || !isNumber(b):
		return value{}, typeMismatch("$divide only supports numeric types, not %s and %s", typeName(a), typeName(b))
	case !truthy(b):
		return value{}, badValue("can't $divide by zero")
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		return decimalValue(decimalDivide(toDecimal(a), toDecimal(b))), nil
	}
	return doubleValue(toDouble(a) / toDouble(b)), nil
}

func exprMod(_ *evaluation, args []value) (value, error) {
	a, b := args[0], args[1]
	switch {
	case isNullish(a) || isNullish(b):
		return nullValue(), nil
	case !isNumber(a) || !isNumber(b):
		return value{}, fail(16611, "$mod only supports numeric types, not %s and %s", typeName(a), typeName(b))
	case !truthy(b):
		return value{}, fail(16610, "can't $mod by zero")
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		return decimalValue(decimalMod(toDecimal(a), toDecimal(b))), nil
	case a.Type == bson.TypeDouble || b.Type == bson.TypeDouble:
		return doubleValue(math.Mod(toDouble(a), toDouble(b))), nil
	}
	m, n := toInteger(a), toInteger(b)
	r := int64(0)
	if n != -1 {
		r = m % n
	}
	if a.Type == bson.TypeInt32 && b.Type == bson.TypeInt32 {
		return int32Value(int32(r)), nil
	}
	return int64Value(r), nil
}

func numeric(op string, v value) error {
	if !isNumber(v) {
		return fail(28765, "%s only supports numeric types, not %s", op, typeName(v))
	}
	return nil
}

func exprAbs(_ *evaluation, args []value) (value, error) {
	v := args[0]
	if isNullish(v) {
		return nullValue(), nil
	}
	if err := numeric("$abs", v); err != nil {
		return value{}, err
	}
	switch v.Type {
	case bson.TypeDouble:
		return doubleValue(math.Abs(doubleAt(v.Value))), nil
	case bson.TypeDecimal128:
		hi, lo := decimalAt(v.Value).GetBytes()
		return decimalValue(bson.NewDecimal128(hi&^(1<<63), lo)), nil
	}
	n := toInteger(v)
	if n == math.MinInt64 {
		return value{}, fail(28680, "can't take $abs of long long min")
	}
	if n < 0 {
		n = -n
	}
	if v.Type == bson.TypeInt32 {
		return smallestInt(n), nil
	}
	return int64Value(n), nil
}

// toWhole is $ceil and $floor.
func toWhole(op string, double func(float64) float64, mode roundMode) func(*evaluation, []value) (value, error) {
	return func(_ *evaluation, args []value) (value, error) {
		v := args[0]
		if isNullish(v) {
			return nullValue(), nil
		}
		switch v.Type {
		case bson.TypeDouble:
			return doubleValue(double(doubleAt(v.Value))), nil
		case bson.TypeDecimal128:
			return decimalValue(decimalRound(decimalAt(v.Value), 0, mode)), nil
		}
		return v, numeric(op, v)
	}
}

// compileRand takes {} and [] for no arguments.
func compileRand(_ string, arg value, _ *scope) (expression, error) {
	if !isObject(arg) && !isArray(arg) || !isEmpty(arg.Value) {
		return nil, fail(3040501, "$rand does not currently accept arguments")
	}
	return evalFunc(func(c *evaluation) (value, error) { return doubleValue(c.random()), nil }), nil
}

func bitwise(op string, identity int32, f func(a, b int64) int64) func(*evaluation, []value) (value, error) {
	return func(_ *evaluation, args []value) (value, error) {
		acc, long := int64(identity), false
		for _, v := range args {
			switch {
			case isNullish(v):
				return nullValue(), nil
			case v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64:
				return value{}, typeMismatch("%s only supports int and long operands.", op)
			}
			long = long || v.Type == bson.TypeInt64
			acc = f(acc, toInteger(v))
		}
		if long {
			return int64Value(acc), nil
		}
		return int32Value(int32(acc)), nil
	}
}

func exprBitNot(_ *evaluation, args []value) (value, error) {
	switch v := args[0]; v.Type {
	case bson.TypeInt32:
		return int32Value(^int32At(v.Value)), nil
	case bson.TypeInt64:
		return int64Value(^int64At(v.Value)), nil
	default:
		if isNullish(v) {
			return nullValue(), nil
		}
		return value{}, fail(28765, "$bitNot only supports int and long, not %s", typeName(v))
	}
}
