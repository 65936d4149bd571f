package display

import (
	"math"
	"testing"
	"time"

	"shardsh/bindings/script"
)

func TestProgressMeasures(t *testing.T) {
	d := New(Options{})
	d.JS = script.NewEngine(script.Options{})
	p := d.NewProgress(true)
	p.startedAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	began := p.startedAt
	if got := p.AmountText(&Amount{Remaining: math.NaN(), Format: ChunksText}, began); got != "0 chunks done" {
		t.Error(got)
	}
	for _, tc := range []struct {
		done, left float64
		after      time.Duration
		want       string
	}{
		{40, 60, 10 * time.Second, "40 chunks done, 60 chunks left, 4 chunks/s, 15s to go"},
		{1, 60, 2 * time.Minute, "1 chunk done, 60 chunks left, 0.5 chunks/min, 2h to go"},
		{1000, 0, 7 * time.Second, "1000 chunks done, 0 chunks left, 142.9 chunks/s"},
		{1, 0, 2 * time.Minute, "1 chunk done, 0 chunks left, 0.5 chunks/min"},
	} {
		if got := p.AmountText(&Amount{Done: tc.done, Remaining: tc.left, Format: ChunksText}, began.Add(tc.after)); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
}
