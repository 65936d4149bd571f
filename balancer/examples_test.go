package balancer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"shardsh/balancer/examples"
)

// Every worked example of rules/02-examples-and-traps §9 has a case in a data file, which the test
// beside the file plays.
func TestEveryWorkedExampleHasACase(t *testing.T) {
	files, err := filepath.Glob("*/testdata/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	played := map[string]bool{}
	for _, path := range append(files, "testdata/streams.jsonl") {
		for _, line := range examples.Lines(t, path) {
			var c struct{ ID string }
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			played[c.ID] = true
		}
	}
	text, err := os.ReadFile("../docs/rules/02-examples-and-traps.md")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range regexp.MustCompile(`(?m)^- id: (\S+)`).FindAllStringSubmatch(string(text), -1) {
		ids = append(ids, m[1])
	}
	if len(ids) != 64 {
		t.Errorf("the rules have %d examples", len(ids))
	}
	for _, id := range ids {
		if !played[id] {
			t.Errorf("%s has no case", id)
		}
	}
}
