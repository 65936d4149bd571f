package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsAsJSON: with --json, and with --jsonl in one line, every error is a
// document, also one from before there was a connection or a script.
func TestErrorsAsJSON(t *testing.T) {
	broken := writeFile(t, "broken.js", "const a = ;")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want map[string]string // "" means that there has to be one
	}{
		{"nobody listens", []string{"127.0.0.1:1", "--eval", "1"}, 1, map[string]string{"name": "MongoServerSelectionError",
			"message": "can't reach mongodb://127.0.0.1:1: connection refused"}},
		{"no such host", []string{"nohost.invalid", "--eval", "1"}, 1, map[string]string{"name": "MongoServerSelectionError", "message": ""}},
		{"no such file of the mock", []string{"--mock=/nope.json", "--eval", "1"}, 2, map[string]string{"name": "UsageError", "message": ""}},
		{"no such script", []string{"--nodb", "/nope.js"}, 1, map[string]string{"name": "Error", "message": ""}},
		{"a syntax error", []string{"--nodb", broken}, 1, map[string]string{"name": "SyntaxError", "at": ""}},
		{"an error of a script", []string{"--nodb", "--eval", "throw new RangeError('far')"}, 1,
			map[string]string{"name": "RangeError", "message": "far"}},
		{"an error of a helper", []string{"--mock", "1", "--eval", "sh.chunks('a.b')"}, 1, map[string]string{"name": "MongoshInvalidInputError"}},
		{"an error of the server", []string{"--mock", "1", "--eval", "db.adminCommand({nope: 1})"}, 1,
			map[string]string{"name": "MongoServerError", "codeName": "CommandNotFound", "errmsg": ""}},
		{"a value that is not JSON", []string{"--nodb", "--eval", "const o = {}; o.o = o; o"}, 1, map[string]string{"name": ""}},
		{"out of time", []string{"--nodb", "--timeout", "20ms", "--eval", "for (;;);"}, 1, map[string]string{"name": "Timeout"}},
		{"no database", []string{"--nodb", "--eval", "db.c.find()"}, 1, map[string]string{"name": "MongoshInvalidInputError"}},
	} {
		for _, option := range []string{"--json", "--jsonl"} {
			t.Run(tt.name+option, func(t *testing.T) {
				code, stdout, stderr := runProgram(t, "", append([]string{option, "--quiet"}, tt.args...)...)
				var doc map[string]any
				if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != tt.code || doc["ok"] != 0.0 || stderr != "" {
					t.Fatalf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
				}
				if option == "--jsonl" && strings.Count(stdout, "\n") != 1 {
					t.Errorf("%q is not a line", stdout)
				}
				for field, want := range tt.want {
					if got, _ := doc[field].(string); got == "" || want != "" && got != want {
						t.Errorf("%s is %q, want %q", field, got, want)
					}
				}
			})
		}
	}
	if code, stdout, _ := runProgram(t, "", "--json", "--nodb", "--eval", "quit(4)"); code != 4 || stdout != "" {
		t.Errorf("quit(4): exit code %d, stdout %q", code, stdout)
	}
}

// TestAPipeLeavesNothingBehind: what comes from a pipe is not a session of the
// user's.
func TestAPipeLeavesNothingBehind(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if code, stdout, stderr := runProgram(t, "1 + 1\nconfig.set('displayBatchSize', 3)\n", "--nodb", "--quiet",
		"--interactive"); code != 0 || !strings.Contains(stdout, "2") || stderr != "" {
		t.Fatalf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	_ = filepath.WalkDir(home, func(path string, _ os.DirEntry, _ error) error {
		if path != home {
			t.Errorf("%s was left", path)
		}
		return nil
	})
}
