package mock

import (
	"slices"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/storetest"
)

// The kinds of inconsistencies that are new since 8.1: planted, and found by the releases that know
// them. Names and releases are those of the manual and of the server's list of types.
func TestNewInconsistencies(t *testing.T) {
	index := func(t *testing.T, key string) func(p Corrupter) error {
		return func(p Corrupter) error {
			return p.AddIndex("b", "db.c", store.IndexSpec{Name: "i", Key: storetest.Raw(t, key), Unique: true})
		}
	}
	from80, from83, from90 := []string{"8.0.20", "8.3", "9.0"}, []string{"8.3", "9.0"}, []string{"9.0"}
	for _, c := range []struct {
		name, kind string
		plant      func(p Corrupter) error
		knows      []string
	}{
		{"a chunk's history begins elsewhere", "CorruptedChunkHistory",
			func(p Corrupter) error { return p.ResetChunkHistory("db.c", storetest.Raw(t, `{"k": 5}`), "a") }, from80},
		{"nothing in the history is wrong", "",
			func(p Corrupter) error { return p.ResetChunkHistory("db.c", storetest.Raw(t, `{"k": 5}`), "b") }, nil},
		{"a unique index without the shard key", "IncompatibleUniqueIndexOnShardedCollection", index(t, `{"x": 1}`), from90},
		{"a unique index with the shard key behind", "IncompatibleUniqueIndexOnShardedCollection", index(t, `{"x": 1, "k": 1}`), from90},
		{"a unique index that begins with _id", "", index(t, `{"_id": 1, "x": 1}`), nil},
		{"a unique index that begins with the shard key", "", index(t, `{"k": 1, "x": 1}`), nil},
		{"buckets without options", "MalformedTimeseriesBucketsCollection",
			func(p Corrupter) error { return p.CreateCollection("a", "db.system.buckets.s", p.c.ids.NewUUID()) }, from83},
	} {
		for _, text := range []string{"8.0.19", "8.0.20", "8.1", "8.2.6", "8.3", "9.0"} {
			release, err := catalog.ParseRelease(text)
			if err != nil {
				t.Fatal(err)
			}
			cluster := newInconsistent(t, release)
			if err := c.plant(cluster.Corrupter()); err != nil {
				t.Fatal(err)
			}
			found, err := cluster.Inconsistencies("db", "", false)
			if err != nil {
				t.Fatal(err)
			}
			var want, kinds []string
			if slices.Contains(c.knows, text) {
				want = []string{c.kind}
			}
			for _, f := range found {
				kinds = append(kinds, f.Type)
			}
			if !slices.Equal(kinds, want) {
				t.Errorf("%s: %s finds %v, not %v", c.name, text, kinds, want)
			}
		}
	}
}

func newInconsistent(t *testing.T, r catalog.Release) *Cluster {
	t.Helper()
	topology, err := ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}], "databases": [{"name": "db", "primary": "a"}],
	  "collections": [{"ns": "db.c", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "b"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Topology: topology, Release: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if found, err := c.Inconsistencies("", "", true); err != nil || len(found) > 0 {
		t.Fatalf("a healthy cluster of %s has %v (%v)", r, found, err)
	}
	return c
}
