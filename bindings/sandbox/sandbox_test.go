package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/shelltest"
)

// TestSandboxGrants: what was granted goes, and nothing beside it.
func TestSandboxGrants(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GRANTED", "yes")
	t.Setenv("HIDDEN", "no")
	for name, text := range map[string]string{
		"open/a.txt": "text", "open/m.js": "module.exports = 1", "open/e.mjs": `import s from "../shut/s.txt"; export default s`,
		"shut/s.txt": "secret", "code/lib.js": "module.exports = 2", "openly/s.txt": "secret",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../shut", "open/link"); err != nil {
		t.Fatal(err)
	}
	c := shelltest.Connect(t, func(cfg *bindings.Config) {
		cfg.Sandbox = &sandbox.Rules{ReadPaths: []string{"open"}, CodePaths: []string{filepath.Join(dir, "code")},
			EnvNames: []string{"GRANTED"}, Hosts: []string{"127.0.0.1:1", "granted"}}
	})
	const refused = "EACCES: --sandbox: scripts may not read"
	for source, want := range map[string]string{
		`fs.readFileSync("open/a.txt", "utf8") + cat("open/../open/a.txt")`:                          "texttext",
		`fs.readdirSync("open").length`:                                                              "4",
		`fs.existsSync("open/none")`:                                                                 "false",
		`require("./open/m.js") + require("./code/lib.js")`:                                          "3",
		`fs.readFileSync("code/lib.js")`:                                                             refused,
		`fs.readFileSync("shut/s.txt")`:                                                              refused,
		`fs.readFileSync("open/../shut/s.txt")`:                                                      refused,
		`fs.readFileSync("open/link/s.txt")`:                                                         refused,
		`fs.readFileSync("openly/s.txt")`:                                                            refused,
		`fs.existsSync("shut/none")`:                                                                 refused,
		`await import("./open/e.mjs")`:                                                               refused,
		`fs.writeFileSync("open/b", "x")`:                                                            "EACCES: --sandbox: scripts may not write files",
		`process.env.GRANTED + Object.keys(process.env)`:                                             "yesGRANTED",
		`process.env.HIDDEN`:                                                                         refused + " the variable HIDDEN",
		`new Mongo("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1")`:                             "Error: ",
		`new Mongo("mongodb://127.0.0.1:2/?serverSelectionTimeoutMS=1")`:                             "scripts may not connect to 127.0.0.1:2",
		`new Mongo("mongodb://127.0.0.1:1/?tls=true&tlsCAFile=" + encodeURIComponent("/etc/hosts"))`: refused + " /etc/hosts",
		`new Mongo("mongodb://127.0.0.1:1?@other:2/")`:                                               "scripts may not connect to other:2",
		`new Mongo("mongodb://127.0.0.1:1/?tls=true;tlsCAFile=%2Fetc%2Fhosts")`:                      refused + " /etc/hosts",
	} {
		if got, _ := c.Show(source); !strings.Contains(got, want) {
			t.Errorf("%s: %s", source, got)
		}
	}
}
