package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README is short, and docs/README.md has each page once, in a line that says what
// it answers.
func TestIndex(t *testing.T) {
	if n := strings.Count(read(t, "../README.md"), "\n"); n > 120 {
		t.Errorf("the README has %d lines, more than 120", n)
	}
	index := read(t, "README.md")
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if page == "README.md" {
			continue
		}
		entry := regexp.MustCompile(`(?m)^- \[[^\]]+\]\(` + regexp.QuoteMeta(page) + `\): \S`)
		if n := len(entry.FindAllString(index, -1)); n != 1 {
			t.Errorf("docs/README.md has %d lines for %s, want one: - [name](%s): what it answers", n, page, page)
		}
	}
}

// A page begins with a sentence that says what it answers, and not with a table, an
// example or another heading.
func TestBeginnings(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	begins := regexp.MustCompile("\\A# [^\n]+\n\n[\\p{Lu}`][^\n|]+")
	for _, page := range pages {
		if !begins.MatchString(read(t, page)) {
			t.Errorf("%s does not begin with a title and a sentence", page)
		}
	}
}
