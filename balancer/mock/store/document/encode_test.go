package document

import (
	"bytes"
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Encode gives the bytes that the driver gives.
func TestEncodeIsMarshal(t *testing.T) {
	sub, err := bson.Marshal(bson.D{{Key: "a", Value: int32(1)}})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"text": "é\x00x", "empty text": "", "int32": int32(-5), "int64": int64(1) << 40, "int": 7, "large int": 1 << 40,
		"double": -0.5, "not a number": math.NaN(), "date": bson.DateTime(-1), "time": time.Unix(5, 0), "true": true,
		"false":     false,
		"timestamp": bson.Timestamp{T: 7, I: 9}, "id": bson.ObjectID{1, 2, 3}, "null": nil, "nil document": bson.D(nil),
		"nil array":      bson.A(nil),
		"empty document": bson.D{}, "document": bson.D{{Key: "x", Value: bson.D{{Key: "y", Value: "z"}}}},
		"raw":   bson.Raw(sub),
		"array": bson.A{int32(1), "two", bson.D{{Key: "three", Value: nil}}}, "documents": []bson.D{{{Key: "a", Value: 1}}},
		"texts": []string{"a", "b"},
		"raws":  []bson.Raw{sub, sub}, "no raws": []bson.Raw(nil), "nested arrays": bson.A{bson.A{}, nil, bson.A{1, nil}},
		"uuid": bson.Binary{Subtype: 4, Data: make([]byte, 16)}, "old binary": bson.Binary{Subtype: 2, Data: []byte{1}},
		"raw value": bson.Raw(sub).Lookup("a"), "min": bson.MinKey{}, "decimal": bson.NewDecimal128(1, 2),
		"map":     map[string]int{"a": 1},
		"pattern": bson.Regex{Pattern: "a", Options: "i"}, "pointer": new(int32), "nil pointer": (*int32)(nil),
	}
	for name, v := range values {
		t.Run(name, func(t *testing.T) {
			doc := bson.D{{Key: "first", Value: int32(0)}, {Key: name, Value: v}, {Key: "", Value: "last"}}
			want, wantErr := bson.Marshal(doc)
			got, err := Encode(doc)
			if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
				t.Fatalf("got % x, %v\nwant % x, %v", []byte(got), err, want, wantErr)
			}
		})
	}
}

// What the driver refuses is refused.
func TestEncodeRefuses(t *testing.T) {
	for name, doc := range map[string]bson.D{
		"a name with a NUL":        {{Key: "a\x00b", Value: 1}},
		"a name with a NUL inside": {{Key: "x", Value: bson.D{{Key: "\x00", Value: 1}}}},
		"no BSON":                  {{Key: "x", Value: make(chan int)}},
		"a damaged one in a list":  {{Key: "x", Value: []bson.Raw{{9, 0, 0, 0, 0}}}},
		"a damaged document":       {{Key: "x", Value: bson.Raw{9, 0, 0, 0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := bson.Marshal(doc); err == nil {
				t.Fatal("the driver takes it")
			}
			if got, err := Encode(doc); err == nil {
				t.Fatalf("encoded as % x", []byte(got))
			}
		})
	}
}
