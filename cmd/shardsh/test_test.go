package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The exit code and the last line tell what came of tests.
func TestTestCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good/a_test.js", `it("a", () => expect(run("shardsh:status", {}).exitCode).toBe(0)); it.todo("b")`)
	bad := write("bad/a_test.js", `it("a", () => expect(1).toBe(2)); it("b", () => {})`)
	broken := write("broken/a_test.js", `it("a", `)
	empty := filepath.Dir(write("empty/a.js", ``))
	for name, tt := range map[string]struct {
		args []string
		code int
		last string // line of standard output
		says string // on standard error
	}{
		"all pass":          {[]string{good}, 0, "1 passed, 0 failed", ""},
		"one fails":         {[]string{bad}, 1, "1 passed, 1 failed", ""},
		"a folder":          {[]string{dir}, 1, "2 passed, 2 failed", ""},
		"a syntax error":    {[]string{broken}, 1, "0 passed, 1 failed", ""},
		"a filter":          {[]string{bad, "--filter", "^b$"}, 0, "1 passed, 0 failed", ""},
		"no tests":          {[]string{empty}, 2, "", "no tests found in " + empty},
		"no file":           {[]string{"nope_test.js"}, 2, "", "nope_test.js: there is no such file or folder"},
		"a wrong filter":    {[]string{good, "--filter", "("}, 2, "", "--filter: error parsing regexp"},
		"none matches":      {[]string{good, "--filter", "zzz"}, 2, "0 passed, 0 failed", "--filter zzz matches no test"},
		"a wrong release":   {[]string{good, "--server-version", "9.9"}, 2, "", "--server-version"},
		"a wrong number":    {[]string{good, "--jobs", "0"}, 2, "", "--jobs takes a number from 1 on, not 0"},
		"two wrong numbers": {[]string{good, "--jobs", "0", "--repeat", "0"}, 2, "", "--repeat takes a number from 1 on, not 0"},
		"an unknown option": {[]string{good, "--nope"}, 2, "", "--nope"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"test"}, tt.args...)...)
			lines := strings.Split(strings.TrimSpace(stdout), "\n")
			if code != tt.code || lines[len(lines)-1] != tt.last || !strings.Contains(stderr, tt.says) {
				t.Errorf("code %d, want %d\n%s\n%s", code, tt.code, stdout, stderr)
			}
		})
	}
}
