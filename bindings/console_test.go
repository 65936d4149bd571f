package bindings

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// attached is a shell at a prompt that keeps its settings in a file.
func attached(t *testing.T, settings string) *connected {
	t.Helper()
	c := connect(t)
	if err := c.Attach(Console{Settings: settings, History: func() []string { return []string{"1", "f {\n}"} }}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSettingsLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config")
	changed := func(k string) string { return `Setting "` + k + `" has been changed` }
	run(t, attached(t, path),
		step{"config.set('displayBatchSize', 5)", changed("displayBatchSize")},
		step{"config.set('editor', 'vi -n')", changed("editor")},
		step{"config.set('inspectCompact', false)", changed("inspectCompact")},
		step{"config.set('maxTimeMS', 1000)", changed("maxTimeMS")},
		step{"config.set('loadMongoshrc', true)", changed("loadMongoshrc")},
		step{"config.set('historyLength', 7)", changed("historyLength")},
		step{"config.reset('historyLength')", `Setting "historyLength" has been reset to its default value`},
		step{"config.set('telemetryEndpoint', 'x')", `Option "telemetryEndpoint" is not available in this environment`},
	)
	text, err := os.ReadFile(path)
	want := `{"displayBatchSize":5,"editor":"vi -n","inspectCompact":false,"maxTimeMS":1000,"loadMongoshrc":true}` + "\n"
	if err != nil || string(text) != want {
		t.Errorf("file holds %s, want %s (%v)", text, want, err)
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	run(t, attached(t, path),
		step{"['displayBatchSize', 'editor', 'inspectCompact', 'maxTimeMS', 'historyLength'].map(k => config.get(k))", "[\n  5,\n  'vi -n',\n  false,\n  1000,\n  1000\n]"},
		step{"config.reset('editor')", `Setting "editor" has been reset to its default value`},
		step{"config.get('editor')", "null"},
	)
}

func TestAScriptKeepsNoSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	c := connect(t)
	run(t, c, step{"config.set('displayBatchSize', 2)", `Setting "displayBatchSize" has been changed`})
	if err := os.WriteFile(path, []byte(`{"displayBatchSize": 9, "inspectDepth": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Attach(Console{Settings: path}); err != nil {
		t.Fatal(err)
	}
	run(t, c, step{"[config.get('displayBatchSize'), config.get('inspectDepth')]", "[ 2, 1 ]"}) // the script's own stays
}

func TestBadSettingsFile(t *testing.T) {
	for _, text := range []string{"{", `{"displayBatchSize": "many"}`, `{"redactHistory": {"a": 1}}`} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := connect(t)
		if err := c.Attach(Console{Settings: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", text, err)
		}
		run(t, c, step{"config.get('displayBatchSize')", "20"})
	}
}

func TestSettingsTakeEffect(t *testing.T) {
	c := attached(t, "")
	set := func(k, v string) step {
		return step{"config.set('" + k + "', " + v + ")", `Setting "` + k + `" has been changed`}
	}
	run(t, c,
		set("inspectDepth", "0"), step{"({a: {b: 1}})", "{ a: [Object] }"}, set("inspectDepth", "6"),
		set("inspectCompact", "false"), step{"({a: 1})", "{\n  a: 1\n}"},
		set("inspectCompact", "true"), step{"({a: {b: {c: {d: {e: 1}}}}})", "{ a: { b: { c: { d: { e: 1 } } } } }"},
		set("showStackTraces", "true"), step{"[new Error('x')].length", "1"},
		set("redactHistory", "'keep'"), set("historyLength", "0"),
		step{"config.set('inspectCompact', 3)", `Setting "inspectCompact" has been changed`}, step{"history()", "[ '1', 'f {\\n}' ]"},
		step{"log.info('a', {}); log.getPath()", ""},
		step{"snippet ls", "Snippets are packages for mongosh and not available here. Scripts of your own: load(\"file.js\"), require(\"./file.js\") or ~/.shardshrc.js."},
	)
	run(t, c,
		set("pager", "'less -S'"), step{"config.get('pager')", "less -S"}, set("pager", "false"),
		step{"config.get('pager')", "false"},
		step{"config.set('pager', 5)", `Cannot set option "pager": pager must be a program, a boolean or null`},
		step{"config.set('pager', '')", `Cannot set option "pager": pager must be a program, a boolean or null`},
	)
	if _, wanted := c.Pager(); wanted {
		t.Error("it is off, and wanted")
	}
	run(t, c, set("pager", "null"))
	if program, wanted := c.Pager(); program != "" || !wanted {
		t.Errorf("%q, %v", program, wanted)
	}
	if length, redact := c.HistoryRules(); length != 0 || redact != "keep" {
		t.Errorf("%d, %s", length, redact)
	}
	c.commands()
	run(t, c, set("maxTimeMS", "500"), step{"db.orders.findOne({_id: 1}).a; db.runCommand({dbStats: 1}).ok", "1"})
	for _, sent := range c.commands() {
		if !strings.Contains(sent, `"maxTimeMS":500`) {
			t.Errorf("sent %s", sent)
		}
	}
}

func TestEdit(t *testing.T) {
	c := connect(t)
	var seen string
	back, fails := "", error(nil)
	environment := map[string]string{"EDITOR": "ed -s"}
	err := c.Attach(Console{
		Run: func(cmd *exec.Cmd) error {
			path := cmd.Args[len(cmd.Args)-1]
			text, err := os.ReadFile(path)
			seen = strings.Join(cmd.Args[:len(cmd.Args)-1], " ") + ": " + string(text)
			return errors.Join(err, fails, os.WriteFile(path, []byte(back), 0o600))
		},
		Getenv: func(name string) (string, bool) { text, ok := environment[name]; return text, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, step{"function area(r) { return r }\nvar pi = {value: 3}", ""})
	for _, tt := range []struct{ input, seen, back, suggestion string }{
		{"edit", "ed -s: ", "1 + 1\n", "1 + 1"},
		{"edit", "ed -s: 1 + 1", "2", "2"},
		{"edit()", "ed -s: 2", "a\nb\n", "a\nb"},
		{"edit area", "ed -s: function area(r) { return r }", "function area(r) {\n return 3 * r * r\n}", "area = function area(r) {\n return 3 * r * r\n}"},
		{"edit pi", "ed -s: {\n  value: 3\n}", "{value: 3.14}", "pi = {value: 3.14}"},
		{"edit fresh", "ed -s: ", "5", "fresh = 5"},
		{"edit db.orders.find({a: 1})", "ed -s: db.orders.find({a: 1})", "x", "x"},
	} {
		back = tt.back
		if text, failed := c.show(tt.input); failed || text != "Opening an editor..." {
			t.Errorf("%s shows %s", tt.input, text)
		}
		if got := c.Suggestion(); seen != tt.seen || got != tt.suggestion {
			t.Errorf("%s shows %q in the editor and suggests %q", tt.input, seen, got)
		}
	}
	run(t, c, step{"edit print", "Opening an editor...\nError: print is part of the shell: there is no source to edit"})
	fails = errors.New("no such editor")
	run(t, c, step{"edit", "Opening an editor...\nError: Command failed with an error: no such editor"})
	environment["VISUAL"] = "vi"
	fails = nil
	run(t, c, step{"edit 1", "Opening an editor..."})
	if seen != "vi: 1" {
		t.Errorf("with VISUAL: %s", seen)
	}
	run(t, c, step{"config.set('editor', 'emacs -nw')", `Setting "editor" has been changed`}, step{"edit 1", "Opening an editor..."})
	if seen != "emacs -nw: 1" {
		t.Errorf("with the setting: %s", seen)
	}
	delete(environment, "VISUAL")
	delete(environment, "EDITOR")
	run(t, c, step{"config.reset('editor')", `Setting "editor" has been reset to its default value`},
		step{"edit", "Opening an editor...\nError: Command failed with an error: please define an external editor: config.set(\"editor\", \"...\"), or $VISUAL or $EDITOR"})
	if c.Suggestion() == "" || c.Suggestion() != "" {
		t.Error("a suggestion is given once")
	}
	run(t, connect(t), step{"edit", "Error: edit works at a prompt only"})
}

func TestPasswordsFromAPipe(t *testing.T) {
	c := connect(t, func(c *Config) { c.Stdin = strings.NewReader("hunter2\r\nsecond\nlast") })
	run(t, c,
		step{"passwordPrompt()", "Enter password\nhunter2"},
		step{"passwordPrompt()", "Enter password\nsecond"},
		step{"passwordPrompt()", "Enter password\nlast"},
		step{"passwordPrompt()", "Enter password\nError: no password was given: the input has ended"},
	)
}
