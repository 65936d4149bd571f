package sh

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEveryHelperIsDocumented: help texts and docs/sh.md know the same helpers.
func TestEveryHelperIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/sh.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Concat(tables()...) {
		if m.help != "" && !strings.Contains(string(page), "`"+m.name+"`") {
			t.Errorf("docs/sh.md lacks %s", m.name)
		}
	}
}
