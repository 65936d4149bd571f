package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

var smallValues = rapid.OneOf(
	rapid.Map(rapid.IntRange(-3, 3), func(n int) value { return int32Value(int32(n)) }),
	rapid.Map(rapid.IntRange(-2, 2), func(n int) value { return doubleValue(float64(n) / 2) }),
	rapid.Map(rapid.IntRange(-3, 3), func(n int) value { return int64Value(int64(n)) }),
	rapid.SampledFrom([]value{
		{}, nullValue(), stringValue(""), stringValue("a"), boolValue(true),
		dateValue(0), objectValue(emptyDocument), {Type: bson.TypeMinKey}, {Type: bson.TypeMaxKey},
	}),
)

var smallDocuments = rapid.Custom(func(t *rapid.T) bson.Raw {
	draw := func(name string) value {
		if rapid.IntRange(0, 5).Draw(t, "array") == 0 {
			return arrayOf(rapid.SliceOfN(smallValues, 0, 3).Draw(t, name))
		}
		return smallValues.Draw(t, name)
	}
	return documentOf(field{"a", draw("a")}, field{"b", objectValue(documentOf(field{"c", draw("b.c")}))})
})
