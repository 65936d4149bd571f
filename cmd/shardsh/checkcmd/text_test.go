package checkcmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
)

// What many collections share fits a screen: the first of them have a line, the rest are
// counted.
func TestTextCountsTheRest(t *testing.T) {
	result := &check.Result{Policy: check.Default(), Diagnosis: &diagnosis.Diagnosis{}}
	for i := range 300 {
		b := diagnosis.Balance{Namespace: fmt.Sprintf("app.c%03d", i), Known: true, Balanced: i%2 == 0}
		result.Balances = append(result.Balances, b)
		about := diagnosis.Scope{Namespace: b.Namespace}
		result.Findings = append(result.Findings, check.Finding{Rule: "jumbo", Severity: diagnosis.Warning, About: about,
			Sentence: b.Namespace + " has 3 jumbo chunks"})
		if !b.Balanced {
			result.Findings = append(result.Findings, check.Finding{Rule: "compliant", Severity: diagnosis.Warning, About: about,
				Sentence: b.Namespace + " is not balanced"})
		}
	}
	var b strings.Builder
	Text{}.Write(&b, []check.Report{{Address: "a", Result: result}})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for _, want := range []string{
		"app.c039  NOT balanced: the server does not say why", "and 130 more that are not (--long shows all)",
		"the other 150 collections are balanced", "warning   app.c004 has 3 jumbo chunks (jumbo)",
		"          and 295 more of rule jumbo (--long shows all)",
		"FAILED: 450 findings, the first: app.c000 has 3 jumbo chunks",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
	if len(lines) > 40 {
		t.Errorf("%d lines:\n%s", len(lines), b.String())
	}
	b.Reset()
	Text{Long: true}.Write(&b, []check.Report{{Address: "a", Result: result}})
	lines = strings.Split(strings.TrimSpace(b.String()), "\n")
	for _, want := range []string{"app.c299  NOT balanced: the server does not say why", "app.c298  balanced",
		"warning   app.c299 has 3 jumbo chunks (jumbo)", "passed    rule shards: every shard answers",
		"failed    rule jumbo: jumbo chunks that a collection may have"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in the whole", want)
		}
	}
}
