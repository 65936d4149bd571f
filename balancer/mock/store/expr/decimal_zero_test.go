package expr

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/value"
)

// Zeros have the sign that IEEE 754-2008 §6.3 gives them.
func TestDecimalZeros(t *testing.T) {
	decimal := func(text string) value.Value { return value.Decimal(value.MustDecimal(text)) }
	for _, tt := range []struct {
		op   string
		args []value.Value
		want string
	}{
		{"$ceil", []value.Value{decimal("-0.5")}, "-0"}, {"$floor", []value.Value{decimal("0.5")}, "0"},
		{"$round", []value.Value{decimal("-0.4")}, "-0"}, {"$trunc", []value.Value{decimal("-1.5"), value.Int32(-1)},
			"-0E+1"},
		{"$multiply", []value.Value{decimal("-5.5"), value.Int32(0)}, "-0.0"},
		{"$multiply", []value.Value{decimal("-5.5"), value.Double(negativeZero())}, "0.0"},
		{"$divide", []value.Value{value.Int32(0), decimal("-5.5")}, "-0E+1"},
		{"$mod", []value.Value{decimal("-5.5"), decimal("5.5")}, "-0.0"},
		{"$mod", []value.Value{decimal("5.5"), decimal("-5.5")}, "0.0"},
		{"$toDecimal", []value.Value{value.Double(negativeZero())}, "-0"}, {"$abs", []value.Value{decimal("-0")}, "0"},
		{"$subtract", []value.Value{decimal("1.1"), decimal("1.1")}, "0.0"},
	} {
		got, err := functions[tt.op].call(&Evaluation{}, tt.args)
		if err != nil || got.Type != bson.TypeDecimal128 || value.DecimalAt(got.Value).String() != tt.want {
			t.Errorf("%s %v = %v, want %s, error %v", tt.op, tt.args, got, tt.want, err)
		}
	}
}

func negativeZero() float64 {
	zero := 0.0
	return -zero
}
