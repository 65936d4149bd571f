package mixin

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/export"
)

// program finds a program of Prometheus: in the path, or where .ci/install unpacks it. Without it
// the test is skipped, and fails where CI is set.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	home, _ := os.UserHomeDir()
	path := filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "shardsh-test", "prometheus",
		"usr", "bin", name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	text := "NOT TRIED with Prometheus: there is no " + name
	switch strings.ToLower(os.Getenv("CI")) {
	case "", "0", "false":
		t.Skip(text)
	}
	t.Fatal(text + "; CI is set: .ci/install puts there what tests need")
	return ""
}

func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "promtool"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "FAILED") {
		t.Errorf("promtool %s: %v\n%s", args, err, out)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	promtool(t, "", "check", "rules", "alerts.yaml", "rules.yaml")
	promtool(t, "", "test", "rules", "alerts_test.yaml")
}

// Each alert is tested, for the time before it fires as well.
func TestAlertsAreTested(t *testing.T) {
	data, err := os.ReadFile("alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range readRules(t, "alerts.yaml").Groups {
		for _, r := range g.Rules {
			found := regexp.MustCompile(`alertname: `+r.Alert+`( }|\n        exp_alerts:)`).FindAllString(string(data), -1)
			if text := strings.Join(found, ""); !strings.Contains(text, "exp_alerts") {
				t.Errorf("alerts_test.yaml has no case in which %s fires", r.Alert)
			}
		}
	}
}

func TestPromtoolChecksThePage(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Shards: 3, Collections: 5, Chunks: 100})
	r := export.ClusterReading{Report: check.Default().Check("eu", check.Cluster{Diagnosis: diagnosis.Diagnose(s)}), Moves: new(export.MoveCounter)}
	r.Moves.Add([]catalog.LogEntry{})
	var page strings.Builder
	for _, f := range r.Families(2) {
		if err := f.Write(&page); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, page.String(), "check", "metrics")
}
