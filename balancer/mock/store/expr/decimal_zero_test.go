package store

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Zeros have the sign that IEEE 754-2008 §6.3 gives them.
func TestDecimalZeros(t *testing.T) {
	decimal := func(text string) value { return decimalValue(mustDecimal(text)) }
	for _, tt := range []struct {
		op   string
		args []value
		want string
	}{
		{"$ceil", []value{decimal("-0.5")}, "-0"}, {"$floor", []value{decimal("0.5")}, "0"},
		{"$round", []value{decimal("-0.4")}, "-0"}, {"$trunc", []value{decimal("-1.5"), int32Value(-1)}, "-0E+1"},
		{"$multiply", []value{decimal("-5.5"), int32Value(0)}, "-0.0"},
		{"$multiply", []value{decimal("-5.5"), doubleValue(negativeZero())}, "0.0"},
		{"$divide", []value{int32Value(0), decimal("-5.5")}, "-0E+1"},
		{"$mod", []value{decimal("-5.5"), decimal("5.5")}, "-0.0"}, {"$mod", []value{decimal("5.5"), decimal("-5.5")}, "0.0"},
		{"$toDecimal", []value{doubleValue(negativeZero())}, "-0"}, {"$abs", []value{decimal("-0")}, "0"},
		{"$subtract", []value{decimal("1.1"), decimal("1.1")}, "0.0"},
	} {
		got, err := functions[tt.op].call(nil, tt.args)
		if err != nil || got.Type != bson.TypeDecimal128 || decimalAt(got.Value).String() != tt.want {
			t.Errorf("%s %v = %v, want %s, error %v", tt.op, tt.args, got, tt.want, err)
		}
	}
}

func negativeZero() float64 {
	zero := 0.0
	return -zero
}
