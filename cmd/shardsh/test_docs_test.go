package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedFile  = regexp.MustCompile("(?s)```js\n// (\\S+\\.js)\n(.*?)```")
	shownTests = regexp.MustCompile("(?s)```text\n\\$ shardsh (test [^\n]*)\n(.*?)```")
	spentTime  = regexp.MustCompile(`(, |\()?\b[\d.]+m?s\)|in [\d.]+m?s`)
)

// The files in docs/testing.md are tests that pass, and give the output that
// stands there.
func TestDocsOfTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Clean(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range namedFile.FindAllStringSubmatch(string(page), -1) {
		text := "// " + m[1] + "\n" + m[2]
		write(m[1], text)
		plain := strings.NewReplacer("again(() => sh.startBalancer())", "sh.startBalancer()", `run("empty.js"`, `run("plain.js"`)
		write(strings.Replace(m[1], "empty", "plain", 1), plain.Replace(text))
	}
	runs := shownTests.FindAllStringSubmatch(string(page), -1)
	if len(runs) != 3 {
		t.Fatalf("%d runs of tests in the page, want 3", len(runs))
	}
	still := func(text string) string {
		text = spentTime.ReplaceAllStringFunc(text, func(m string) string {
			if strings.HasPrefix(m, ", ") {
				return ")"
			}
			return ""
		})
		return strings.ReplaceAll(text, " \n", "\n")
	}
	for _, m := range runs {
		_, stdout, _ := runProgram(t, "", strings.Fields(m[1])...)
		if got, want := still(stdout), strings.TrimRight(still(m[2]), "\n"); !strings.HasPrefix(got, want) {
			t.Errorf("%s gives\n%s\nthe page has\n%s", m[1], got, want)
		}
	}
}
