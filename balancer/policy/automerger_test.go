package policy

import (
	"fmt"
	"slices"
	"testing"

	"shardsh/balancer/catalog"
)

// merging is an auto-merger at the beginning of a round, with work by shard
// s0, s1, ...
func merging(work ...[]string) *AutoMerger {
	var m AutoMerger
	m.Enable(scheduled)
	var list []MergeWork
	for i, namespaces := range work {
		list = append(list, MergeWork{Shard: catalog.ShardID(fmt.Sprint("s", i)), Namespaces: namespaces})
	}
	m.SetWork(list)
	return &m
}

func request(t *testing.T, m *AutoMerger, shard catalog.ShardID, ns string, throttled bool) StreamAction {
	t.Helper()
	a, ok, _ := m.Next()
	if !ok || a.Kind != MergeAll || a.Shard != shard || a.Namespace != ns || a.Throttled != throttled {
		t.Fatalf("got %v %+v, want %s on %s, throttled %t", ok, a, ns, shard, throttled)
	}
	return a
}

func noRequest(t *testing.T, m *AutoMerger, events ...MergerEvent) {
	t.Helper()
	a, ok, got := m.Next()
	if ok || !slices.Equal(got, events) {
		t.Fatalf("got %v %+v %v, want no action and %v", ok, a, got, events)
	}
}

// The server's counter is reset by a new round and then counted down by the
// replies of the old one; ours is not.
func TestRepliesOfAnOlderRoundDoNotBlock(t *testing.T) {
	m := merging([]string{"c"})
	old := request(t, m, "s0", "c", true)
	m.Disable()
	m.Enable(scheduled)
	m.RecordMergeResult(old, StreamActionResult{MergedChunks: 3})
	want(t, "outstanding", m.outstanding, 0)
	noRequest(t, m, MergerEnds)
}
