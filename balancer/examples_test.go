package balancer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/examples"
)

// Every worked example of spec 02 §9 has a case in a data file, which the test
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
	list, err := os.ReadFile("testdata/examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.Fields(string(list))
	if len(ids) != 64 {
		t.Errorf("the list has %d examples", len(ids))
	}
	for _, id := range ids {
		if !played[id] {
			t.Errorf("%s has no case", id)
		}
	}
}
