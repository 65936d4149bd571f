package keyorder

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

// rules/03-catalog-and-keys §4.4: each line is one place in the order, and the values on a line
// are equal.
func TestOrderAcrossTypes(t *testing.T) {
	d := func(s string) bson.Decimal128 { return decimal128(t, s) }
	uuid := bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	lines := [][]any{
		{bson.MinKey{}},
		{bson.Undefined{}},
		{bson.Null{}},
		{math.NaN(), math.Float64frombits(0xfff8000000000001), d("NaN"), d("-NaN")},
		{math.Inf(-1), d("-Infinity")},
		{d("-9.999999999999999999999999999999999E+6144")},
		{d("-1E+6000")},
		{-math.MaxFloat64},
		{d("-1E+308")},
		{-1e19, d("-1E+19")},
		{-math.Nextafter(1<<63, math.Inf(1))},
		{d("-9223372036854775809")},
		{int64(math.MinInt64), -float64(1 << 63), d("-9223372036854775808")},
		{int64(math.MinInt64 + 1), d("-9223372036854775807")},
		{int64(-1<<53 - 1), d("-9007199254740993")},
		{int64(-1 << 53), -float64(1 << 53)},
		{int32(-256), -256.0},
		{d("-255.5"), -255.5},
		{int32(-255)},
		{int32(-128)},
		{int32(-1), int64(-1), -1.0, d("-1"), d("-1.000"), d("-10E-1")},
		{d("-0.9999999999999999999999999999999999")},
		{math.Nextafter(-1, 0)},
		{-0.1},
		{d("-0.1")},
		{-math.SmallestNonzeroFloat64},
		{d("-4E-324")},
		{d("-1E-6176")},
		{int32(0), int64(0), 0.0, math.Copysign(0, -1), d("0"), d("-0"), d("0E+6000"), d("0E-6176")},
		{d("1E-6176")},
		{d("4E-324")},
		{math.SmallestNonzeroFloat64},
		{d("5E-324")},
		{d("0.1")},
		{0.1, d("0.1000000000000000055511151231257827")}, // replaced below: not equal
		{0.5, d("0.5"), d("0.50")},
		{math.Nextafter(1, 0)},
		{d("0.9999999999999999999999999999999999")},
		{int32(1), int64(1), 1.0, d("1"), d("1.0"), d("1E0")},
		{d("1.000000000000000000000000000000001")},
		{math.Nextafter(1, 2)},
		{1.5, d("1.50"), d("1.5")},
		{int32(127)},
		{int32(128)},
		{int64(1 << 53), float64(1 << 53), d("9007199254740992")},
		{d("9007199254740992.5")},
		{int64(1<<53 + 1), d("9007199254740993")},
		{float64(1<<53 + 2), int64(1<<53 + 2)},
		{int64(math.MaxInt64), d("9223372036854775807")},
		{d("9223372036854775807.5")},
		{float64(1 << 63), d("9223372036854775808")},
		{d("9223372036854775808.5")},
		{d("9223372036854775809")},
		{math.Nextafter(1<<63, math.Inf(1))},
		{1e22, d("1E+22"), d("10000000000000000000000")},
		{d("1E+23")}, // the double 1e23 is below, see TestDoublesAreExact
		{math.MaxFloat64},
		{d("1E+309")},
		{d("9.999999999999999999999999999999999E+6144")},
		{math.Inf(1), d("Infinity")},
		{""},
		{"\x00"},
		{"\x00\x00"},
		{"\x01"},
		{"\x02"},
		{"A", bson.Symbol("A")},
		{"A\x00"},
		{"A\x01"},
		{"AB"},
		{"a"},
		{"é"},
		{"\xff"},
		{bson.D{}},
		{bson.D{{Key: "a", Value: bson.MinKey{}}}},
		{bson.D{{Key: "b", Value: int32(1)}}}, // a number before any string, whatever the names
		{bson.D{{Key: "a", Value: "x"}}},
		{bson.D{{Key: "a", Value: "x"}, {Key: "b", Value: bson.Null{}}}},
		{bson.D{{Key: "aa", Value: "a"}}},
		{bson.D{{Key: "b", Value: "a"}}},
		{bson.D{{Key: "a", Value: bson.D{}}}},
		{bson.A{}},
		{bson.A{int32(1)}},
		{bson.A{int32(1), int32(0)}},
		{bson.A{int32(2)}},
		{bson.A{"a"}},
		{bson.Binary{}},
		{bson.Binary{Subtype: 5}},
		{bson.Binary{Subtype: 0, Data: []byte{9}}},
		{bson.Binary{Subtype: 4, Data: []byte{1}}},
		{bson.Binary{Data: make([]byte, 15)}},
		{bson.Binary{Subtype: 3, Data: bytes.Repeat([]byte{255}, 16)}},
		{uuid},
		{bson.Binary{Data: make([]byte, 254)}},
		{bson.Binary{Data: make([]byte, 255)}},
		{bson.Binary{Data: make([]byte, 256)}},
		{bson.ObjectID{}},
		{bson.ObjectID{0, 1}},
		{bson.ObjectID{255}},
		{false},
		{true},
		{bson.DateTime(math.MinInt64)},
		{bson.DateTime(-1)},
		{bson.DateTime(0)},
		{bson.DateTime(1)},
		{bson.DateTime(math.MaxInt64)},
		{bson.Timestamp{}},
		{bson.Timestamp{T: 0, I: 1<<32 - 1}},
		{bson.Timestamp{T: 1, I: 0}},
		{bson.Timestamp{T: 1 << 31}},
		{bson.Regex{}},
		{bson.Regex{Options: "i"}},
		{bson.Regex{Pattern: "a"}},
		{bson.Regex{Pattern: "a", Options: "i"}},
		{bson.Regex{Pattern: "ab"}},
		{bson.DBPointer{DB: "b"}},
		{bson.DBPointer{DB: "b", Pointer: bson.ObjectID{1}}},
		{bson.DBPointer{DB: "aa"}},
		{bson.JavaScript("")},
		{bson.JavaScript("b")},
		{bson.CodeWithScope{Code: "a", Scope: bson.D{}}},
		{bson.CodeWithScope{Code: "a", Scope: bson.D{{Key: "x", Value: int32(1)}}}},
		{bson.CodeWithScope{Code: "b", Scope: bson.D{}}},
		{bson.MaxKey{}},
	}
	for i, line := range lines {
		if len(line) == 2 && line[0] == 0.1 {
			lines[i] = line[:1] // 34 digits do not reach the exact value
		}
	}
	for i, a := range lines {
		for j, b := range lines {
			for _, v := range a {
				for _, w := range b {
					check(t, raw(t, v), raw(t, w), cmp.Compare(i, j))
				}
			}
		}
	}
}

func check(t testing.TB, a, b bson.RawValue, want int) {
	t.Helper()
	if got := Compare(a, b); got != want {
		t.Errorf("Compare(%v, %v) is %d, want %d", a, b, got, want)
	}
	x, y := Append(nil, a), Append(nil, b)
	if got := bytes.Compare(x, y); got != want {
		t.Errorf("encodings of %v and %v compare as %d, want %d\n%x\n%x", a, b, got, want, x, y)
	}
	if want != 0 && bytes.HasPrefix(y, x) {
		t.Errorf("the encoding of %v begins that of %v", a, b)
	}
}

// A double is its exact binary value, not its shortest decimal form.
func TestDoublesAreExact(t *testing.T) {
	for _, c := range []struct {
		decimal string
		double  float64
		want    int
	}{
		{"0.1", 0.1, -1},
		{"0.1000000000000000055511151231257827", 0.1, -1},
		{"0.1000000000000000055511151231257828", 0.1, 1},
		{"0.125", 0.125, 0},
		{"1E+23", 1e23, 1},
		{"1E+22", 1e22, 0},
		{"2.3", 2.3, 1},
		{"179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558632766878",
			math.MaxFloat64, -1},
		{"1.797693134862315708145274237317043E+308", math.MaxFloat64, -1},
		{"1.797693134862315708145274237317044E+308", math.MaxFloat64, 1},
		{"4.940656458412465441765687928682213E-324", 5e-324, -1},
		{"4.940656458412465441765687928682214E-324", 5e-324, 1},
		{"2.225073858507201383090232717332404E-308", 2.2250738585072014e-308, -1},
		{"2.225073858507201383090232717332405E-308", 2.2250738585072014e-308, 1},
	} {
		d, err := bson.ParseDecimal128(c.decimal)
		if err != nil {
			continue // more digits than fit
		}
		check(t, raw(t, d), raw(t, c.double), c.want)
		check(t, raw(t, c.double), raw(t, d), -c.want)
		negative := decimal128(t, "-"+c.decimal)
		check(t, raw(t, negative), raw(t, -c.double), -c.want)
	}
}

func TestSmallValuesAreShort(t *testing.T) {
	for _, c := range []struct {
		value any
		most  int
	}{
		{int32(0), 1}, {int32(5), 2}, {int32(-100), 2}, {int32(30000), 3}, {int64(1 << 40), 7}, {1.5, 9}, {0.1, 9},
		{int64(math.MaxInt64), 9}, {int64(math.MinInt64), 9}, {decimal128(t, "12"), 2}, {bson.ObjectID{}, 13}, {"abc", 5},
	} {
		if n := len(Append(nil, raw(t, c.value))); n > c.most {
			t.Errorf("%v takes %d bytes, want at most %d", c.value, n, c.most)
		}
	}
}

func TestCompareDocuments(t *testing.T) {
	for _, c := range []struct {
		a, b bson.D
		want int
	}{
		{bson.D{}, bson.D{}, 0},
		{bson.D{{Key: "a", Value: int32(1)}}, bson.D{{Key: "a", Value: 1.0}}, 0},
		{bson.D{{Key: "b", Value: int32(1)}}, bson.D{{Key: "a", Value: "x"}}, -1},
		{bson.D{{Key: "a", Value: int32(1)}}, bson.D{{Key: "b", Value: int32(1)}}, -1},
		{bson.D{}, bson.D{{Key: "a", Value: bson.MinKey{}}}, -1},
	} {
		a, b := raw(t, c.a), raw(t, c.b)
		if got := CompareDocuments(a.Value, b.Value); got != c.want {
			t.Errorf("%v against %v is %d, want %d", a, b, got, c.want)
		}
		if got := CompareDocuments(b.Value, a.Value); got != -c.want {
			t.Errorf("%v against %v is %d, want %d", b, a, got, -c.want)
		}
	}
}

// value draws any BSON value, preferring those close to each other.
func value(depth int) *rapid.Generator[any] {
	near := []float64{0, 1, 1 << 31, 1 << 52, 1 << 53, 1 << 62, 1 << 63, 1 << 64, 1e19, 1e22, 1e23, 0.1, 0.5, 1e-300,
		5e-324, 2.2250738585072014e-308, math.MaxFloat64}
	double := rapid.Custom(func(t *rapid.T) float64 {
		f := rapid.SampledFrom(near).Draw(t, "near")
		for range rapid.IntRange(0, 2).Draw(t, "steps") {
			f = math.Nextafter(f, rapid.SampledFrom([]float64{math.Inf(-1), math.Inf(1)}).Draw(t, "towards"))
		}
		if rapid.Bool().Draw(t, "negative") {
			f = -f
		}
		return f
	})
	anyDouble := rapid.OneOf(double, rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}))
	decimalNear := rapid.Custom(func(t *rapid.T) any {
		f := double.Draw(t, "double")
		d, err := bson.ParseDecimal128(strings.ToUpper(formatDigits(f, rapid.IntRange(0, 33).Draw(t, "digits"))))
		if err != nil {
			return bson.NewDecimal128(0x3040000000000000, 0)
		}
		return d
	})
	decimalAny := rapid.Custom(func(t *rapid.T) any {
		return bson.NewDecimal128(rapid.Uint64().Draw(t, "high"), rapid.Uint64().Draw(t, "low"))
	})
	decimalSmall := rapid.Custom(func(t *rapid.T) any {
		exponent := uint64(6176 + rapid.IntRange(-40, 40).Draw(t, "exponent"))
		sign := uint64(rapid.IntRange(0, 1).Draw(t, "sign"))
		return bson.NewDecimal128(sign<<63|exponent<<49|rapid.Uint64Range(0, maxDecimalHi).Draw(t, "high"),
			rapid.Uint64().Draw(t, "low"))
	})
	text := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 2, 'a', 'é'}), 0, 4, -1), rapid.String())
	name := rapid.StringOfN(rapid.SampledFrom([]rune{1, 2, 'a', 'b'}), 0, 3, -1)
	kinds := []*rapid.Generator[any]{
		rapid.SampledFrom([]any{bson.MinKey{}, bson.MaxKey{}, bson.Null{}, bson.Undefined{}, true, false}),
		rapid.Map(anyDouble, func(f float64) any { return f }),
		rapid.Map(anyDouble, func(f float64) any { return int64(f) }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.Int32(), func(n int32) any { return n }),
		rapid.Map(rapid.Int32Range(-300, 300), func(n int32) any { return n }),
		decimalNear, decimalSmall, decimalAny,
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(text, func(s string) any { return bson.Symbol(s) }),
		rapid.Map(text, func(s string) any { return bson.JavaScript(s) }),
		rapid.Map(rapid.Int64(), func(n int64) any { return bson.DateTime(n) }),
		rapid.Map(rapid.Uint64(), func(n uint64) any { return bson.Timestamp{T: uint32(n >> 32), I: uint32(n)} }),
		rapid.Custom(func(t *rapid.T) any {
			return bson.Binary{
				Subtype: rapid.SampledFrom([]byte{0, 2, 4, 0x80}).Draw(t, "subtype"),
				Data:    rapid.SliceOfN(rapid.Byte(), 0, rapid.SampledFrom([]int{3, 300}).Draw(t, "size")).Draw(t, "data"),
			}
		}),
		rapid.Custom(func(t *rapid.T) any {
			var id bson.ObjectID
			id[0], id[11] = rapid.Byte().Draw(t, "first"), rapid.Byte().Draw(t, "last")
			return id
		}),
		rapid.Custom(func(t *rapid.T) any {
			return bson.Regex{Pattern: name.Draw(t, "pattern"), Options: name.Draw(t, "flags")}
		}),
		rapid.Custom(func(t *rapid.T) any {
			return bson.DBPointer{DB: name.Draw(t, "ns"), Pointer: bson.ObjectID{rapid.Byte().Draw(t, "id")}}
		}),
	}
	if depth == 0 {
		return rapid.OneOf(kinds...)
	}
	object := rapid.Custom(func(t *rapid.T) bson.D {
		d := bson.D{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			d = append(d, bson.E{Key: name.Draw(t, "name"), Value: value(depth-1).Draw(t, "value")})
		}
		return d
	})
	return rapid.OneOf(append(kinds,
		rapid.Map(object, func(d bson.D) any { return d }),
		rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return bson.A(l) }),
		rapid.Custom(func(t *rapid.T) any {
			return bson.CodeWithScope{Code: bson.JavaScript(text.Draw(t, "code")), Scope: object.Draw(t, "scope")}
		}),
	)...)
}

func formatDigits(f float64, digits int) string {
	return strings.TrimSpace(bigFormat(f, digits))
}

func TestEncodingOrdersLikeCompare(t *testing.T) {
	values := value(2)
	rapid.Check(t, func(r *rapid.T) {
		list := make([]bson.RawValue, 6)
		for i := range list {
			list[i] = raw(t, values.Draw(r, "value"))
		}
		for _, a := range list {
			x := Append(nil, a)
			if got := EncodedSize(x); got != len(x) {
				r.Fatalf("the encoding of %v has %d bytes, Size says %d", a, len(x), got)
			}
			if got := EncodedSize(append(slices.Clip(x), 0x30, 0x7f, 0)); got != len(x) {
				r.Fatalf("the encoding of %v has %d bytes, with more after it Size says %d", a, len(x), got)
			}
			for _, b := range list {
				want, y := Compare(a, b), Append(nil, b)
				if got := bytes.Compare(x, y); got != want {
					r.Fatalf("%v against %v: encodings say %d, values %d\n%x\n%x", a, b, got, want, x, y)
				}
				if Compare(b, a) != -want {
					r.Fatalf("Compare(%v, %v) is not the opposite of the other way", b, a)
				}
				if want != 0 && bytes.HasPrefix(x, y) {
					r.Fatalf("the encoding of %v begins that of %v", b, a)
				}
				if a.Type == b.Type && want == 0 && Restorable(a) && Restorable(b) && !bytes.Equal(a.Value, b.Value) {
					r.Fatalf("%v and %v encode alike, so one cannot be restored", a, b)
				}
			}
		}
		slices.SortFunc(list, Compare)
		for i := range list[1:] {
			if Compare(list[0], list[i+1]) > 0 {
				r.Fatalf("the order is not transitive: %v", list)
			}
		}
	})
}

func TestRestore(t *testing.T) {
	values := value(1)
	rapid.Check(t, func(r *rapid.T) {
		v := raw(t, values.Draw(r, "value"))
		enc := Append(nil, v)
		got, size, ok := Restore([]byte("x"), string(enc)+"tail", v.Type)
		if !Restorable(v) {
			return
		}
		if !ok || size != len(enc) || got[0] != 'x' || !bytes.Equal(got[1:], v.Value) {
			r.Fatalf("%v restored as %x of %d bytes, %v; want %x of %d", v, got, size, ok, v.Value, len(enc))
		}
	})
}

func TestFieldsConcatenate(t *testing.T) {
	values := value(1)
	rapid.Check(t, func(r *rapid.T) {
		var a, b [2]bson.RawValue
		var x, y []byte
		want := 0
		for i := range a {
			a[i], b[i] = raw(t, values.Draw(r, "a")), raw(t, values.Draw(r, "b"))
			if i == 0 && rapid.Bool().Draw(r, "same first") {
				b[0] = a[0]
			}
			x, y = Append(x, a[i]), Append(y, b[i])
			want = cmp.Or(want, Compare(a[i], b[i]))
		}
		if got := bytes.Compare(x, y); got != want {
			r.Fatalf("%v against %v: encodings say %d, fields %d", a, b, got, want)
		}
	})
}
