package repl_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shardsh/repl"
)

func open(t rapid.TB, path string) *repl.History {
	t.Helper()
	h, err := repl.OpenHistory(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func add(t rapid.TB, h *repl.History, inputs ...string) {
	t.Helper()
	for _, in := range inputs {
		if err := h.Add(in); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhereThingsAreKept(t *testing.T) {
	for _, tt := range []struct {
		name, home        string
		env               map[string]string
		history, settings string
	}{
		{"home", "/home/ada", nil, "/home/ada/.shardsh/history", "/home/ada/.shardsh/config"},
		{"history elsewhere", "/home/ada", map[string]string{"SHARDSH_HISTORY": "/tmp/h"}, "/tmp/h",
			"/home/ada/.shardsh/config"},
		{"no history", "/home/ada", map[string]string{"SHARDSH_HISTORY": ""}, "", "/home/ada/.shardsh/config"},
		{"all elsewhere", "/home/ada", map[string]string{"SHARDSH_HOME": "/x"}, "/x/history", "/x/config"},
		{"nothing", "/home/ada", map[string]string{"SHARDSH_HOME": ""}, "", ""},
		{"no home", "", nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lookup := func(name string) (string, bool) { text, ok := tt.env[name]; return text, ok }
			if got := repl.HistoryPath(lookup, tt.home); got != filepath.FromSlash(tt.history) {
				t.Errorf("history %q, want %q", got, tt.history)
			}
			if got := repl.SettingsPath(lookup, tt.home); got != filepath.FromSlash(tt.settings) {
				t.Errorf("settings %q, want %q", got, tt.settings)
			}
		})
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
		rules repl.HistoryRules
		want  []string
	}{
		{"remove", repl.HistoryRules{Limit: 100, Redact: repl.RedactNamed("remove")}, inputs[4:]},
		{"remove-redact", repl.HistoryRules{Limit: 100, Redact: repl.RedactNamed("remove-redact")}, redacted},
		{"keep", repl.HistoryRules{Limit: 100, Redact: repl.RedactNamed("keep")}, inputs},
		{"a limit", repl.HistoryRules{Limit: 2}, inputs[7:]},
		{"none", repl.HistoryRules{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history")
			rules := func() repl.HistoryRules { return tt.rules }
			for range 2 {
				h, err := repl.OpenHistory(path, rules)
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
	const n = 2*repl.HistoryLimit + 1
	for i := range n {
		add(t, h, fmt.Sprint(i))
	}
	again := open(t, path)
	for name, got := range map[string][]string{"in the session": h.Entries(), "in the next": again.Entries()} {
		if len(got) != repl.HistoryLimit || got[0] != fmt.Sprint(n-repl.HistoryLimit) || got[len(got)-1] != fmt.Sprint(n-1) {
			t.Errorf("%s: %d entries, %s to %s", name, len(got), got[0], got[len(got)-1])
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), "\n") != repl.HistoryLimit {
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
			if in != "" && !repl.Sensitive(in) && (len(want) == 0 || want[len(want)-1] != in) {
				want = append(want, in)
			}
		}
		if got := open(t, path).Entries(); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func TestSecretsAreNeverKept(t *testing.T) {
	secret := []string{
		`db.createUser({user: "a", pwd: "hunter2", roles: []})`,
		`db.runCommand({createUser: "a", pwd: "hunter2"})`,
		`db.auth("a", "hunter2")`,
		`db.updateUser("a", {pwd: "hunter2"})`,
		`db.changeUserPassword("a", "hunter2")`,
		`x = connect("host:1/db")`,
		`m = new Mongo("host")`,
		`uri = "mongodb://ada:hunter2@host/"`,
		`uri = 'mongodb+srv://ada:p/w?x@host'`,
		`// MONGODB://ada:hunter2@host`,
		"if (x) {\n  db.auth(u, 'hunter2')\n}",
	}
	kept := []string{
		`db.authors.find()`,
		`db.getMongo()`,
		`sh.status()`,
		`reconnect()`,
		`uri = "mongodb://host:1/"; mail = "a@b"`,
	}
	path := filepath.Join(t.TempDir(), "history")
	editor := &script{}
	for _, in := range slices.Concat(secret, kept) {
		editor.steps = append(editor.steps, in)
	}
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: io.Discard,
		History: open(t, path)}); err != nil {
		t.Fatal(err)
	}
	if got := open(t, path).Entries(); !slices.Equal(got, kept) {
		t.Errorf("file holds %q", got)
	}
	if !slices.Equal(editor.remembered, kept) {
		t.Errorf("editor holds %q", editor.remembered)
	}
	// Nor offered when another program has put it there.
	if err := os.WriteFile(path, []byte("db.auth('a', 'b')\nsh.status()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := open(t, path).Entries(); !slices.Equal(got, []string{"sh.status()"}) {
		t.Errorf("offered: %q", got)
	}
}

func TestHistoryOfTheLastSessionIsAtHand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	add(t, open(t, path), "one", "two")
	editor := &script{steps: []any{"three"}}
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: io.Discard,
		History: open(t, path)}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(editor.remembered, want) {
		t.Errorf("%q", editor.remembered)
	}
}

func TestHistoryThatCannotBeWrittenWarnsOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	h := open(t, filepath.Join(dir, "history"))
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the directory was to be
		t.Fatal(err)
	}
	out, editor := &buffer{}, &script{steps: []any{"1", "2"}}
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: out, History: h}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "Warning: the history is not kept: "); n != 1 {
		t.Errorf("%d warnings: %s", n, out)
	}
	if !slices.Equal(editor.remembered, []string{"1", "2"}) {
		t.Errorf("in the session: %q", editor.remembered)
	}
	if h, err := repl.OpenHistory(filepath.Join(dir, "history"), nil); h != nil || err == nil {
		t.Errorf("reading it: %v, %v", h, err)
	}
	if h, err := repl.OpenHistory("", nil); h != nil || err != nil {
		t.Errorf("no path: %v, %v", h, err)
	}
}
