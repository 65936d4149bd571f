package workload

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// TestKeysAfterABound: later keys are above the lower bound of the last chunk and above the earlier keys.
func TestKeysAfterABound(t *testing.T) {
	decimal, err := bson.ParseDecimal128("12.5")
	if err != nil {
		t.Fatal(err)
	}
	for _, bound := range []any{
		bson.MinKey{}, bson.Null{}, int32(5), 2.5, decimal, "x", bson.D{{Key: "a", Value: 1}}, bson.ObjectID{1, 2, 11: 0xff},
		bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}, true, bson.DateTime(7), bson.Timestamp{T: 9},
	} {
		before := rawValue(t, bound)
		for _, n := range []int64{0, 1, 9, 10, 300} {
			v := rawValue(t, valueAfter(rawValue(t, bound), n))
			if keyorder.Compare(before, v) >= 0 {
				t.Errorf("document %d after the bound %v has %v, which is not above %v", n, bound, v, before)
			}
			before = v
		}
	}
}

func rawValue(t *testing.T, v any) bson.RawValue {
	t.Helper()
	kind, data, err := bson.MarshalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return bson.RawValue{Type: kind, Value: data}
}
