package rawdoc

import (
	"bytes"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// The driver's reader is the measure, for whole documents and for any bytes.
func FuzzNext(f *testing.F) {
	f.Add([]byte(MustMarshal(bson.D{
		{Key: "double", Value: 1.5}, {Key: "text", Value: "ü"}, {Key: "doc", Value: bson.D{{Key: "a", Value: int32(1)}}},
		{Key: "list", Value: bson.A{true, nil}}, {Key: "bytes", Value: bson.Binary{Subtype: 4, Data: []byte{1, 2}}},
		{Key: "undefined", Value: bson.Undefined{}}, {Key: "id", Value: bson.ObjectID{1}},
		{Key: "date", Value: bson.DateTime(9)},
		{Key: "regex", Value: bson.Regex{Pattern: "a.b", Options: "i"}}, {Key: "code", Value: bson.JavaScript("f()")},
		{Key: "pointer", Value: bson.DBPointer{DB: "a.b"}}, {Key: "symbol", Value: bson.Symbol("s")},
		{Key: "scoped", Value: bson.CodeWithScope{Code: "f()", Scope: bson.D{}}},
		{Key: "time", Value: bson.Timestamp{T: 1, I: 2}},
		{Key: "long", Value: int64(1) << 40}, {Key: "decimal", Value: bson.NewDecimal128(1, 2)},
		{Key: "min", Value: bson.MinKey{}}, {Key: "max", Value: bson.MaxKey{}}, {Key: "", Value: "without a name"},
	})))
	f.Add([]byte{12, 0, 0, 0, 2, 'a', 0, 0xff, 0xff, 0xff, 0x7f, 0})
	f.Add([]byte{5, 0, 0, 0, 0})
	f.Add([]byte{9, 0, 0, 0, 11, 'a', 0, 'x', 0})
	f.Fuzz(func(t *testing.T, doc []byte) {
		body, ok := Elements(doc)
		n, _, wantOK := bsoncore.ReadLength(doc)
		if wantOK = wantOK && n >= 5 && int(n) <= len(doc); ok != wantOK {
			t.Fatalf("Body: %v, want %v", ok, wantOK)
		}
		if !ok {
			return
		}
		for left := doc[4 : n-1]; len(left) > 0; {
			kind, key, value, rest, ok := NextElement(body)
			wantKey, after, wantOK := bsoncore.ReadKeyBytes(left[1:])
			var want bsoncore.Value
			if wantOK {
				want, after, wantOK = bsoncore.ReadValue(after, bsoncore.Type(left[0]))
			}
			if ok != wantOK {
				t.Fatalf("Next(% x): %v, want %v", body, ok, wantOK)
			}
			if !ok {
				return
			}
			if byte(kind) != left[0] || !bytes.Equal(key, wantKey) || !bytes.Equal(value, want.Data) ||
				!bytes.Equal(rest, after) {
				t.Fatalf("Next(% x) is %v %q % x", body, kind, key, value)
			}
			left, body = after, rest
		}
		if len(body) != 0 {
			t.Fatalf("left over: % x", body)
		}
	})
}

func TestLists(t *testing.T) {
	docs := []bson.Raw{MustMarshal(bson.D{{Key: "a", Value: int32(1)}}), Empty, MustMarshal(bson.D{{Key: "b", Value: "x"}})}
	for n := range len(docs) + 1 {
		want := bson.A{}
		for _, d := range docs[:n] {
			want = append(want, d)
		}
		_, list, err := bson.MarshalValue(want)
		if err != nil {
			t.Fatal(err)
		}
		got := DocumentArray(n, func(i int) bson.Raw { return docs[i] })
		if got.Type != bson.TypeArray || !bytes.Equal(got.Value, list) {
			t.Errorf("%d documents are % x, want % x", n, got.Value, list)
		}
	}
	id := bson.ObjectID{1, 2, 3}
	want := MustMarshal(bson.D{{Key: "_id", Value: id}, {Key: "a", Value: int32(1)}})
	if got := WithID(docs[0], id); !bytes.Equal(got, want) {
		t.Errorf("with an id % x, want % x", got, want)
	}
	late := MustMarshal(bson.D{{Key: "a", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "_id", Value: id}})
	for _, doc := range []bson.Raw{want, late} {
		if got, ok := ID(doc); !ok || !got.Equal(doc.Lookup("_id")) {
			t.Errorf("the id of %v is %v", doc, got)
		}
	}
	for _, doc := range []bson.Raw{nil, Empty, docs[0]} {
		if got, ok := ID(doc); ok {
			t.Errorf("the id of %v is %v", doc, got)
		}
	}
}
