package plan_test

import (
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/plan"
)

// A chunk that was made of seven holds seven times what one beside it does, and what it is cut into
// shares that; sizes that were measured are known better.
func TestMergedChunksHoldWhatTheirPartsHeld(t *testing.T) {
	const mib = 1 << 20
	s := snaptest.SnapshotOfChunks(t, 1, 4, func(int) (int, int64) { return 0, 90 * mib })
	c := *s.Collection("db.c")
	merge := func(ns string, chunks, last int) plan.Step {
		return plan.Step{Kind: plan.Merge, Namespace: ns, Min: c.Table.At(0).Min, Max: c.Table.At(last).Max, Chunks: chunks}
	}
	for _, tt := range []struct {
		name  string
		steps []plan.Step
		sizes []catalog.ChunkSize
		want  [4]int64 // MiB of 360
	}{
		{"nothing was merged", nil, nil, [4]int64{90, 90, 90, 90}},
		{"seven have become the first", []plan.Step{merge("db.c", 7, 0)}, nil, [4]int64{252, 36, 36, 36}},
		{"eight have become the first, which was cut", []plan.Step{merge("db.c", 8, 1)}, nil, [4]int64{144, 144, 36, 36}},
		{"the merge was taken back", []plan.Step{merge("db.c", 3, 2)}, nil, [4]int64{90, 90, 90, 90}},
		{"another collection", []plan.Step{merge("db.d", 7, 0)}, nil, [4]int64{90, 90, 90, 90}},
		{"a move", []plan.Step{{Kind: plan.Move, Namespace: "db.c", Min: c.Table.At(0).Min, Max: c.Table.At(0).Max}}, nil,
			[4]int64{90, 90, 90, 90}},
		{"the first was measured", []plan.Step{merge("db.c", 7, 0)},
			[]catalog.ChunkSize{{Min: c.Table.At(0).Min, Bytes: 60 * mib}}, [4]int64{60, 100, 100, 100}},
	} {
		is := c
		is.ChunkSizes = tt.sizes
		size := plan.MeasuredAfterMerges(tt.steps).Contents(&is, 128*mib)
		for i, want := range tt.want {
			if got := size(c.Table.At(i)).Bytes; got < want*mib-10 || got > want*mib+10 {
				t.Errorf("%s: chunk %d holds %d MiB, not %d", tt.name, i, got/mib, want)
			}
		}
	}
}
