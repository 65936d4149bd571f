package mock_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A unique index is one on each shard: every command that would give the
// collection a key which it does not begin with is refused.
func TestUniqueIndexesBindTheShardKey(t *testing.T) {
	uniqueAB := d("key", d("a", 1, "b", 1), "name", "ab", "unique", true)
	prepared := d("key", d("a", 1, "b", 1), "name", "ab", "prepareUnique", true)
	abc := d("key", d("a", 1, "b", 1, "c", 1), "name", "abc")
	acb := d("key", d("a", 1, "c", 1), "name", "ac")
	reshard := func(key bson.D) bson.D { return d("reshardCollection", ns, "key", key, "numInitialChunks", 2) }
	refine := func(key bson.D, more ...any) bson.D {
		return append(d("refineCollectionShardKey", ns, "key", key), d(more...)...)
	}
	for _, tt := range []struct {
		name    string
		indexes bson.A
		command bson.D
		code    int64
	}{
		{"another key", bson.A{uniqueAB}, reshard(d("b", 1)), 72},
		{"another key, hashed", bson.A{uniqueAB}, reshard(d("b", "hashed")), 72},
		{"_id", bson.A{uniqueAB}, reshard(d("_id", 1)), 72},
		{"a longer key", bson.A{uniqueAB}, reshard(d("a", 1, "b", 1, "_id", 1)), 72},
		{"an index that will be unique", bson.A{prepared}, reshard(d("b", 1)), 72},
		{"the whole index", bson.A{uniqueAB}, reshard(d("a", 1, "b", 1)), 0},
		{"its first field, hashed", bson.A{uniqueAB}, reshard(d("a", "hashed")), 0},
		{"unique with _id", bson.A{d("key", d("_id", 1, "b", 1), "name", "ib", "unique", true)}, reshard(d("b", 1)), 0},
		{"none", nil, reshard(d("b", 1)), 0},
		{"moved as it is", bson.A{uniqueAB}, d("unshardCollection", ns, "toShard", "shard1"), 0},
		{"refined along", bson.A{uniqueAB, abc}, refine(d("a", 1, "b", 1)), 0},
		{"refined beyond", bson.A{uniqueAB, abc}, refine(d("a", 1, "b", 1, "c", 1)), 72},
		{"refined otherwise", bson.A{uniqueAB, acb}, refine(d("a", 1, "c", 1)), 72},
		{"refined at one's own risk", bson.A{uniqueAB, acb}, refine(d("a", 1, "c", 1), "enforceUniquenessCheck", false), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := orders(t)
			if tt.indexes != nil {
				m.ok(t, "db", d("createIndexes", "c", "indexes", tt.indexes))
			}
			before := m.entry(t, ns)
			if tt.code == 0 {
				m.ok(t, "admin", tt.command)
			} else {
				m.refused(t, "admin", tt.command, tt.code)
				if after := m.entry(t, ns); !after.Lookup("key").Equal(before.Lookup("key")) {
					t.Errorf("refused, and the key is %s", after.Lookup("key"))
				}
			}
			m.holdsAll(t, 122)
		})
	}
}

// What the server says: the index and the key stand in it.
func TestTheRefusalOfAUniqueIndexNamesIt(t *testing.T) {
	m := orders(t)
	m.ok(t, "db", d("createIndexes", "c", "indexes",
		bson.A{d("key", d("a", 1, "b", 1), "name", "ab", "unique", true)}))
	reply, _ := m.run("admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 2))
	want := "can't shard collection 'db.c' with unique index on { a: 1, b: 1 } and proposed shard key { b: 1 }. " +
		"Uniqueness can't be maintained unless shard key is a prefix"
	if text := reply.Lookup("errmsg").StringValue(); !strings.Contains(text, want) {
		t.Errorf("it says %q, want %q", text, want)
	}
}

// A unique index may come while a resharding is under way: it ends that.
func TestAUniqueIndexMadeWhileResharding(t *testing.T) {
	m := orders(t)
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 2, "maxTimeMS", 110), 50)
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("a", 1, "x", 1), "name", "ax", "unique", true)}))
	m.sleep(time.Minute)
	if key := m.entry(t, ns).Lookup("key"); !key.Document().Lookup("b").IsZero() {
		t.Errorf("the key is %s, the indexes are %s", key, m.indexes(t))
	}
	m.holdsAll(t, 122)
}

// shardCollection with unique: true makes the index of exactly the key, also
// where a longer one serves; where documents are, it can't be made.
func TestUniqueShardKeysHaveAnIndexOfTheirOwn(t *testing.T) {
	longer := d("key", d("a", 1, "b", 1), "name", "ab", "unique", true)
	exact := d("key", d("a", 1), "name", "mine", "unique", true)
	for _, tt := range []struct {
		name    string
		indexes bson.A
		docs    bson.A
		more    bson.D
		code    int64
		has     string
	}{
		{"beside a longer one", bson.A{longer}, nil, nil, 0, "a_1"},
		{"beside a longer one, with documents", bson.A{longer}, bson.A{d("a", 1)}, nil, 72, ""},
		{"beside a longer one, and none may be made", bson.A{longer}, nil, d("implicitlyCreateIndex", false), 6373200, ""},
		{"it is there", bson.A{longer, exact}, bson.A{d("a", 1)}, nil, 0, "mine"},
		{"it is there and not unique", bson.A{longer, d("key", d("a", 1), "name", "mine")}, nil, nil, 72, ""},
		{"it is there, not unique, and that is fine", bson.A{d("key", d("a", 1), "name", "mine")}, bson.A{d("a", 1)},
			d("enforceUniquenessCheck", false), 0, ""},
		{"without any", nil, nil, nil, 0, "a_1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := orders(t)
			if tt.indexes != nil {
				m.ok(t, "db", d("createIndexes", "new", "indexes", tt.indexes))
			}
			if tt.docs != nil {
				m.ok(t, "db", d("insert", "new", "documents", tt.docs))
			}
			command := append(d("shardCollection", "db.new", "key", d("a", 1), "unique", true), tt.more...)
			if tt.code != 0 {
				m.refused(t, "admin", command, tt.code)
				return
			}
			m.ok(t, "admin", command)
			list, _ := m.ok(t, "db", d("listIndexes", "new")).Lookup("cursor", "firstBatch").Array().Values()
			found := tt.has == ""
			for _, index := range list {
				unique, _ := index.Document().Lookup("unique").BooleanOK()
				found = found || unique && index.Document().Lookup("name").StringValue() == tt.has
			}
			if !found {
				t.Errorf("the indexes are %v, want a unique one of the name %s", list, tt.has)
			}
		})
	}
}
