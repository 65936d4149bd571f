package price

import (
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// A range comes back to a shard once that has deleted it: 15 minutes after it was given away.
func TestWhatComesBackWaits(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 3, 3, func(i int) (int, int64) { return i, 1 << 20 })
	p := &comparer{snapshot: s, speeds: forecast.MeasureSpeeds(s)}
	begin, pattern := s.Time(), snaptest.IntPattern(t)
	key := func(i int) catalog.Key { return snaptest.IntKey(t, pattern, i) }
	gone := []sim.Event{{Kind: sim.Moved, From: "s00", To: "s01", Min: key(0), Max: key(1000), Ended: begin.Add(-5 * time.Minute)}}
	step := func(to catalog.ShardID, from, upto int) plan.Step {
		return plan.Step{Kind: plan.Move, From: "s01", To: to, Min: key(from), Max: key(upto), Bytes: 1 << 20}
	}
	for name, tt := range map[string]struct {
		steps []plan.Step
		want  time.Duration
	}{
		"back":                  {[]plan.Step{step("s00", 0, 500)}, 10 * time.Minute},
		"to another shard":      {[]plan.Step{step("s02", 0, 500)}, 0},
		"another range":         {[]plan.Step{step("s00", 1000, 1500)}, 0},
		"twice, one wait":       {[]plan.Step{step("s00", 0, 500), step("s00", 500, 1000)}, 10 * time.Minute},
		"a merge is not a move": {[]plan.Step{{Kind: plan.Merge, From: "s00", To: "s00", Min: key(0), Max: key(500)}}, 0},
		"nothing is to be done": {nil, 0},
	} {
		if got := p.deletionWaits(gone, tt.steps, begin); got != tt.want {
			t.Errorf("%s: %v, not %v", name, got, tt.want)
		}
	}
}
