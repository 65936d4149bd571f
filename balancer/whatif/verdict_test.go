package whatif_test

import (
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/whatif"
)

// What the server said of a collection was about the cluster before a change: with chunks of
// 1 GiB, nothing of what it called uneven is to move, and nothing is in the way.
func TestAVerdictEndsWithAChange(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Chunks: 6, EmptyShards: 0})
	before := s
	for _, c := range s.Collections() {
		judged := *c
		judged.ReportedStatus = &catalog.ReportedStatus{Compliant: false, Violation: "chunksImbalance", ChunkSizeMB: 1}
		before = before.WithCollection(&judged)
	}
	for _, text := range []string{"chunkSize 1024", "addShard 1", "balanceJumbo on", "autoMerge off"} {
		after, err := whatif.ApplyChanges(before, []whatif.Change{parse(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range diagnosis.Balances(after) {
			if !b.Computed || b.ChunkSizeMB == 1 {
				t.Errorf("%s: the verdict on %s is of before: %+v", text, b.Namespace, b)
			}
		}
	}
}
