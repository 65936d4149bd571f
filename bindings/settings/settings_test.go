package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// attached is a shell at a prompt that keeps its settings in a file.
func attached(t *testing.T, settings string) *connected {
	t.Helper()
	c := shelltest.Connect(t)
	if err := c.Attach(bindings.ConsoleHooks{SettingsFile: settings, History: func() []string { return []string{"1", "f {\n}"} }}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSettingsLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config")
	changed := func(k string) string { return `Setting "` + k + `" has been changed` }
	shelltest.Run(t, attached(t, path),
		step{"config.set('displayBatchSize', 5)", changed("displayBatchSize")},
		step{"config.set('editor', 'vi -n')", changed("editor")},
		step{"config.set('inspectCompact', false)", changed("inspectCompact")},
		step{"config.set('maxTimeMS', 1000)", changed("maxTimeMS")},
		step{"[0, 0.5, NaN].map(n => config.set('maxTimeMS', n))[1]", `Cannot set option "maxTimeMS": maxTimeMS must be null or a positive integer`},
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
	shelltest.Run(t, attached(t, path),
		step{"['displayBatchSize', 'editor', 'inspectCompact', 'maxTimeMS', 'historyLength'].map(k => config.get(k))", "[\n  5,\n  'vi -n',\n  false,\n  1000,\n  1000\n]"},
		step{"config.reset('editor')", `Setting "editor" has been reset to its default value`},
		step{"config.get('editor')", "null"},
	)
}

func TestAScriptKeepsNoSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	c := shelltest.Connect(t)
	shelltest.Run(t, c, step{"config.set('displayBatchSize', 2)", `Setting "displayBatchSize" has been changed`})
	if err := os.WriteFile(path, []byte(`{"displayBatchSize": 9, "inspectDepth": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Attach(bindings.ConsoleHooks{SettingsFile: path}); err != nil {
		t.Fatal(err)
	}
	shelltest.Run(t, c, step{"[config.get('displayBatchSize'), config.get('inspectDepth')]", "[ 2, 1 ]"}) // the script's own stays
}

func TestBadSettingsFile(t *testing.T) {
	for _, text := range []string{"{", `{"displayBatchSize": "many"}`, `{"redactHistory": {"a": 1}}`} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := shelltest.Connect(t)
		if err := c.Attach(bindings.ConsoleHooks{SettingsFile: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", text, err)
		}
		shelltest.Run(t, c, step{"config.get('displayBatchSize')", "20"})
	}
}

func TestSettingsTakeEffect(t *testing.T) {
	c := attached(t, "")
	set := func(k, v string) step {
		return step{"config.set('" + k + "', " + v + ")", `Setting "` + k + `" has been changed`}
	}
	shelltest.Run(t, c,
		set("inspectDepth", "0"), step{"({a: {b: 1}})", "{ a: [Object] }"}, set("inspectDepth", "6"),
		set("inspectCompact", "false"), step{"({a: 1})", "{\n  a: 1\n}"},
		set("inspectCompact", "true"), step{"({a: {b: {c: {d: {e: 1}}}}})", "{ a: { b: { c: { d: { e: 1 } } } } }"},
		set("showStackTraces", "true"), step{"[new Error('x')].length", "1"},
		set("redactHistory", "'keep'"), set("historyLength", "0"),
		step{"config.set('inspectCompact', 3)", `Setting "inspectCompact" has been changed`}, step{"history()", "[ '1', 'f {\\n}' ]"},
		step{"log.info('a', {}); log.getPath()", ""},
		step{"snippet ls", "Snippets are packages for mongosh and not available here. Scripts of your own: load(\"file.js\"), require(\"./file.js\") or ~/.shardshrc.js."},
	)
	shelltest.Run(t, c,
		set("pager", "'less -S'"), step{"config.get('pager')", "less -S"}, set("pager", "false"),
		step{"config.get('pager')", "false"},
		step{"config.set('pager', 5)", `Cannot set option "pager": pager must be a program, a boolean or null`},
		step{"config.set('pager', '')", `Cannot set option "pager": pager must be a program, a boolean or null`},
	)
	if _, wanted := c.Pager(); wanted {
		t.Error("it is off, and wanted")
	}
	shelltest.Run(t, c, set("pager", "null"))
	if program, wanted := c.Pager(); program != "" || !wanted {
		t.Errorf("%q, %v", program, wanted)
	}
	if length, redact := c.HistoryRules(); length != 0 || redact != "keep" {
		t.Errorf("%d, %s", length, redact)
	}
	c.TakeCommands()
	shelltest.Run(t, c, set("maxTimeMS", "500"), step{"db.orders.findOne({_id: 1}).a; db.runCommand({dbStats: 1}).ok", "1"})
	for _, sent := range c.TakeCommands() {
		if !strings.Contains(sent, `"maxTimeMS":500`) {
			t.Errorf("sent %s", sent)
		}
	}
}
