package mock

import (
	"bytes"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Bounds are read as the driver reads extended JSON.
func TestDocumentOfTopology(t *testing.T) {
	for _, text := range []string{
		`{"k": 1}`, `{"k":-2147483648}`, `{"k":2147483648}`, ` { "k" : 9223372036854775807 } `, `{"k": 9223372036854775808}`,
		`{"k": 0}`, `{"k": -0}`, `{"k": 1.5}`,
		`{"k": "a"}`, `{"k": 1, "l": 2}`, `{"$numberLong": "5"}`, `{"k": {"$numberLong": "5"}}`, `{"k": {"$minKey": 1}}`,
		`{"é": 1}`, `{"a\u0041": 1}`, `{"a.b": 7}`,
		`{"k": 1e3}`, `{"k": true}`, `{"": 1}`, `{}`, `{"$k": 1}`, `{"k": [1]}`, `{"a": {"b": 1}}`, `{"a:b": 4}`, `{"k": +5}`,
		`{"k": 1_0}`, `{"k": 12 }`,
	} {
		var parsed bson.D
		wantErr := bson.UnmarshalExtJSON([]byte(text), false, &parsed)
		got, err := parseDocument([]byte(text))
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, the driver says %v", text, err, wantErr)
		}
		if wantErr != nil {
			continue
		}
		if want, _ := bson.Marshal(parsed); !bytes.Equal(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, bson.Raw(want))
		}
	}
}
