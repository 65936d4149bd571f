package humanize_test

import (
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
)

func TestLiteral(t *testing.T) {
	for _, tc := range []struct {
		value any
		want  string
	}{
		{bson.D{{Key: "a.b", Value: int32(-1)}, {Key: "c", Value: bson.D{}}}, `{"a.b": -1, "c": {}}`},
		{"q\"\n", `"q\"\n"`},
		{true, "true"},
		{nil, "null"},
		{bson.MinKey{}, "MinKey()"},
		{bson.MaxKey{}, "MaxKey()"},
		{int64(1) << 60, `Long("1152921504606846976")`},
		{2.0, "Double(2)"},
		{2.5, "2.5"},
		{math.Inf(1), "Infinity"},
		{math.Inf(-1), "-Infinity"},
		{math.NaN(), "NaN"},
		{bson.ObjectID{1}, `ObjectId("010000000000000000000000")`},
		{bson.NewDateTimeFromTime(time.UnixMilli(1_500)), `ISODate("1970-01-01T00:00:01.5Z")`},
		{bson.Binary{Subtype: 4, Data: []byte{1, 2}}, `BinData(4, "AQI=")`},
		{bson.Timestamp{T: 3, I: 4}, "Timestamp(3, 4)"},
		{bson.A{int32(1), "x"}, `[1, "x"]`},
		{bson.NewDecimal128(0x3040000000000000, 7), `Decimal128("7")`},
		{bson.Regex{Pattern: "a"}, `EJSON.parse("{\"$regularExpression\":{\"pattern\":\"a\",\"options\":\"\"}}")`},
	} {
		doc, err := bson.Marshal(bson.D{{Key: "v", Value: tc.value}})
		if err != nil {
			t.Fatal(err)
		}
		if got := humanize.ValueLiteral(bson.Raw(doc).Lookup("v")); got != tc.want {
			t.Errorf("%v is written %s, want %s", tc.value, got, tc.want)
		}
	}
}
