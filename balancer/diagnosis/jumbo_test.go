package diagnosis

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// A jumbo chunk of several keys is to be split; one of a single key can't be, before the shard
// key has more fields: another one if it can't be refined.
func TestWhatSplitsJumboChunks(t *testing.T) {
	key := func(n int) catalog.Key {
		k, err := keyPattern(t).ParseKey(raw(t, bson.D{{Key: "k", Value: int32(n)}}))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	measured := func(first, last int) func(*catalog.CollectionState) {
		return func(c *catalog.CollectionState) {
			c.ChunkSizes = []catalog.ChunkSize{{Min: key(0), Bytes: 300 << 20, Documents: 9, First: key(first), Last: key(last)}}
		}
	}
	hashed := func(c *catalog.CollectionState) {
		measured(0, 0)(c)
		p, err := catalog.ParseKeyPattern(raw(t, bson.D{{Key: "k", Value: "hashed"}}))
		if err != nil {
			t.Fatal(err)
		}
		c.Pattern = p
	}
	for name, tt := range map[string]struct {
		alter func(*catalog.CollectionState)
		want  []string
	}{
		"not measured": {func(*catalog.CollectionState) {}, []string{`sh.chunks("x.y", { jumbo: true })`}},
		"many keys":    {measured(0, 7), []string{`db.adminCommand({ split: "x.y", bounds: [{"k": 0}, {"k": 1}] })`}},
		"one key": {measured(0, 0), []string{
			`db.getSiblingDB("x").getCollection("y").createIndex({"k": 1, "_id": 1})`,
			`sh.refineCollectionShardKey("x.y", {"k": 1, "_id": 1})`,
			`db.adminCommand({ split: "x.y", bounds: [{"k": 0, "_id": MinKey()}, {"k": 1, "_id": MinKey()}] })`,
		}},
		"one hashed key": {hashed, []string{`sh.reshardCollection("x.y", <key>)`}},
	} {
		c := newCluster(t).collection("x.y", []string{"a", "!a", "b"}, tt.alter)
		if got := jumboCommands(c.Collections[0]); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
