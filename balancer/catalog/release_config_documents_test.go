package catalog

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Names as they stand in SERVER-42106, SERVER-47745 and the manual of 4.2.
func TestChunkNames(t *testing.T) {
	uuid := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: []byte{
		0xfa, 0x43, 0x1a, 0x05, 0x70, 0xec, 0x41, 0xf3, 0x84, 0xf7, 0xb8, 0x2f, 0xc6, 0x15, 0x44, 0xd5}}
	for _, tt := range []struct {
		release Release
		ns      string
		lower   bson.D
		want    string
	}{
		{Release40, "test.foo", bson.D{e("a", bson.MinKey{})}, "test.foo-a_MinKey"},
		{Release42, "mydb.foo", bson.D{e("a", "cat")}, `mydb.foo-a_"cat"`},
		{Release34, "foo.bar-34", bson.D{e("x", uuid)}, "foo.bar-34-x_BinData(4, FA431A0570EC41F384F7B82FC61544D5)"},
		{Release36, "foo.bar-34", bson.D{e("x", uuid)}, `foo.bar-34-x_UUID("fa431a05-70ec-41f3-84f7-b82fc61544d5")`},
		// Those below follow from what the shell of that time showed.
		{Release42, "a.b", bson.D{e("x", int64(-4611686018427387902))}, "a.b-x_-4611686018427387902"},
		{Release42, "a.b", bson.D{e("x", 5.0), e("y", 1.5)}, "a.b-x_5.0y_1.5"},
		{Release42, "a.b", bson.D{e("x", int32(5)), e("y", true), e("z", nil)}, "a.b-x_5y_truez_null"},
		{Release42, "config.system.sessions", bson.D{e("_id", bson.D{e("id", uuid), e("n", 1)})},
			`config.system.sessions-_id_{ id: UUID("fa431a05-70ec-41f3-84f7-b82fc61544d5"), n: 1 }`},
		{Release42, "a.b", bson.D{e("x", bson.ObjectID{1})}, "a.b-x_ObjectId('010000000000000000000000')"},
		{Release42, "a.b", bson.D{e("x", bson.DateTime(7))}, "a.b-x_new Date(7)"},
	} {
		if got := tt.release.TextChunkID(tt.ns, doc(t, tt.lower)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.release, got, tt.want)
		}
	}
}
