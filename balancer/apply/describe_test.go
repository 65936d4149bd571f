package apply_test

import (
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// TestDescribe: one point is not points.
func TestDescribe(t *testing.T) {
	for n, want := range map[int]string{1: "split db.c at 1 point, from []", 2: "split db.c at 2 points, from []"} {
		s := plan.Step{Kind: plan.Split, Namespace: "db.c", Points: make([]catalog.Key, n)}
		if got := apply.Describe(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
