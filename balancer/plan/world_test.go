package plan_test

import (
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/plan"
)

const mib = 1 << 20

var noon = snaptest.SnapshotTime()

// key returns the shard key {x: i}.
func key(t testing.TB, i int) catalog.Key {
	t.Helper()
	return snaptest.IntKey(t, snaptest.IntPattern(t), i)
}

// collection returns one with a chunk of so many bytes for each owner, which is the
// number of a shard.
func collection(t testing.TB, ns string, shards int, bytes int64, owners ...int) *catalog.CollectionState {
	t.Helper()
	return snaptest.NewCollection(t, ns, shards, len(owners), func(i int) (int, int64) { return owners[i], bytes })
}

func mustMake(t rapid.TB, s *catalog.Snapshot, o plan.Options) *plan.Plan {
	t.Helper()
	p, err := plan.Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// repeat returns the number n times.
func repeat(number, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = number
	}
	return list
}
