package keyorder

import (
	"bytes"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func BenchmarkAppend(b *testing.B) {
	for name, v := range map[string]any{
		"int32": int32(42), "int64": int64(5902408780260971510), "double": 0.1, "objectID": bson.ObjectID{1},
		"string": "0d3f8a5e-7425-40de-944b-e07fc1f90ae7", "decimal": decimal128(b, "12.34"),
	} {
		b.Run(name, func(b *testing.B) {
			r := raw(b, v)
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = Append(dst[:0], r)
			}
		})
	}
}

// What the encoding saves: a pair of encoded keys against a pair of values.
func BenchmarkCompare(b *testing.B) {
	v, w := raw(b, bson.ObjectID{1, 2}), raw(b, bson.ObjectID{1, 3})
	b.Run("values", func(b *testing.B) {
		for b.Loop() {
			Compare(v, w)
		}
	})
	b.Run("encodings", func(b *testing.B) {
		x, y := Append(nil, v), Append(nil, w)
		for b.Loop() {
			bytes.Compare(x, y)
		}
	})
}

func BenchmarkHash(b *testing.B) {
	v := raw(b, int64(42))
	b.ReportAllocs()
	for b.Loop() {
		Hash(v)
	}
}
