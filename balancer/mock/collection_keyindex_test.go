package mock_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// The indexes of db.c, sharded by some key, may not all go that serve the key,
// by no command that takes one away.
func TestTheLastIndexOfAShardKeyStays(t *testing.T) {
	index := func(name string, key bson.D, options ...any) bson.D {
		return append(d("key", key, "name", name), d(options...)...)
	}
	a, ab := index("a", d("a", 1)), index("ab", d("a", 1, "b", 1))
	arrays := index("a_tags", d("a", 1, "tags", 1))
	drop := func(which any) bson.D { return d("dropIndexes", "c", "index", which) }
	hide := func(name string) bson.D { return d("collMod", "c", "index", d("name", name, "hidden", true)) }
	for _, tt := range []struct {
		name    string
		key     bson.D
		indexes bson.A
		command bson.D
		code    int64
	}{
		{"the only one", d("a", 1), bson.A{a}, drop("a"), 370},
		{"by its key", d("a", 1), bson.A{a}, drop(d("a", 1)), 370},
		{"in a list", d("a", 1), bson.A{a}, drop(bson.A{"a"}), 370},
		{"one of two", d("a", 1), bson.A{a, ab}, drop("a"), 0},
		{"both of two", d("a", 1), bson.A{a, ab}, drop(bson.A{"ab", "a"}), 370},
		{"the one without arrays", d("a", 1), bson.A{a, arrays}, drop("a"), 370},
		{"the one with arrays", d("a", 1), bson.A{a, arrays}, drop("a_tags"), 0},
		{"the only one, with arrays", d("a", 1), bson.A{arrays}, drop("a_tags"), 370},
		{"beside a hidden one", d("a", 1), bson.A{a, index("ab", d("a", 1, "b", 1), "hidden", true)}, drop("a"), 370},
		{"the hidden one", d("a", 1), bson.A{a, index("ab", d("a", 1, "b", 1), "hidden", true)}, drop("ab"), 0},
		{"beside a sparse one", d("a", 1), bson.A{a, index("ab", d("a", 1, "b", 1), "sparse", true)}, drop("a"), 370},
		{"beside a partial one", d("a", 1), bson.A{a,
			index("ab", d("a", 1, "b", 1), "partialFilterExpression", d("b", 1))}, drop("a"), 370},
		{"beside one in another order", d("a", 1), bson.A{a, index("down", d("a", -1, "b", 1))}, drop("a"), 370},
		{"one in another order", d("a", 1), bson.A{a, index("down", d("a", -1, "b", 1))}, drop("down"), 0},
		{"the index of a hashed key", d("a", "hashed"), bson.A{index("h", d("a", "hashed"))}, drop("h"), 0},
		{"all indexes of a hashed key", d("a", "hashed"), bson.A{index("h", d("a", "hashed"))}, drop("*"), 0},
		{"another one", d("_id", 1), bson.A{index("more", d("_id", 1, "a", 1))}, drop("more"), 0},

		{"hidden, the only one", d("a", 1), bson.A{a}, hide("a"), 72},
		{"hidden by its key", d("a", 1), bson.A{a},
			d("collMod", "c", "index", d("keyPattern", d("a", 1), "hidden", true)), 72},
		{"hidden, one of two", d("a", 1), bson.A{a, ab}, hide("a"), 0},
		{"hidden, the one without arrays", d("a", 1), bson.A{a, arrays}, hide("a"), 72},
		{"hidden beside a hidden one", d("a", 1), bson.A{a, index("ab", d("a", 1, "b", 1), "hidden", true)}, hide("a"), 72},
		{"hidden again", d("a", 1), bson.A{a, index("ab", d("a", 1, "b", 1), "hidden", true)}, hide("ab"), 0},
		{"hidden, of a hashed key", d("a", "hashed"), bson.A{index("h", d("a", "hashed"))}, hide("h"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newCluster(t, threeShards, mock.Config{})
			m.ok(t, "db", d("createIndexes", "c", "indexes", tt.indexes))
			m.ok(t, "admin", d("shardCollection", ns, "key", tt.key))
			m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", 1, "a", 1, "tags", bson.A{1, 2})}))
			before := m.indexes(t)
			if tt.code != 0 {
				m.refused(t, "db", tt.command, tt.code)
				if after := m.indexes(t); !after.Equal(before) {
					t.Errorf("the refusal left %s of %s", after, before)
				}
				return
			}
			m.ok(t, "db", tt.command)
		})
	}
}

func (m *model) indexes(t *testing.T) bson.RawValue {
	t.Helper()
	return m.ok(t, "db", d("listIndexes", "c")).Lookup("cursor", "firstBatch")
}

// dropIndexes "*" leaves what serves the shard key, and all else goes.
func TestDropAllIndexes(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{
		d("key", d("a", 1), "name", "a"), d("key", d("a", 1, "b", 1), "name", "ab"),
		d("key", d("a", -1), "name", "down"), d("key", d("a", 1, "c", 1), "name", "sparse", "sparse", true),
		d("key", d("b", 1), "name", "b"),
	}))
	m.ok(t, "admin", d("shardCollection", ns, "key", d("a", 1)))
	m.ok(t, "db", d("dropIndexes", "c", "index", "*"))
	list, err := m.indexes(t).Array().Values()
	if err != nil || len(list) != 3 {
		t.Errorf("%s is left, want _id, a and ab", m.indexes(t))
	}
}

// An index that is hidden serves nothing: no shard key, no range.
func TestAHiddenIndexServesNoShardKey(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("a", 1), "name", "a", "hidden", true)}))
	m.ok(t, "db", d("insert", "c", "documents", bson.A{d("a", 1)}))
	m.refused(t, "admin", d("shardCollection", ns, "key", d("a", 1)), 72)
	m.refused(t, "db", d("dataSize", ns, "keyPattern", d("a", 1), "min", d("a", 0), "max", d("a", 9)), 96)
}

// The catalog's own indexes are not a user's.
func TestIndexesOfTheCatalogStay(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	for _, command := range []bson.D{
		d("dropIndexes", "tags", "index", "*"), d("dropIndexes", "shards", "index", "host_1"),
		d("createIndexes", "shards", "indexes", bson.A{d("key", d("x", 1), "name", "x")}),
	} {
		m.refused(t, "config", command, 20)
	}
}

// Without the index of its hashed key a collection can't be balanced, and the
// balancer lets it be; with an index again it can.
func TestAHashedKeyWithoutItsIndex(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	m.ok(t, "admin", d("shardCollection", ns, "key", d("a", "hashed")))
	m.ok(t, "config", d("update", "settings", "updates", bson.A{
		d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)), "upsert", true)}))
	m.ok(t, "db", d("dropIndexes", "c", "index", "*"))
	chunk := m.ok(t, "config", d("find", "chunks", "limit", 1)).Lookup("cursor", "firstBatch", "0").Document()
	to := "shard0"
	if chunk.Lookup("shard").StringValue() == to {
		to = "shard1"
	}
	move := d("moveRange", ns, "min", chunk.Lookup("min"), "toShard", to)
	m.refused(t, "admin", move, 27)
	if reply := m.ok(t, "admin", d("checkMetadataConsistency", 1)); len(reply.Lookup("cursor", "firstBatch").Array()) > 5 {
		t.Errorf("inconsistent: %s", reply)
	}
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("a", "hashed"), "name", "again")}))
	m.ok(t, "admin", move)
}
