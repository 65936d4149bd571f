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

// Alternatives of one name have columns of their own.
func TestWhatIfWithEqualNames(t *testing.T) {
	outcome := func(bytes int64) whatif.Outcome {
		shards := []plan.ShardChange{{Shard: "a", After: plan.Holding{Bytes: bytes}}}
		return whatif.Outcome{Name: "the same", Plan: &plan.Plan{Shards: shards}, Flows: []whatif.Flow{{From: "a", To: "b", Bytes: bytes + 1<<10}}}
	}
	text := WhatIfText(whatif.Outcomes{Alternatives: []whatif.Outcome{outcome(1 << 20), outcome(2 << 20), outcome(3 << 20)}}, false)
	for _, want := range []string{"1 MiB", "2 MiB", "3 MiB"} {
		row := text[strings.Index(text, "Data on shards"):]
		if row = row[:strings.Index(row, "\n\n")]; !strings.Contains(row, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
