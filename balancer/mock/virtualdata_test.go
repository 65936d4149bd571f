package mock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

func newCluster(t testing.TB, topology string, cfg mock.Config) *model {
	t.Helper()
	parsed, err := mock.ParseTopology([]byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Topology = parsed
	if cfg.Start.IsZero() {
		cfg.Start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	}
	c, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return newModelOn(c)
}

func newModelOn(c *mock.Cluster) *model { return &model{cluster: c, router: router.New(c, nil)} }

func (m *model) ok(t testing.TB, db string, command bson.D) bson.Raw {
	t.Helper()
	reply, ok := m.run(db, command)
	if !ok {
		t.Fatalf("%v answered %s", command, reply)
	}
	return reply
}

// owned gives the bytes each shard owns of a collection.
func (m *model) owned(t testing.TB, ns string) map[string]int64 {
	t.Helper()
	reply := m.ok(t, "admin", d("aggregate", 1, "pipeline", bson.A{d("$shardedDataDistribution", d()),
		d("$match", d("ns", ns))}, "cursor", d()))
	var found struct {
		Cursor struct {
			FirstBatch []struct {
				Shards []struct {
					ShardName      string
					OwnedSizeBytes int64
				}
			} `bson:"firstBatch"`
		}
	}
	if err := bson.Unmarshal(reply, &found); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, doc := range found.Cursor.FirstBatch {
		for _, s := range doc.Shards {
			sizes[s.ShardName] = s.OwnedSizeBytes
		}
	}
	return sizes
}

// topologyOf makes chunks of equal virtual size, all on the first shard.
func topologyOf(t testing.TB, shards, chunks int, bytes string, docs int64) string {
	t.Helper()
	var top mock.Topology
	for i := range shards {
		top.Shards = append(top.Shards, mock.TopologyShard{ID: fmt.Sprintf("s%02d", i)})
	}
	coll := mock.TopologyCollection{Namespace: "big.data", Key: json.RawMessage(`{"k": 1}`)}
	for i := range chunks {
		chunk := mock.TopologyChunk{Shard: "s00", Docs: docs}
		chunk.Bytes = json.RawMessage(`"` + bytes + `"`)
		if i > 0 {
			chunk.Min = json.RawMessage(fmt.Sprintf(`{"k": %d}`, i*1000))
		}
		coll.Chunks = append(coll.Chunks, chunk)
	}
	top.Collections = []mock.TopologyCollection{coll}
	data, err := json.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// 50 TB of virtual data on one of ten shards even out, in virtual days and
// real seconds, without a document being made.
func TestVirtualDataBalances(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	m := newCluster(t, topologyOf(t, 10, 500, "100GB", 50_000_000), mock.Config{})
	// Chunks of 100 GB are cut by the donor, one chunk size at a time: give the
	// collection the largest, so that the run stays short.
	m.ok(t, "admin", d("configureCollectionBalancing", "big.data", "chunkSize", 1024))
	before := m.owned(t, "big.data")["s00"]
	if before < 49e12 {
		t.Fatalf("the first shard owns %d bytes", before)
	}
	m.sleep(12 * time.Hour)
	var total, most int64
	for _, bytes := range m.owned(t, "big.data") {
		total += bytes
		most = max(most, bytes)
	}
	if total < before*999/1000 || total > before {
		t.Errorf("%d bytes of %d are left", total, before)
	}
	if most >= before {
		t.Error("nothing moved")
	}
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if err := m.cluster.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// A range of virtual data is cut where its share of the documents ends.
func TestVirtualDataIsCutEvenly(t *testing.T) {
	m := newCluster(t, `{
      "shards": [{"id": "a"}, {"id": "b"}],
      "collections": [{"ns": "big.data", "key": {"k": 1}, "chunks": [
        {"shard": "a", "max": {"k": 0}},
        {"shard": "a", "max": {"k": 1000}, "bytes": "10GB", "docs": 1000000},
        {"shard": "b"}]}]
    }`, mock.Config{})
	m.ok(t, "admin", d("balancerStop", 1))
	m.ok(t, "admin", d("moveRange", "big.data", "min", d("k", 250), "max", d("k", 500), "toShard", "b", "forceJumbo",
		true))
	sizes := m.owned(t, "big.data")
	if sizes["a"] != 7_500_000_000 || sizes["b"] != 2_500_000_000 {
		t.Errorf("a owns %d and b %d bytes", sizes["a"], sizes["b"])
	}
	m.ok(t, "admin", d("split", "big.data", "find", d("k", 700)))
	reply := m.ok(t, "config", d("find", "chunks", "filter", d("min.k", 750)))
	if reply.Lookup("cursor", "firstBatch", "0").IsZero() {
		t.Error("the median of 500 to 1000 is not 750")
	}
}

// A migration takes the time of its bytes.
func TestMigrationTime(t *testing.T) {
	m := newCluster(t, `{
      "shards": [{"id": "a"}, {"id": "b"}],
      "collections": [{"ns": "big.data", "key": {"k": 1}, "chunks": [
        {"shard": "a", "max": {"k": 0}},
        {"shard": "a", "bytes": "640MiB", "docs": 1000}]}]
    }`, mock.Config{})
	m.ok(t, "admin", d("balancerStop", 1))
	reply := m.ok(t, "admin", d("moveChunk", "big.data", "find", d("k", 1), "to", "b", "forceJumbo", true))
	if ms := reply.Lookup("millis").Int32(); ms < 10_000 || ms > 11_000 {
		t.Errorf("640 MiB took %d ms, want about 10 s", ms)
	}
	if reply, ok := m.run("admin", d("moveChunk", "big.data", "find", d("k", 1), "to", "a", "forceJumbo", true,
		"maxTimeMS", 100)); ok {
		t.Errorf("ended before its time: %s", reply)
	} else if code := reply.Lookup("code").Int32(); code != 50 {
		t.Errorf("code %d, want 50", code)
	}
}

// rules/02-migration-and-metadata §5.7: more than twice the documents of a chunk are too big to move.
func TestChunkTooBig(t *testing.T) {
	m := newCluster(t, topologyOf(t, 2, 1, "1GB", 1_000_000), mock.Config{})
	m.ok(t, "admin", d("balancerStop", 1))
	command := d("moveChunk", "big.data", "find", d("k", 1), "to", "s01")
	if reply, ok := m.run("admin", command); ok || reply.Lookup("code").Int32() != 153 {
		t.Errorf("answered %s, want code 153", reply)
	}
	m.ok(t, "admin", append(command, bson.E{Key: "forceJumbo", Value: true}))
}

// A draining shard is emptied, and then stays empty.
func TestDraining(t *testing.T) {
	m := newCluster(t, topologyOf(t, 4, 8, "1GB", 100_000), mock.Config{})
	m.sleep(time.Hour)
	m.ok(t, "config", d("update", "shards", "updates",
		bson.A{d("q", d("_id", "s00"), "u", d("$set", d("draining", true)))}))
	m.sleep(3 * time.Hour)
	reply := m.ok(t, "config", d("count", "chunks", "query", d("shard", "s00")))
	if n := reply.Lookup("n").Int32(); n != 0 {
		t.Errorf("%d chunks are left on the draining shard", n)
	}
	if left := m.owned(t, "big.data")["s00"]; left != 0 {
		t.Errorf("%d bytes are left on the draining shard", left)
	}
}

// Orphans wait for the delay, are not visible meanwhile, and keep the range
// from coming back.
func TestRangeDeletion(t *testing.T) {
	m := newCluster(t, `{"shards": [{"id": "a"}, {"id": "b"}], "databases": [{"name": "db", "primary": "a"}]}`,
		mock.Config{})
	m.ok(t, "admin", d("balancerStop", 1))
	m.ok(t, "admin", d("shardCollection", ns, "key", d("k", 1)))
	for i := range 10 {
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("k", i)}))
	}
	move := func(to string) bson.D {
		return d("moveRange", ns, "min", d("k", bson.MinKey{}), "max", d("k", bson.MaxKey{}), "toShard", to)
	}
	m.ok(t, "admin", move("b"))
	if n := m.ok(t, "db", d("aggregate", "c", "pipeline", bson.A{d("$count", "n")}, "cursor", d())).Lookup("cursor",
		"firstBatch", "0", "n").Int32(); n != 10 {
		t.Errorf("%d documents are visible, want 10", n)
	}
	if reply, ok := m.run("admin", move("a")); ok || reply.Lookup("code").Int32() != 96 {
		t.Errorf("the range came back over its orphans: %s", reply)
	}
	m.sleep(901 * time.Second)
	m.ok(t, "admin", move("a"))
}

// On real time a command waits for its migration, and ends with its client.
func TestRealTime(t *testing.T) {
	m := newCluster(t, topologyOf(t, 2, 2, "1KB", 10), mock.Config{RealTime: true})
	m.ok(t, "admin", d("balancerStop", 1))
	m.ok(t, "admin", d("moveChunk", "big.data", "find", d("k", 1), "to", "s01"))
	if n := m.ok(t, "config", d("count", "chunks", "query", d("shard", "s01"))).Lookup("n").Int32(); n != 1 {
		t.Errorf("%d chunks on the recipient", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if err := m.cluster.ClockUnderLock().Await(ctx, time.Time{}, func() bool { return false }); err == nil {
		t.Error("a wait outlived its client")
	}
}

func TestTopologyErrorsNameTheField(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"shards": []}`, "shards: at least one is needed"},
		{`{"shards": [{"id": ""}]}`, `shards[0].id: "" is empty, reserved or taken`},
		{`{"shards": [{"id": "a"}, {"id": "a"}]}`, `shards[1].id: "a" is empty, reserved or taken`},
		{``, "the file is empty"},
		{"{\n\"shards\":", "line 2: the JSON ends too early"},
		{`[]`, "expected an object, got array (line 1)"},
		{`{"shards": 3}`, "shards: expected []mock.TopologyShard, got number (line 1)"},
		{"{\n\"shards\": [}\n", "line 2: invalid character '}' looking for beginning of value"},
		{`{"shards": [{"id": "a"}], "nope": 1}`, `json: unknown field "nope"`},
	}
	for _, tt := range tests {
		if _, err := mock.ParseTopology([]byte(tt.text)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
	shard := `"shards": [{"id": "a"}]`
	building := []struct{ text, want string }{
		{`{` + shard + `, "collections": [{"ns": "x", "key": {"k": 1}}]}`, "collections[0].ns"},
		{`{` + shard + `, "collections": [{"ns": "x.y", "key": {"k": 2}}]}`, "collections[0].key"},
		{`{` + shard + `, "collections": [{"ns": "x.y"}]}`, "collections[0].key is missing"},
		{`{` + shard + `, "collections": [{"ns": "config.system.sessions", "key": {"_id": 1}}]}`,
			"collections[0].ns: the cluster creates the collections of database config itself: remove config.system.sessions"},
		{`{` + shard + `, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "b"}]}]}`,
			"collections[0].chunks[0].shard"},
		{`{` + shard + `, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"z": 1}}]}]}`,
			"collections[0].chunks[0].max"},
		{`{` + shard + `, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 1}}]}]}`,
			"collections[0].chunks[0].max"},
		{`{` + shard + `, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": 5}]}]}`,
			"collections[0].chunks[0].docs"},
		{`{` + shard + `, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": "5XB", "docs": 1}]}]}`, "collections[0].chunks[0].bytes"},
		{`{` + shard + `, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": -5, "docs": 1}]}]}`, "collections[0].chunks[0].bytes"},
		{`{` + shard + `, "collections": [{"ns": "x.y", "key": {"k": 1}, "zones": [{"zone": "Z", "min": {"k": 0}, "max": {"k": 1}}]}]}`, "collections[0].zones[0]"},
		{`{` + shard + `, "settings": {"chunkSizeMB": 5000}}`, "settings.chunkSizeMB"},
		{`{` + shard + `, "settings": {"balancer": {"mode": "weird"}}}`, "settings.balancer"},
		{`{` + shard + `, "databases": [{"name": "x", "primary": "b"}]}`, "databases[0]"},
	}
	for _, tt := range building {
		parsed, err := mock.ParseTopology([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		c, err := mock.New(mock.Config{Topology: parsed})
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
}

func FuzzTopology(f *testing.F) {
	f.Add([]byte(`{"shards": [{"id": "a", "zones": ["Z"]}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": "1GB", "docs": 10}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := mock.ParseTopology(data)
		if err != nil || len(parsed.Shards) > 100 {
			return
		}
		c, err := mock.New(mock.Config{Topology: parsed})
		if err != nil {
			return
		}
		defer c.Close()
		c.Lock()
		defer c.Unlock()
		if err := c.CheckInvariants(); err != nil {
			t.Error(err)
		}
	})
}
