package expr

import (
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/value"
)

// The first lines are the examples of the manual's pages of the operators, the others
// sums done with mpmath. They hold to 14 digits where docs/boundary.md says
// that a function is computed in doubles.
func TestDecimalFunctions(t *testing.T) {
	for _, tt := range []struct {
		op   string
		args []string
		want string
	}{
		{"$sinh", []string{"1.6301023541559787031443874490659"}, "2.454243813557362033961729701069671"},
		{"$cosh", []string{"1.6301023541559787031443874490659"}, "2.650153334504361016712328539738000"},
		{"$sinh", []string{"0.9272952180016122324285124630648358"}, "1.066020404405732132503284522731829"},
		{"$cosh", []string{"0.9272952180016122324285124630648358"}, "1.461642741099671277595921778079396"},
		{"$tanh", []string{"0.9272952180016122324285124630648358"}, "0.7293303448445332820512777329448416"},
		{"$atan", []string{"1.333333333333333333333333333333333"}, "0.9272952180016122324285124629224287"},
		{"$degreesToRadians", []string{"90"}, "1.570796326794896619231321691639752"},
		{"$tanh", []string{"1.6301023541559787031443874490659"}, "0.9260761562750713360156803177935379"},
		{"$atanh", []string{"0.5"}, "0.5493061443340548456976226184612628"},
		{"$acosh", []string{"3"}, "1.762747174039086050465218649959585"},
		{"$radiansToDegrees", []string{"1.762747174039086050465218649959585"}, "100.9979734210524228844295260083432"},

		{"$exp", []string{"2"}, "7.389056098930650227230427460575008"},
		{"$exp", []string{"-5.5"}, "0.004086771438464066993464702684720768"},
		{"$ln", []string{"2"}, "0.6931471805599453094172321214581766"},
		{"$log10", []string{"2"}, "0.3010299956639811952137388947244930"},
		{"$log10", []string{"1000"}, "3"},
		{"$log", []string{"8", "2"}, "3"},
		{"$log", []string{"100", "10"}, "2"},
		{"$sin", []string{"-5.5"}, "0.7055403255703919062319191755220701"},
		{"$cos", []string{"2"}, "-0.4161468365471423869975682295007622"},
		{"$tan", []string{"2"}, "-2.185039863261518991643306102313683"},
		{"$atan2", []string{"2", "-5.5"}, "2.792821650005886256273063435562322"},
		{"$asinh", []string{"-5.5"}, "-2.406059125298017237488794567121842"},
		{"$acosh", []string{"2"}, "1.316957896924816708625046347307968"},
		{"$pow", []string{"2", "0.5"}, "1.414213562373095048801688724209698"},
		{"$radiansToDegrees", []string{"2"}, "114.5915590261646417535963096282103"},

		{"$exp", []string{"0"}, "1"}, {"$exp", []string{"-Infinity"}, "0"}, {"$exp", []string{"Infinity"}, "Infinity"},
		{"$exp", []string{"1E+6144"}, "Infinity"},
		{"$tanh", []string{"Infinity"}, "1"}, {"$atan", []string{"Infinity"}, "1.570796326794896619231321691639751"},
		{"$cos", []string{"NaN"}, "NaN"}, {"$sin", []string{"0"}, "0"}, {"$atan2", []string{"0", "0"}, "0"},
		{"$asin", []string{"1"}, "1.570796326794896619231321691639751"}, {"$pow", []string{"0", "0.5"}, "0"},
		{"$pow", []string{"-2", "0.5"}, "NaN"},
	} {
		var args []value.Value
		for _, text := range tt.args {
			args = append(args, value.Decimal(value.MustDecimal(text)))
		}
		got, err := mathFunctions[tt.op].call(nil, args)
		if err != nil {
			t.Errorf("%s %v: %v", tt.op, tt.args, err)
			continue
		}
		x, want := value.ToDouble(got), value.ToDouble(value.Decimal(value.MustDecimal(tt.want)))
		near := x == want || math.IsNaN(x) && math.IsNaN(want) || math.Abs(x-want) <= 1e-14*math.Abs(want)
		exact := len(tt.want) < 10 || strings.Contains(tt.op, "adians") // the scales are decimals
		if d := value.DecimalAt(got.Value).String(); got.Type != bson.TypeDecimal128 || !near || exact && d != tt.want {
			t.Errorf("%s %v = %v, want %s", tt.op, tt.args, d, tt.want)
		}
	}
	got, err := mathFunctions["$log"].call(nil, []value.Value{value.Double(8), value.Double(2)})
	if err != nil || got.Type != bson.TypeDouble || math.Abs(value.ToDouble(got)-3) > 1e-15 {
		t.Error(got, err)
	}
}
