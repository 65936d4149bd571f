package keyorder

import (
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func raw(t testing.TB, v any) bson.RawValue {
	t.Helper()
	typ, data, err := bson.MarshalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return bson.RawValue{Type: typ, Value: data}
}

func decimal128(t testing.TB, s string) bson.Decimal128 {
	t.Helper()
	d, err := bson.ParseDecimal128(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func objectID(t testing.TB, s string) bson.ObjectID {
	t.Helper()
	id, err := bson.ObjectIDFromHex(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The table of rules/03-catalog-and-keys §4.6, values taken from a server.
func TestHashTable(t *testing.T) {
	uuid := bson.Binary{Subtype: 4, Data: []byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0, 0x11, 0x22, 0x33, 0x44,
		0x55, 0x66, 0x77}}
	copy(uuid.Data, []byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff})
	for _, c := range []struct {
		value any
		want  int64
	}{
		{int32(0), 4854801880128277513},
		{int32(1), 5902408780260971510},
		{int32(2), 848411777775835583},
		{int32(3), -1529429926180645992},
		{int32(5), 4470791281878691347},
		{int32(10), 7766103514953448109},
		{int32(100), -5582987830488433087},
		{int32(1000), -738538609052670267},
		{int32(-1), 1140205862565771219},
		{int32(-2), 4563317049361071164},
		{int32(42), -944302157085130861},
		{int64(1 << 31), -6026746251351052787},
		{int64(1 << 53), -4751030678854255901},
		{int64(math.MaxInt64), 921523596458303250},
		{int64(math.MinInt64), 4532067210535695462},
		{"", 2049396243249673340},
		{"a", 2780795045148116090},
		{"abc", 8478485326885698097},
		{"MongoDB", 3901366922189685775},
		{"é", -590412542577746911},
		{bson.Null{}, 2338878944348059895},
		{true, 6405873908747105701},
		{false, 6289544573401934092},
		{objectID(t, "507f1f77bcf86cd799439011"), -3048436677993134862},
		{bson.ObjectID{}, -4293118519463489418},
		{bson.DateTime(0), -1178696894582842035},
		{bson.DateTime(1700000000000), 8482782861828707861},
		{bson.Timestamp{T: 1, I: 1}, -6987875950432885062},
		{bson.Binary{Data: []byte{1, 2, 3}}, 3951208388112500718},
		{uuid, 4188074405376390993},
		{bson.Regex{Pattern: "^a", Options: "i"}, -4002937104504074689},
		{bson.D{}, 7980500913326740417},
		{bson.D{{Key: "a", Value: int32(1)}}, -8705610352600103477},
		{bson.D{{Key: "x", Value: "y"}, {Key: "z", Value: bson.D{{Key: "w", Value: nil}}}}, -7535631450889003684},
		{bson.MinKey{}, 7961148599568647290},
		{bson.MaxKey{}, 5504842513779440750},
		{bson.Undefined{}, 40158834000849533},
		{bson.A{"bar", "baz", "qux"}, -2938911267422831539},
	} {
		if got := Hash(raw(t, c.value)); got != c.want {
			t.Errorf("hash of %v (%T) is %d, want %d", c.value, c.value, got, c.want)
		}
	}
}

// rules/03-catalog-and-keys §4.6, the row on numbers: what is hashed is an integer, and which
// one depends on the type.
func TestHashOfNumbersIsHashOfAnInteger(t *testing.T) {
	for _, c := range []struct {
		value any
		want  int64
	}{
		{1.0, 1}, {1.7, 1}, {int64(1), 1}, {-1.7, -1}, {0.5, 0}, {-0.5, 0}, {math.NaN(), 0},
		{math.Copysign(0, -1), 0},
		{math.Inf(1), math.MaxInt64}, {math.Inf(-1), math.MinInt64},
		{float64(1 << 63), math.MinInt64}, {-float64(1 << 63), math.MinInt64}, {1e19, math.MaxInt64}, {-1e300, math.MinInt64},
		{decimal128(t, "1"), 1}, {decimal128(t, "1.6"), 2}, {decimal128(t, "0.5"), 0}, {decimal128(t, "1.5"), 2},
		{decimal128(t, "2.5"), 2}, {decimal128(t, "-1.5"), -2}, {decimal128(t, "2.50000000000000001"), 3},
		{decimal128(t, "NaN"), 0}, {decimal128(t, "Infinity"), math.MaxInt64}, {decimal128(t, "-Infinity"), math.MinInt64},
		{decimal128(t, "9223372036854775808"), math.MaxInt64}, {decimal128(t, "-9223372036854775809"), math.MinInt64},
		{decimal128(t, "1E+6000"), math.MaxInt64}, {decimal128(t, "1E-6000"), 0}, {decimal128(t, "12E+2"), 1200},
	} {
		if got, want := Hash(raw(t, c.value)), Hash(raw(t, c.want)); got != want {
			t.Errorf("hash of %v (%T) is not that of %d", c.value, c.value, c.want)
		}
	}
}
