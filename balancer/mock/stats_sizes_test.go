package mock

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/expr"
)

// sized is a collection of so many documents and bytes, all virtual, in the
// chunk [0, 100) and nowhere else.
func sized(t *testing.T, docs, bytes int64) (*Cluster, catalog.Collection) {
	t.Helper()
	c := exampleCluster(t, 1000, catalog.Release{}, "c1 0 100 A 1|0 -")
	coll := c.exampleCollection(t)
	local := newLocal(expr.Language{}, coll.UUID, nil, exampleNS)
	local.virtual.add(virtualRange{min: exampleKey(t, coll.Pattern, "0"), max: exampleKey(t, coll.Pattern, "100"), docs: docs,
		bytes: bytes})
	c.shards["A"].colls[exampleNS] = local
	return c, coll
}

// rules/01-rounds-and-settings §3.2: every row of the computation.
func TestTrap27AverageIsTruncated(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		docs, bytes, orphans int64
		want                 int64
	}{
		{"18.9 bytes count as 18", 1000, 18900, 0, 18000},
		{"without orphans", 1000, 18900, 100, 16200},
		{"less than a byte each", 1000, 999, 0, 0},
		{"no documents", 0, 0, 0, 0},
		{"orphans only", 10, 1000, 10, 0},
		{"more orphans than documents", 10, 1000, 11, 0},
	} {
		c, coll := sized(t, tt.docs, tt.bytes)
		s := c.shards["A"]
		s.deletions = []*rangeDeletion{{coll: newDeletionTarget(coll)}}
		s.addOrphans(s.deletions[0], tt.orphans)
		if got := s.ownedBytes(exampleNS, coll.UUID); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
		s.deletions = nil
		other := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}
		if got := s.ownedBytes(exampleNS, other); got != 0 {
			t.Errorf("%s: %d bytes of another collection of that name", tt.name, got)
		}
		if got := c.shards["B"].ownedBytes(exampleNS, coll.UUID); got != 0 {
			t.Errorf("%s: %d bytes where there is no collection", tt.name, got)
		}
		c.clock.Unlock()
		c.Close()
		c.clock.Lock()
	}
}

func TestTrap29NoSplitPointWhileTheWholeCollectionIsBelowTheChunkSize(t *testing.T) {
	c, coll := sized(t, 1000, 100_000)
	local := c.shards["A"].colls[exampleNS]
	p := coll.Pattern
	min, max := exampleKey(t, p, "0"), exampleKey(t, p, "100")
	for _, tt := range []struct {
		chunkBytes int64
		found      bool
	}{{100_001, false}, {100_000, false}, {50_000, true}} {
		if _, found := local.splitPoint(p, min, max, tt.chunkBytes, forward); found != tt.found {
			t.Errorf("chunks of %d bytes: a point %v, want %v", tt.chunkBytes, found, tt.found)
		}
	}
	// With large documents elsewhere the average is 1000 bytes: the chunk counts
	// as 1000000 bytes, although it holds a tenth of that, and is cut; with the
	// collection below the chunk size it is not.
	local.virtual.add(virtualRange{min: exampleKey(t, p, "100"), max: exampleKey(t, p, "200"), docs: 1000, bytes: 1_900_000})
	if _, found := local.splitPoint(p, min, max, 200_000, forward); !found {
		t.Error("no point: the size of the chunk alone was looked at")
	}
	if _, found := local.splitPoint(p, min, max, 2_000_001, forward); found {
		t.Error("a point although the collection has less than a chunk size")
	}
}
