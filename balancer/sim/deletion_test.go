package sim

import (
	"testing"
	"time"

	"shardsh/balancer/catalog/snaptest"
)

// A small range that was left later may be deleted earlier.
func TestDeletionsExpireByTime(t *testing.T) {
	p, now := snaptest.IntPattern(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	d := newDeletions()
	for i, after := range []time.Duration{time.Hour, time.Minute, 2 * time.Hour} {
		d.add(&deletion{min: snaptest.IntKey(t, p, i), max: snaptest.IntKey(t, p, i+1), doneAt: now.Add(after)})
	}
	for _, at := range []struct {
		after time.Duration
		left  int
	}{{time.Minute, 2}, {time.Hour, 1}, {2 * time.Hour, 0}} {
		d.expire(now.Add(at.after), func(*deletion) {})
		if len(d.byEnd) != at.left || d.byKey.Len() != at.left {
			t.Errorf("after %v %d are left", at.after, len(d.byEnd))
		}
	}
}
