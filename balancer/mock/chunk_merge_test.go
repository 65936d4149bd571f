package mock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// mergeCase is a worked example of rules/02-examples-and-traps §9.1.
type mergeCase struct {
	ID    string
	Given []string
	// Merge is the range of a mergeChunks, as the config server gets it; Other is
	// what of the collection is not as the shard knows it.
	Merge []string
	Other string
	// MergeAll is the shard of a mergeAllChunksOnShard.
	MergeAll  catalog.ShardID
	Most      int
	MaxTimeMS int64
	ElapsedMS int64
	Zones     [][2]string
	Repeat    int
	// Races are changes of the collection between reading and merging.
	Races    int
	Attempts int

	Merged  int
	Then    []string // nil: unchanged
	Log     [][3]any // previous version, merged one, number of chunks
	Code    mongoerr.Code
	OnShard mongoerr.Code // what the shard refuses it with before
	Why     string
}

func TestWorkedExamplesOfMerging(t *testing.T) {
	for i, tt := range examples.Read[mergeCase](t, "testdata/merges.jsonl") {
		t.Run(fmt.Sprintf("%s/%d %s", tt.ID, i, tt.Why), tt.play)
	}
}

func (m mergeCase) play(t *testing.T) {
	c := exampleCluster(t, 10000, catalog.Release80, m.Given...) // with the window of 300 seconds the cutoff is 9700
	c.zoneExample(t, m.Zones)
	for range max(m.Repeat, 1) {
		err := m.merge(t, c)
		if code, _ := mongoerr.CodeOf(err); code != m.Code || (err == nil) != (m.Code == 0) {
			t.Fatalf("ended with %v, want code %d", err, m.Code)
		}
	}
	want := m.Then
	if want == nil {
		want = m.Given
	}
	if m.Races == 0 {
		sameChunks(t, c, want...)
	}
	if m.Repeat == 0 && m.Races == 0 {
		m.checkLog(t, c)
	}
}

func (m mergeCase) merge(t *testing.T, c *Cluster) error {
	t.Helper()
	coll := c.exampleCollection(t)
	p := coll.Pattern
	if m.MergeAll == "" {
		min, max := exampleKey(t, p, m.Merge[0]), exampleKey(t, p, m.Merge[1])
		if m.Other == "" {
			if err := c.Chunks().MergeRange(coll, min, max); m.OnShard != 0 && !mongoerr.Is(err, m.OnShard) {
				t.Errorf("the shard says %v, want code %d", err, m.OnShard)
			}
		}
		return c.Chunks().commitMerge(otherwise(coll, m.Other), "A", min, max)
	}
	limits := policy.MergeLimits{Chunks: 1 << 30, Time: time.Hour}
	if m.Most > 0 {
		limits.Chunks = m.Most
	}
	if m.MaxTimeMS > 0 {
		limits.Time = time.Duration(m.MaxTimeMS) * time.Millisecond
	}
	c.faults.slow = map[catalog.ShardID]Slowness{configShard: {Latency: time.Duration(m.ElapsedMS) * time.Millisecond}}
	attempts := 0
	merged, err := c.Chunks().mergeAll(coll, m.MergeAll, limits, func() *catalog.RoutingTable {
		table := c.config.Table(exampleNS)
		if attempts++; attempts <= m.Races {
			if err := c.config.BumpVersion(exampleNS); err != nil {
				t.Fatal(err)
			}
		}
		return table
	})
	if merged != m.Merged {
		t.Errorf("%d chunks merged, want %d", merged, m.Merged)
	}
	if m.Attempts > 0 && attempts != m.Attempts {
		t.Errorf("%d attempts, want %d", attempts, m.Attempts)
	}
	return err
}

// otherwise is a collection as somebody knows it who is wrong about one thing.
func otherwise(coll catalog.Collection, what string) catalog.Collection {
	switch what {
	case "epoch":
		coll.Epoch[0]++
	case "timestamp":
		coll.Timestamp.T++
	case "uuid":
		coll.UUID.Data = append(slices.Clone(coll.UUID.Data[:15]), coll.UUID.Data[15]+1)
	case "namespace":
		coll.Namespace = "db.gone"
	}
	return coll
}

// checkLog compares the entries of the change log, field by field.
func (m mergeCase) checkLog(t *testing.T, c *Cluster) {
	t.Helper()
	what, shard := "merge", "A"
	if m.MergeAll != "" {
		what, shard = "autoMerge", string(m.MergeAll)
	}
	entries := c.logged(what)
	if len(entries) != len(m.Log) {
		t.Fatalf("%d entries in the change log, want %d", len(entries), len(m.Log))
	}
	table := c.config.Table(exampleNS)
	var merged []catalog.Chunk
	for chunk := range table.All() {
		if !slices.Contains(m.Given, showChunk(chunk)) && chunk.Version.Major > 0 {
			merged = append(merged, chunk)
		}
	}
	for i, entry := range entries {
		version := func(n int) bson.D { return versionDoc(table, readVersion(t, m.Log[i][n].(string))) }
		same(t, entry, bson.D{
			{Key: "prevPlacementVersion", Value: version(0)},
			{Key: "mergedVersion", Value: version(1)},
			{Key: "owningShard", Value: shard},
			{Key: "min", Value: table.Pattern().Bound(merged[i].Min)},
			{Key: "max", Value: table.Pattern().Bound(merged[i].Max)},
			{Key: "numChunks", Value: int32(m.Log[i][2].(float64))},
		})
	}
}

func readVersion(t *testing.T, text string) (v catalog.ChunkVersion) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "%d|%d", &v.Major, &v.Minor); err != nil {
		t.Fatal(err)
	}
	return v
}

// same compares a document with what it should be, the order of its fields
// included.
func same(t *testing.T, got bson.Raw, want bson.D) {
	t.Helper()
	if w := rawDoc(t, want); !slices.Equal(got, w) {
		t.Errorf("got  %s\nwant %s", got, w)
	}
}
