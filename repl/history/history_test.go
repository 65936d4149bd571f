package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shardsh/repl/history"
)

func open(t rapid.TB, path string) *history.File {
	t.Helper()
	h, err := history.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func add(t rapid.TB, h *history.File, inputs ...string) {
	t.Helper()
	for _, in := range inputs {
		if err := h.Add(in); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistoryRules(t *testing.T) {
	inputs := []string{
		"db.auth('ada', 'hunter2')", "db.createUser({user: 'a', pwd: 'hunter2'})", "x = {pwd: 'hunter2'}",
		"u = 'mongodb://ada:hunter2@db.example.com/'",
		"sh.addShard('rs/10.1.2.3:27018')", "mail('ada@example.com', 'https://example.com/x?y=1')",
		"load('/home/ada/fix.js'); BinData(0, 'aHVudGVyMg==')", "u = 'mongodb://db.example.com/'", "[1, 2, 3].map(x => x::y)",
	}
	redacted := []string{
		"sh.addShard('rs/<ip address>:27018')", "mail('<email>', '<url>')",
		"load('/home/<user>/fix.js'); BinData(0, <data>)", "u = '<mongodb uri>'", "[1, 2, 3].map(x => x::y)",
	}
	for _, tt := range []struct {
		name  string
		rules history.Rules
		want  []string
	}{
		{"remove", history.Rules{Limit: 100, Redact: history.ParseRedactMode("remove")}, inputs[4:]},
		{"remove-redact", history.Rules{Limit: 100, Redact: history.ParseRedactMode("remove-redact")}, redacted},
		{"keep", history.Rules{Limit: 100, Redact: history.ParseRedactMode("keep")}, inputs},
		{"a limit", history.Rules{Limit: 2}, inputs[7:]},
		{"none", history.Rules{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history")
			rules := func() history.Rules { return tt.rules }
			for range 2 {
				h, err := history.Open(path, rules)
				if err != nil {
					t.Fatal(err)
				}
				if len(h.Entries()) == 0 {
					add(t, h, inputs...)
				}
				if got := h.Entries(); !slices.Equal(got, tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
			}
		})
	}
}

func TestHistoryLastsBeyondTheSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "history")
	add(t, open(t, path), "one", "f {\n  '\\n'\n}", "two", "two")
	want := []string{"one", "f {\n  '\\n'\n}", "two"}
	if got := open(t, path).Entries(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), "\n") != 3 || !strings.HasPrefix(string(raw), "one\n") {
		t.Errorf("file is %q, %v", raw, err)
	}
}

func TestHistoryClosesAnOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, path), "new")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestSessionsSideBySide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	a, b := open(t, path), open(t, path)
	add(t, a, "a1")
	add(t, b, "b1")
	add(t, a, "a2")
	if got, want := open(t, path).Entries(), []string{"a1", "b1", "a2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHistoryIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := open(t, path)
	const n = 2*history.DefaultLimit + 1
	for i := range n {
		add(t, h, fmt.Sprint(i))
	}
	again := open(t, path)
	for name, got := range map[string][]string{"in the session": h.Entries(), "in the next": again.Entries()} {
		if len(got) != history.DefaultLimit || got[0] != fmt.Sprint(n-history.DefaultLimit) || got[len(got)-1] != fmt.Sprint(n-1) {
			t.Errorf("%s: %d entries, %s to %s", name, len(got), got[0], got[len(got)-1])
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), "\n") != history.DefaultLimit {
		t.Errorf("%d lines in the file, %v", strings.Count(string(raw), "\n"), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestHistoryKeepsAnyText(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		var want []string
		h := open(t, path)
		for _, in := range rapid.SliceOfN(rapid.StringMatching(`[a-z \\nr\n\r⏎{}"']{0,20}`), 0, 10).Draw(t, "inputs") {
			add(t, h, in)
			if in != "" && !history.IsSensitive(in) && (len(want) == 0 || want[len(want)-1] != in) {
				want = append(want, in)
			}
		}
		if got := open(t, path).Entries(); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
