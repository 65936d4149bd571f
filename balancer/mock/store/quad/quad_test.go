package quad_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/quad"
)

// The digits are mpmath's, to 45 places.
func TestDigits(t *testing.T) {
	for _, tt := range []struct {
		f       quad.Function
		x, want string
	}{
		{quad.Exp, "2", "7.38905609893065022723042746057500781318031557"},
		{quad.Exp, "-0.001", "9.99000499833374991668055357167655974702355902e-1"},
		{quad.Ln, "1.1", "9.53101798043248600439521232807650922206053653e-2"},
		{quad.Ln, "1e-50", "-1.15129254649702284200899572734218210380055074e+2"},
		{quad.Log2, "1.1", "1.37503523749934908329043617236402782838400133e-1"},
		{quad.Log2, "3e40", "1.34462086296215650096266516123523423543353070e+2"},
		{quad.Log10, "1.1", "4.13926851582250407501999712430242417067021905e-2"},
		{quad.Log10, "3e40", "4.04771212547196624372950279032551153092001289e+1"},
		{quad.Sin, "-5.5", "7.05540325570391906231919175522070078847290282e-1"},
		{quad.Sin, "1e60", "8.30389765219342664664061785421328756641175851e-1"},
		{quad.Cos, "2", "-4.16146836547142386997568229500762189766000771e-1"},
		{quad.Cos, "1e60", "-5.57182948248566708972916420591398992689132896e-1"},
		{quad.Tan, "2", "-2.18503986326151899164330610231368254343201775"},
		{quad.Tan, "1e20", "-8.44602463019884254184093234000553581165355473e-1"},
		{quad.Atan, "2", "1.10714871779409050301706546017853704007004765"},
		{quad.Atan, "-0.001", "-9.99999666666866666523809634920544011620934554e-4"},
		{quad.Asin, "0.3", "3.04692654015397507972002961227529166954560032e-1"},
		{quad.Asin, "-0.999", "-1.52607123962616318798162545896820037219440414"},
		{quad.Acos, "0.3", "1.26610367277949911125931873041222227514402467"},
		{quad.Acos, "-0.999", "3.09686756642105980721294715060795181429298884"},
		{quad.Sinh, "2", "3.62686040784701876766821398280126170488634201"},
		{quad.Sinh, "-0.001", "-1.00000016666667500000019841270116843036014911e-3"},
		{quad.Cosh, "2", "3.76219569108363145956221347777374610829397356"},
		{quad.Cosh, "-0.001", "1.00000050000004166666805555558035714313271605"},
		{quad.Tanh, "2", "9.64027580075816883946413724100923150255029976e-1"},
		{quad.Tanh, "-0.001", "-9.99999666666799999946031767901225704669296792e-4"},
		{quad.Asinh, "2", "1.44363547517881034249327674027310526940555300"},
		{quad.Asinh, "-0.001", "-9.99999833333408333288690506572398262778896762e-4"},
		{quad.Acosh, "1.0001", "1.41420177752523242440634748427880046897311574e-2"},
		{quad.Acosh, "7.25", "2.66935811090315420323249076787858326436754094"},
		{quad.Atanh, "0.3", "3.09519604203111715474067349061069437584091608e-1"},
		{quad.Atanh, "-0.999", "-3.80020116725020003177596726780900446226367570"},
	} {
		x, _, err := big.ParseFloat(tt.x, 10, 300, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := big.ParseFloat(tt.want, 10, 300, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		got := tt.f(x)
		if off := new(big.Float).Quo(new(big.Float).Sub(got, want), want); off.Abs(off).Cmp(big.NewFloat(1e-43)) > 0 {
			t.Errorf("of %s: %.45g, want %s", tt.x, got, tt.want)
		}
	}
}

// Doubles say how far the functions are right at all, anywhere.
func TestLikeDoubles(t *testing.T) {
	for name, of := range map[string]struct {
		double    func(float64) float64
		wide      quad.Function
		low, high float64
	}{
		"exp": {math.Exp, quad.Exp, -700, 700}, "ln": {math.Log, quad.Ln, 1e-300, 1e300},
		"log2": {math.Log2, quad.Log2, 1e-3, 1e9}, "log10": {math.Log10, quad.Log10, 1e-3, 1e9},
		"sin": {math.Sin, quad.Sin, -1e9, 1e9}, "cos": {math.Cos, quad.Cos, -1e9, 1e9},
		"tan": {math.Tan, quad.Tan, -1.5, 1.5}, "atan": {math.Atan, quad.Atan, -1e9, 1e9},
		"asin": {math.Asin, quad.Asin, -1, 1}, "acos": {math.Acos, quad.Acos, -1, 1},
		"sinh": {math.Sinh, quad.Sinh, -700, 700}, "cosh": {math.Cosh, quad.Cosh, -700, 700},
		"tanh": {math.Tanh, quad.Tanh, -50, 50}, "asinh": {math.Asinh, quad.Asinh, -1e9, 1e9},
		"acosh": {math.Acosh, quad.Acosh, 1, 1e9}, "atanh": {math.Atanh, quad.Atanh, -0.999, 0.999},
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			x := rapid.Float64Range(of.low, of.high).Draw(t, "x")
			want := of.double(x)
			got, _ := of.wide(quad.Round(big.NewFloat(x))).Float64()
			if diff := math.Abs(got - want); diff > 1e-12*math.Max(math.Abs(want), 1e-3) {
				t.Fatalf("%s(%v) = %v, a double is %v", name, x, got, want)
			}
		}))
	}
}

func TestEdges(t *testing.T) {
	inf := new(big.Float).SetInf(false)
	for _, tt := range []struct {
		what string
		got  *big.Float
		want *big.Float
	}{
		{"exp(1e6)", quad.Exp(big.NewFloat(1e6)), inf}, {"exp(-1e6)", quad.Exp(big.NewFloat(-1e6)), new(big.Float)},
		{"exp(0)", quad.Exp(new(big.Float)), big.NewFloat(1)}, {"ln(1)", quad.Ln(big.NewFloat(1)), new(big.Float)},
		{"sinh(-1e6)", quad.Sinh(big.NewFloat(-1e6)), new(big.Float).SetInf(true)},
		{"tanh(1e6)", quad.Tanh(big.NewFloat(1e6)), big.NewFloat(1)},
		{"atanh(1)", quad.Atanh(big.NewFloat(1)), inf}, {"acosh(1)", quad.Acosh(big.NewFloat(1)), new(big.Float)},
		{"sin(0)", quad.Sin(new(big.Float)), new(big.Float)}, {"cos(0)", quad.Cos(new(big.Float)), big.NewFloat(1)},
		{"atan2(0, 0)", quad.Atan2(new(big.Float), new(big.Float)), new(big.Float)},
		{"(-2)^3", quad.Pow(big.NewFloat(-2), big.NewFloat(3)), big.NewFloat(-8)},
		{"0^0.5", quad.Pow(new(big.Float), big.NewFloat(0.5)), new(big.Float)},
		{"log10(1000)", quad.Log10(big.NewFloat(1000)), big.NewFloat(3)},
		{"log2(8)", quad.Log2(big.NewFloat(8)), big.NewFloat(3)},
	} {
		if quad.Round(tt.got).Cmp(tt.want) != 0 {
			t.Errorf("%s = %v, want %v", tt.what, tt.got, tt.want)
		}
	}
}
