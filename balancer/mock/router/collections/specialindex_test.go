package collections_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

func index(name string, key bson.D, more ...any) bson.D {
	return d("createIndexes", "c", "indexes", bson.A{append(d("key", key, "name", name), d(more...)...)})
}

// A program's text, geo and wildcard indexes are kept with what a server adds
// to their definitions (MongoDB's manual, "Text Index Properties",
// "2dsphere Indexes", "Wildcard Indexes").
func TestSpecialIndexesAreKept(t *testing.T) {
	tests := []struct {
		name string
		key  bson.D
		more []any
		want string
	}{
		{"text", d("a", "text", "b", "text"), nil,
			`{"v": 2, "key": {"_fts": "text", "_ftsx": 1}, "name": "i", "weights": {"a": 1, "b": 1}, "default_language": "english", "language_override": "language", "textIndexVersion": 3}`},
		{"weighted text among fields", d("x", 1, "b", "text", "a", "text", "y", -1), []any{"weights", d("b", 5), "default_language", "none"},
			`{"v": 2, "key": {"x": 1, "_fts": "text", "_ftsx": 1, "y": -1}, "name": "i", "weights": {"a": 1, "b": 5}, "default_language": "none", "language_override": "language", "textIndexVersion": 3}`},
		{"all text", d("$**", "text"), nil,
			`{"v": 2, "key": {"_fts": "text", "_ftsx": 1}, "name": "i", "weights": {"$**": 1}, "default_language": "english", "language_override": "language", "textIndexVersion": 3}`},
		{"2dsphere", d("at", "2dsphere"), nil, `{"v": 2, "key": {"at": "2dsphere"}, "name": "i", "2dsphereIndexVersion": 3}`},
		{"2d", d("at", "2d"), []any{"bits", 20}, `{"v": 2, "key": {"at": "2d"}, "name": "i", "bits": 20}`},
		{"wildcard", d("$**", 1), []any{"wildcardProjection", d("a", 1)}, `{"v": 2, "key": {"$**": 1}, "name": "i", "wildcardProjection": {"a": 1}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := routertest.NewThreeShards(t)
			create := index("i", test.key, test.more...)
			x.OK("db", create)
			x.OK("db", create) // the same again is not an error
			var got, want bson.D
			if err := bson.Unmarshal(x.OK("db", d("listIndexes", "c")).Lookup("cursor", "firstBatch", "2").Document(), &got); err != nil {
				t.Fatal(err)
			}
			if err := bson.UnmarshalExtJSON([]byte(test.want), false, &want); err != nil {
				t.Fatal(err)
			}
			if asJSON(t, got) != asJSON(t, want) {
				t.Errorf("listed as\n%s, want\n%s", asJSON(t, got), asJSON(t, want))
			}
			// Documents whose fields are none of theirs are stored and found.
			x.OK("db", d("insert", "c", "documents", bson.A{d("a", 7, "at", "nowhere"), d("a", 8, "at", "nowhere")}))
			if ids := x.IDs("db", d("find", "c", "filter", d("at", "nowhere"))); len(ids) != 2 {
				t.Errorf("found %v", ids)
			}
			if ids := x.IDs("db", d("find", "c", "filter", d("at", "nowhere"), "hint", "i")); len(ids) != 2 {
				t.Errorf("found %v with the index as hint", ids)
			}
		})
	}
}

func asJSON(t *testing.T, doc bson.D) string {
	t.Helper()
	text, err := bson.MarshalExtJSON(doc, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSpecialIndexesAreChecked(t *testing.T) {
	x := routertest.NewThreeShards(t)
	x.CheckRefusals("db", []routertest.Refusal{
		{index("i", d("a", 1), "weights", d("a", 1)), 67},
		{index("i", d("a", 1), "wildcardProjection", d("a", 1)), 67},
		{index("i", d("a", "text"), "unique", true), 67},
		{index("i", d("$**", 1), "unique", true), 67},
		{index("i", d("a", "other")), 67},
	})
	// The Go driver's test of all options.
	x.OK("db", index("i", d("a", "text"), "2dsphereIndexVersion", 1, "bits", 2, "max", 10.0, "min", 1.0, "weights", d()))
}

// A shard key needs an index that sorts all documents.
func TestSpecialIndexIsNoneForAShardKey(t *testing.T) {
	x := routertest.NewThreeShards(t)
	x.OK("db", d("createIndexes", "d", "indexes", bson.A{d("key", d("a", 1, "b", "text"), "name", "i")}))
	x.OK("db", d("insert", "d", "documents", bson.A{d("a", 1)}))
	if code := x.Code("admin", d("shardCollection", "db.d", "key", d("a", 1))); code != 72 {
		t.Errorf("code %d, want 72", code)
	}
}

// An index whose key is numerically the same is the same index.
func TestIndexKeysAreComparedAsNumbers(t *testing.T) {
	x := routertest.NewThreeShards(t)
	x.OK("db", index("b_1", d("b", 1)))
	x.OK("db", index("b_1", d("b", 1.0)))
	x.OK("db", index("b_1", d("b", int64(1))))
	if code := x.Code("db", index("b_1", d("b", -1.0))); code != 86 {
		t.Errorf("another key of that name: code %d, want 86", code)
	}
}
