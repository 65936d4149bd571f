package diff_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"shardsh/balancer/diff"
)

const page = "../../docs/fleets.md"

// The guide lists every kind of change, in the order in which they are told.
func TestPageListsAllKinds(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, group := range diff.Groups() {
		var kinds []string
		for _, k := range diff.Kinds() {
			if k.Group == group {
				kinds = append(kinds, "`"+string(k.Kind)+"`")
			}
		}
		fmt.Fprintf(&want, "| %s | %s |\n", group, strings.Join(kinds, ", "))
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("%s lacks the table\n%s", page, want.String())
	}
}
