package controls_test

import (
	"math"
	"testing"
	"time"

	"shardsh/balancer/mock/router/routertest"
)

func TestAdvanceByText(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	x := routertest.NewS0(t)
	for _, tt := range []struct {
		by   any
		want time.Duration // 0 = refused
	}{
		{"90m", 90 * time.Minute}, {"2d", 48 * time.Hour}, {"1d12h", 36 * time.Hour}, {250, 250 * time.Millisecond},
		{"d", 0}, {"1.5w", 0}, {"2dd", 0}, {"3dx", 0}, {"100000d", 0}, {"-1d", 0}, {"1d-2d", 0}, {"", 0}, {math.NaN(), 0},
	} {
		before := x.Cluster.Clock().Now()
		if tt.want == 0 {
			if code := x.Code("admin", d("mockAdvance", tt.by)); code != 2 {
				t.Errorf("%q: code %d", tt.by, code)
			}
			continue
		}
		x.OK("admin", d("mockAdvance", tt.by))
		if got := x.Cluster.Clock().Now().Sub(before).Truncate(10 * time.Millisecond); got != tt.want {
			t.Errorf("%v: time went on by %v", tt.by, got)
		}
	}
}
