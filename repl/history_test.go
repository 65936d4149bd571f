package repl_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shardsh/repl"
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
	if n := strings.Count(out.String(), "Warning: the history is not saved: "); n != 1 {
		t.Errorf("%d warnings: %s", n, out)
	}
	if !slices.Equal(editor.remembered, []string{"1", "2"}) {
		t.Errorf("in the session: %q", editor.remembered)
	}
	if h, err := history.Open(filepath.Join(dir, "history"), nil); h != nil || err == nil {
		t.Errorf("reading it: %v, %v", h, err)
	}
	if h, err := history.Open("", nil); h != nil || err != nil {
		t.Errorf("no path: %v, %v", h, err)
	}
}
