package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// helpers calls each helper of docs/sh.md and looks what is true afterwards.
func helpers(t *testing.T, c *target) {
	var results []struct{ Helper, Problem, Skipped string }
	if err := json.Unmarshal([]byte(c.script("helpers.js")), &results); err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, r := range results {
		tried[r.Helper] = true
		switch {
		case r.Problem != "":
			t.Errorf("sh.%s: %s", r.Helper, r.Problem)
		case r.Skipped != "":
			t.Logf("sh.%s is left out: %s", r.Helper, r.Skipped)
		}
	}
	for _, name := range documented(t) {
		if !tried[name] {
			t.Errorf("docs/sh.md has sh.%s, and nobody tries it", name)
		}
	}
}

// script runs one of the suite's, and returns the last line that it printed.
func (c *target) script(name string) string {
	c.t.Helper()
	is, err := json.Marshal(map[string]any{"mock": c.mock, "alone": c.alone, "folder": c.t.TempDir()})
	if err != nil {
		c.t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		c.t.Fatal(err)
	}
	r := well(c.t, "--quiet", c.uri, filepath.Join(dir, "lib.js"), filepath.Join(dir, name), "--", string(is))
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	return lines[len(lines)-1]
}

var word = regexp.MustCompile("`([a-zA-Z]+)\\(")

// documented are the helpers of docs/sh.md: the first column of the tables that
// have examples.
func documented(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "sh.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(columns) < 3 {
			continue
		}
		for _, found := range word.FindAllStringSubmatch(columns[0], 1) {
			names = append(names, found[1])
		}
	}
	if len(names) < 60 || !slices.Contains(names, "removeShardTag") {
		t.Fatalf("the helpers are not where this test looks: %v", names)
	}
	return names
}
