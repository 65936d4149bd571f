package findings

import (
	"strings"
	"testing"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
	"shardsh/balancer/whatif"
)

// What is left by alternatives that are not blocked is not called blocked, and is said once.
func TestWhatIfLeft(t *testing.T) {
	left := []diagnosis.Finding{diagnosis.NewFinding(diagnosis.BalancingOff,
		diagnosis.Scope{Namespace: "x.y"}, "balancing is disabled for x.y")}
	shards := []plan.ShardChange{{Shard: "a"}}
	o := whatif.Outcomes{Alternatives: []whatif.Outcome{
		{Name: whatif.Unchanged, Plan: &plan.Plan{Left: left, Shards: shards}},
		{Name: "more", Plan: &plan.Plan{Left: left, Shards: shards}},
	}}
	text := WhatIfText(o, false)
	if strings.Contains(text, "Blocked") || strings.Count(text, left[0].Sentence) != 1 ||
		!strings.Contains(text, "\nLeft: A\n  the same as without changes\n") {
		t.Error(text)
	}
	o.Alternatives[1].Forecast.Never = true
	if text = WhatIfText(o, false); !strings.Contains(text, "\nBlocked: A\n  balancing is disabled for x.y") {
		t.Error(text)
	}
}
