package doctest

import (
	"regexp"
	"strings"
	"testing"
)

// varying is what no two runs have alike.
var varying = []struct {
	what *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`\b[\w.]+:\d{5}\b`), "(address)"},
	{regexp.MustCompile(` \(\d+(\.\d+)?m?s\)`), ""},
	{regexp.MustCompile(`, \d+(\.\d+)?m?s\)`), ")"},
	{regexp.MustCompile(`\bin \d+(\.\d+)?m?s\b`), "in (time)"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|µs)\b`), "(time)"},
	{regexp.MustCompile(`\b[0-9a-f]{24}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "(id)"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

func still(text string) string {
	for _, v := range varying {
		text = v.what.ReplaceAllString(text, v.is)
	}
	return strings.TrimSpace(text)
}

// shows reports whether an output is what a page shows, where "…" stands for anything on
// the line, and alone on a line for any lines.
func shows(page, output string) bool {
	lines := strings.Split(still(page), "\n")
	var b strings.Builder
	b.WriteString(`\A`)
	for _, line := range lines {
		if strings.TrimSpace(line) == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "…")
		for j, part := range parts {
			parts[j] = regexp.QuoteMeta(part)
		}
		b.WriteString(strings.Join(parts, ".*?"))
		b.WriteString(`\n`)
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String()).MatchString(still(output) + "\n")
}

func TestShows(t *testing.T) {
	for _, tt := range []struct {
		page, output string
		want         bool
	}{
		{"a\nb\n", "a\nb", true},
		{"a\nb", "a\nc", false},
		{"a\nb", "a\nb\nc", false},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"a\n…", "a\nb\nc", true},
		{"…\nc", "a\nb\nc", true},
		{"…\nc", "a\nb\ncd", false},
		{"x … z", "x y z", true},
		{"x … z", "x\nz", false},
		{"(a+b)", "aab", false},
		{"x (14 faults)\ny", "x (14 faults, 675ms)\ny (1.2s)", true},
		{"in 42ms", "in 7.5s  ", true},
		{"mongodb://127.0.0.1:41675/", "mongodb://127.0.0.1:38888/", true},
		{"at h1:27017", "at 127.0.0.1:45454", true},
		{"took 5 s", "took 6 s", false},
	} {
		if got := shows(tt.page, tt.output); got != tt.want {
			t.Errorf("%q shows as %q: %v", tt.output, tt.page, got)
		}
	}
}
