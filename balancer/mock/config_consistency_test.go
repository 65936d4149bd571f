package mock

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/expr"
)

// Routing tables that can't be in the mock, as documents of config.chunks.
func TestInconsistentRoutingTables(t *testing.T) {
	key, err := bson.Marshal(bson.D{{Key: "a", Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := catalog.ParseKeyPattern(key)
	if err != nil {
		t.Fatal(err)
	}
	chunk := func(min, max any) bson.Raw {
		raw, err := bson.Marshal(bson.D{{Key: "min", Value: bson.D{{Key: "a", Value: min}}},
			{Key: "max", Value: bson.D{{Key: "a", Value: max}}}})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	other, err := bson.Marshal(bson.D{{Key: "min", Value: bson.D{{Key: "b", Value: 1}}},
		{Key: "max", Value: bson.D{{Key: "b", Value: 2}}}})
	if err != nil {
		t.Fatal(err)
	}
	low, high := bson.MinKey{}, bson.MaxKey{}
	for _, tt := range []struct {
		name   string
		chunks []bson.Raw
		want   []string
		fields []string
	}{
		{"whole", []bson.Raw{chunk(low, 0), chunk(0, 10), chunk(10, high)}, nil, nil},
		{"a gap", []bson.Raw{chunk(low, 0), chunk(5, high)}, []string{"RoutingTableRangeGap"},
			[]string{"namespace", "collectionUUID", "chunkA", "chunkB"}},
		{"an overlap", []bson.Raw{chunk(low, 6), chunk(5, high)}, []string{"RoutingTableRangeOverlap"},
			[]string{"namespace", "collectionUUID", "chunkA", "chunkB"}},
		{"no beginning", []bson.Raw{chunk(0, high)}, []string{"RoutingTableMissingMinKey"},
			[]string{"namespace", "collectionUUID", "minKeyObj", "globalMin"}},
		{"no end", []bson.Raw{chunk(low, 0)}, []string{"RoutingTableMissingMaxKey"}, []string{"namespace", "collectionUUID",
			"maxKeyObj", "globalMax"}},
		{"another key", []bson.Raw{chunk(low, 0), other}, []string{"CorruptedChunkShardKey"},
			[]string{"namespace", "collectionUUID", "chunk", "shardKeyPattern"}},
		{"a gap and no end", []bson.Raw{chunk(low, 0), chunk(5, 6)}, []string{"RoutingTableRangeGap",
			"RoutingTableMissingMaxKey"}, []string{"namespace", "collectionUUID", "chunkA", "chunkB"}},
	} {
		i := consistencyCheck{coll: catalog.Collection{Namespace: "db.c", Pattern: pattern}}
		i.checkRouting(slices.Values(tt.chunks))
		checkFound(t, tt.name, i.inconsistencies, tt.want, tt.fields)
	}
}

func checkFound(t *testing.T, name string, found []Inconsistency, want, fields []string) {
	t.Helper()
	var types []string
	for _, one := range found {
		types = append(types, one.Type)
	}
	if !slices.Equal(types, want) {
		t.Errorf("%s: found %v, want %v", name, types, want)
		return
	}
	if len(found) == 0 {
		return
	}
	var names []string
	for _, e := range found[0].Details {
		names = append(names, e.Key)
	}
	if !slices.Equal(names, fields) {
		t.Errorf("%s: details %v, want %v", name, names, fields)
	}
}

// What shards may hold that the catalog does not know, made inside the mock.
func TestInconsistentShards(t *testing.T) {
	for _, tt := range []struct {
		name         string
		spoil        func(*testing.T, *Cluster)
		want, fields []string
		indexes      bool
	}{
		{"nothing", func(*testing.T, *Cluster) {}, nil, nil, true},
		{"a collection is missing", func(_ *testing.T, c *Cluster) { delete(c.shards["b"].colls, "db.c") },
			[]string{"MissingLocalCollection"}, []string{"namespace", "uuid", "shard"}, false},
		{"another UUID", func(_ *testing.T, c *Cluster) { c.shards["b"].colls["db.c"].uuid = c.ids.NewUUID() },
			[]string{"CollectionUUIDMismatch"}, []string{"namespace", "shard", "localUUID", "uuid"}, false},
		{"other options", func(_ *testing.T, c *Cluster) {
			c.shards["b"].colls["db.c"].options = bson.D{{Key: "validationLevel", Value: "off"}}
		}, []string{"CollectionOptionsMismatch"}, []string{"namespace", "options"}, false},
		{"no index on the key", func(t *testing.T, c *Cluster) {
			if err := c.shards["b"].colls["db.c"].docs.DropIndex("k_1"); err != nil {
				t.Fatal(err)
			}
		}, []string{"MissingShardKeyIndex"}, []string{"namespace", "shard", "shardKey"}, false},
		{"an index on one shard", func(t *testing.T, c *Cluster) {
			if err := c.shards["b"].colls["db.c"].docs.CreateIndex(configIndex("x_1", false, "x")); err != nil {
				t.Fatal(err)
			}
		}, []string{"InconsistentIndex"}, []string{"namespace", "info"}, true},
		{"an index on one shard, not asked for", func(t *testing.T, c *Cluster) {
			if err := c.shards["b"].colls["db.c"].docs.CreateIndex(configIndex("x_1", false, "x")); err != nil {
				t.Fatal(err)
			}
		}, nil, nil, false},
		{"no routing table", func(_ *testing.T, c *Cluster) { delete(c.config.tables, "db.c") },
			[]string{"MissingRoutingTable"}, []string{"namespace", "collectionUUID"}, false},
		{"an unsharded collection on two shards", func(t *testing.T, c *Cluster) {
			if _, err := c.config.modify(configCollections, "db.c",
				func(doc *bson.D) { setDocField(doc, "unsplittable", true) }); err != nil {
				t.Fatal(err)
			}
		}, []string{"TrackedUnshardedCollectionHasMultipleChunks",
			"TrackedUnshardedCollectionHasInvalidKey"}, []string{"namespace", "uuid", "numChunks"}, false},
		{"a collection elsewhere", func(_ *testing.T, c *Cluster) {
			c.shards["b"].colls["db.u"] = newLocal(expr.Language{}, c.ids.NewUUID(), nil,
				"db.u")
		},
			[]string{"MisplacedCollection"}, []string{"namespace", "shard", "localUUID"}, false},
	} {
		topology, err := ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}], "databases": [{"name": "db", "primary": "a"}],
		  "collections": [{"ns": "db.c", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "b"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(Config{Topology: topology})
		if err != nil {
			t.Fatal(err)
		}
		tt.spoil(t, c)
		found, err := c.Inconsistencies("db", "", tt.indexes)
		if err != nil {
			t.Fatal(err)
		}
		checkFound(t, tt.name, found, tt.want, tt.fields)
		c.Close()
	}
}
