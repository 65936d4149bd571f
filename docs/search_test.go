package docs

import (
	"strings"
	"testing"
)

// What is asked for by its name comes first; words that occur nowhere find nothing.
func TestSearch(t *testing.T) {
	for query, want := range map[string]string{
		"jumboChunks":              "runbooks/jumboChunks.md",
		"what does drain start do": "command-line.md",
		"noRecipient":              "codes.md",
		"prometheus exporter":      "export.md",
	} {
		found := Search(query, 4)
		if len(found) == 0 || len(found) > 4 {
			t.Fatalf("%s: %d sections", query, len(found))
		}
		places := ""
		for _, s := range found {
			places += s.Location() + "\n"
		}
		if !strings.Contains(places, want) {
			t.Errorf("%s: no %s in\n%s", query, want, places)
		}
	}
	if found := Search("qqqq zzzz", 4); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if first := Search("jumboChunks", 1)[0]; !strings.HasSuffix(first.Heading, "jumboChunks") {
		t.Errorf("first comes %s", first.Location())
	}
}

// Each row of a long table is found alone, with the head of its table.
func TestRowsAreSections(t *testing.T) {
	rows := strings.Repeat("| `a` | b |\n", minLongTableRows)
	list := splitPage("page.md", "# Page\n\nProse.\n\n| code | meaning |\n| --- | --- |\n"+rows+"\nEnd.\n")
	if len(list) != 1+minLongTableRows || list[1].Heading != "a" || list[1].Text != "| code | meaning |\n| --- | --- |\n| `a` | b |" ||
		!strings.Contains(list[0].Text, "Prose.") || !strings.Contains(list[0].Text, "End.") {
		t.Errorf("%q", list)
	}
}
