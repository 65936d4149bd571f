package snaptest_test

import (
	"testing"

	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
)

// Large clusters are whole: what is counted is what was asked for, and a file
// gives it back.
func TestLarge(t *testing.T) {
	scale := snaptest.Scale{Shards: 7, Chunks: 734, Collections: 3, EmptyShards: 2, JumboEvery: 100, ChunkBytes: 1000}
	s := snaptest.Large(t, scale)
	chunks, jumbo, bytes := int64(0), int64(0), int64(0)
	for _, c := range s.Collections() {
		n := c.Count()
		chunks, jumbo = chunks+n.Chunks, jumbo+n.Jumbo
		for _, data := range c.Sizes {
			bytes += data.Bytes
		}
		for _, empty := range []int{5, 6} {
			if id := s.Shards()[empty].ID; c.CountOn(id).Chunks != 0 || c.Sizes[id].Bytes != 0 {
				t.Errorf("%s has data of %s", id, c.Namespace)
			}
		}
		if len(c.Owners()) != 5 {
			t.Errorf("%s lies on %v", c.Namespace, c.Owners())
		}
	}
	if len(s.Shards()) != 7 || chunks != 734 || jumbo != 8 || bytes != 734_000 {
		t.Errorf("%d shards, %d chunks, %d jumbo, %d bytes", len(s.Shards()), chunks, jumbo, bytes)
	}
	read, err := snapfile.Open(snaptest.LargeFile(t, scale), snapfile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range snaptest.Diff(read, s)[1:] { // the first is the source
		t.Error(d)
	}
}
