package actiontext

import (
	"fmt"
	"slices"
	"testing"

	"shardsh/balancer/action"
)

// Of a cluster with many shards that can't be reached the answer still fits a screen.
func TestAuditOfManyShards(t *testing.T) {
	r := action.AuditResult{Verdict: action.AuditUnknown}
	for i := range 40 {
		r.Unchecked = append(r.Unchecked, fmt.Sprintf("what s%02d has: it can't be reached", i))
	}
	lines := AuditResult(r)
	if len(lines) != maxUnknown+2 || !slices.Contains(lines, "unseen  34 more like these, which JSON lists.") {
		t.Errorf("%q", lines)
	}
}
