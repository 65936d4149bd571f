package storetest

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// SmallValues generates values of which many are equal or similar.
var SmallValues = rapid.OneOf(
	rapid.Map(rapid.IntRange(-3, 3), func(n int) value.Value { return value.Int32(int32(n)) }),
	rapid.Map(rapid.IntRange(-2, 2), func(n int) value.Value { return value.Double(float64(n) / 2) }),
	rapid.Map(rapid.IntRange(-3, 3), func(n int) value.Value { return value.Int64(int64(n)) }),
	rapid.SampledFrom([]value.Value{
		{}, value.Null(), value.String(""), value.String("a"), value.Bool(true),
		value.Date(0), value.Object(document.Empty), {Type: bson.TypeMinKey}, {Type: bson.TypeMaxKey},
	}),
)

// SmallDocuments generates documents with a few fields that have small or missing values.
var SmallDocuments = rapid.Custom(func(t *rapid.T) bson.Raw {
	draw := func(name string) value.Value {
		if rapid.IntRange(0, 5).Draw(t, "array") == 0 {
			return document.Array(rapid.SliceOfN(SmallValues, 0, 3).Draw(t, name))
		}
		return SmallValues.Draw(t, name)
	}
	return document.New(document.Field{Name: "a", Value: draw("a")},
		document.Field{Name: "b", Value: value.Object(document.New(document.Field{Name: "c", Value: draw("b.c")}))})
})
