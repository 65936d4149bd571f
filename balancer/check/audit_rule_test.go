package check_test

import (
	"slices"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/placement"
)

func auditCases() []ruleCase {
	audited := func(a *check.AuditSummary, why string) *cluster {
		c := newCluster()
		c.audited, c.unaudited = a, why
		return c
	}
	found := &check.AuditSummary{Findings: []placement.Finding{
		{Kind: placement.Orphan, Namespace: "x.y", Shards: []catalog.ShardID{"a"}, Count: 5, Text: "5 documents are left on a"},
		{Kind: placement.ChunkGap, Namespace: "x.z", Count: 1, Text: "no chunk has some keys"},
	}}
	return []ruleCase{
		{"nothing", "audit", "", nil, audited(&check.AuditSummary{}, ""), "passed"},
		{"findings", "audit", "", nil, audited(found, ""), "failed; critical x.ya 5; critical x.z 1"},
		{"as many as may be", "audit", "5", nil, audited(found, ""), "passed"},
		{"not all was seen", "audit", "", nil, audited(&check.AuditSummary{Unread: []string{"a shard"}}, ""), "unknown; unknown"},
		{"a file", "audit", "", nil, newCluster(), "unknown; unknown"},
		{"refused", "audit", "", nil, audited(nil, "not allowed"), "unknown; unknown"},
	}
}

// All rules are those that read no documents.
func TestAllRulesLeaveAuditOut(t *testing.T) {
	for words, want := range map[string]bool{"all": false, "usual": false, "audit": true, "all,audit": true} {
		p := check.Default()
		list := []string{words}
		if words == "all,audit" {
			list = []string{"all", "audit"}
		}
		if err := p.EnableOnly(list); err != nil {
			t.Fatal(err)
		}
		on := slices.ContainsFunc(p.Choices, func(c check.RuleChoice) bool { return c.Name == "audit" && c.On })
		if on != want || p.Needs().Has(check.Audits) != want {
			t.Errorf("%s: %v", words, on)
		}
	}
}
