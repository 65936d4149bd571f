package holdings

import (
	"bytes"
	"cmp"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

func raw(t testing.TB, d bson.D) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func ordered(index bson.Raw, fields ...string) *MergedReader {
	return &MergedReader{Order: index, Fields: fields, fields: orderFields(index)}
}

// Streams of several shards are merged by places: these compare as the server's index orders documents,
// descending fields too, and a missing field as null, which is below numbers.
func TestPlacesAreInTheOrderOfTheIndex(t *testing.T) {
	m := ordered(raw(t, bson.D{{Key: "a", Value: int32(1)}, {Key: "b.c", Value: -1.0}}))
	rapid.Check(t, func(rt *rapid.T) {
		type values struct{ a, b int }
		draw := func(name string) (v values, doc bson.Raw) {
			v = values{rapid.IntRange(-1, 3).Draw(rt, name+" a"), rapid.IntRange(-1, 3).Draw(rt, name+" b")}
			d := bson.D{{Key: "_id", Value: name}}
			if v.a >= 0 {
				d = append(d, bson.E{Key: "a", Value: []any{int32(v.a), int64(v.a), float64(v.a)}[rapid.IntRange(0, 2).Draw(rt, name)]})
			}
			if v.b >= 0 {
				d = append(d, bson.E{Key: "b", Value: bson.D{{Key: "c", Value: v.b}}})
			}
			return v, raw(t, d)
		}
		x, one := draw("x")
		y, two := draw("y")
		want := cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(y.b, x.b))
		first, err := m.appendSortKey(nil, one)
		second, failed := m.appendSortKey(nil, two)
		if err != nil || failed != nil {
			rt.Fatal(err, failed)
		}
		if got := bytes.Compare(first, second); got != want {
			rt.Errorf("%s and %s: %d, want %d", one, two, got, want)
		}
	})
}

// By a collation documents lie where the server says that they do, whatever their values are; one of which it says
// nothing can't be placed.
func TestPlacesByCollationAreTheServers(t *testing.T) {
	m := ordered(raw(t, bson.D{{Key: "a", Value: int32(1)}, {Key: "b", Value: int32(-1)}}))
	m.Collation = raw(t, bson.D{{Key: "locale", Value: "sv"}})
	doc := func(a string, key ...any) bson.Raw {
		return raw(t, bson.D{{Key: "a", Value: a}, {Key: sortKeyField, Value: bson.A(key)}})
	}
	place := func(doc bson.Raw) []byte {
		t.Helper()
		place, err := m.appendSortKey(nil, doc)
		if err != nil {
			t.Fatal(err)
		}
		return place
	}
	tests := []struct {
		name     string
		one, two bson.Raw
		want     int
	}{
		{"equal by it", doc("Ann", "\x29\x3f", 1), doc("ann", "\x29\x3f", 1), 0},
		{"otherwise than by bytes", doc("z", "\x5b", 1), doc("\u00e4", "\x5f", 1), -1},
		{"a key that is no text", doc("x", "\xff\xfe", 1), doc("y", "\x80", 1), 1},
		{"a descending field", doc("x", "\x29", 2), doc("x", "\x29", 1), -1},
	}
	for _, tt := range tests {
		if got := bytes.Compare(place(tt.one), place(tt.two)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	for _, doc := range []bson.Raw{raw(t, bson.D{{Key: "a", Value: "x"}}), doc("x", "\x29")} {
		if _, err := m.appendSortKey(nil, doc); !errors.As(err, new(*OrderError)) {
			t.Errorf("%s is placed: %v", doc, err)
		}
	}
}

// A cursor that is opened again begins at the place reached, in all fields of the index, in their order.
func TestBoundHasAllFields(t *testing.T) {
	m := ordered(raw(t, bson.D{{Key: "b.c", Value: -1}, {Key: "a", Value: 1}}), "_id", "a", "b.c", "_id.x")
	got := raw(t, m.minBound(raw(t, bson.D{{Key: "a", Value: "x"}, {Key: "_id", Value: 1}})))
	if want := raw(t, bson.D{{Key: "b.c", Value: nil}, {Key: "a", Value: "x"}}); !bytes.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	if got := raw(t, m.projection()); !bytes.Equal(got, raw(t, bson.D{{Key: "_id", Value: int32(1)}, {Key: "a", Value: int32(1)}, {Key: "b.c", Value: int32(1)}})) {
		t.Errorf("it reads %s", got)
	}
}

// What servers keep for themselves is not audited; the buckets of time series are.
func TestAuditedNames(t *testing.T) {
	for name, want := range map[string]bool{
		"orders": true, "system.views": false, "system.profile": false, "system.buckets.ts": true, "systems": true,
		"system.resharding.0123": false,
	} {
		if isAudited(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for name, want := range map[string]bool{"config": true, "admin": true, "local": true, "app": false, "configs": false} {
		if catalog.IsSystemDatabase(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// Range deletions are read with their bounds in the key's order, and those that no bound can be read of
// are passed over, as they protect nothing.
func TestDeletionsOf(t *testing.T) {
	pattern, err := catalog.ParseKeyPattern(raw(t, bson.D{{Key: "x", Value: 1}, {Key: "y", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	uuid := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: bytes.Repeat([]byte{7}, 16)}
	task := func(lower, upper any) bson.Raw {
		return raw(t, bson.D{
			{Key: "collectionUuid", Value: uuid}, {Key: "range", Value: bson.D{{Key: "min", Value: lower}, {Key: "max", Value: upper}}},
			{Key: "timestamp", Value: bson.Timestamp{T: 5, I: 2}},
		})
	}
	key := func(x, y any) bson.D { return bson.D{{Key: "x", Value: x}, {Key: "y", Value: y}} }
	list := ParseDeletions(catalog.Collection{Pattern: pattern}, []bson.Raw{
		task(key(1, 2), key(3, bson.MaxKey{})), task("damaged", key(1, 2)), task(key(1, 2), bson.D{{Key: "z", Value: 1}}),
	})
	if len(list) != 1 || !list[0].UUID.Equal(uuid) || list[0].MigrationBegan != (bson.Timestamp{T: 5, I: 2}) {
		t.Fatalf("%+v", list)
	}
	if inside := list[0].Min.Less(list[0].Max); !inside || list[0].Max.Values()[1].Type != bson.TypeMaxKey {
		t.Errorf("%+v", list[0])
	}
}
