package bindings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/bindings/sandbox"
)

// reaches says what each function that scripts know from Node, and each of the
// shell's about files, does to this machine: read, write or env. The others do nothing
// to it.
var reaches = map[string]string{
	"fs.readFileSync": "read", "fs.readdirSync": "read", "fs.statSync": "read", "fs.existsSync": "read",
	"fs.copyFileSync": "read", "fs.rmSync": "write", "fs.rmdirSync": "write", "fs.mkdtempSync": "write",
	"fs.writeFileSync": "write", "fs.appendFileSync": "write", "fs.mkdirSync": "write", "fs.unlinkSync": "write",
	"fs.renameSync": "write", "fs.promises.readFile": "read", "fs.promises.readdir": "read", "fs.promises.stat": "read",
	"fs.promises.copyFile": "read", "fs.promises.rm": "write", "fs.promises.rmdir": "write", "fs.promises.mkdtemp": "write",
	"fs.promises.writeFile": "write", "fs.promises.appendFile": "write", "fs.promises.mkdir": "write",
	"fs.promises.unlink": "write", "fs.promises.rename": "write", "fs.promises.access": "read",
	"os.homedir": "env", "os.tmpdir": "env",
	"load": "read", "cat": "read", "ls": "read", "listFiles": "read", "cd": "read", "fileExists": "read", "md5sumFile": "read",
	"mkdir": "write", "removeFile": "write", "writeFile": "write", "require": "read",
}

// harmless are the rest: what they answer is no file, no variable, no other machine.
const harmless = `path.join path.resolve path.dirname path.basename path.extname path.normalize path.isAbsolute
	path.relative path.parse path.format os.hostname os.platform os.arch os.cpus os.totalmem os.freemem os.type
	crypto.createHash crypto.createHmac crypto.randomBytes crypto.randomUUID crypto.randomInt
	url.URL url.URLSearchParams url.parse url.fileURLToPath url.pathToFileURL url.domainToASCII url.domainToUnicode url.urlToHttpOptions
	util.inspect util.format util.promisify util.isDeepStrictEqual
	timers.setTimeout timers.setInterval timers.setImmediate timers.clearTimeout timers.clearInterval timers.clearImmediate
	process.exit process.cwd process.uptime process.hrtime process.memoryUsage process.nextTick process.on
	pwd hostname getHostName getMemInfo`

// TestSandboxOfEveryFunction: nothing that reaches this machine does so from a
// sandbox, and what is new has to be put into one of the lists.
func TestSandboxOfEveryFunction(t *testing.T) {
	t.Chdir(t.TempDir())
	c := connect(t, func(cfg *Config) { cfg.Sandbox = &sandbox.Rules{} })
	known := map[string]bool{}
	for name := range strings.FieldsSeq(harmless) {
		known[name] = true
	}
	names, _ := c.show(`[["fs", fs], ["fs.promises", fs.promises], ["path", path], ["os", os], ["crypto", crypto], ["url", url],
		["util", util], ["timers", timers], ["process", process]].flatMap(([at, m]) =>
			Object.keys(m).filter(k => typeof m[k] === "function").map(k => at + "." + k)).join(" ")`)
	all := strings.Fields(strings.Trim(names, "'"))
	for _, g := range c.Shell.node.Files() {
		all = append(all, g.Name)
	}
	if len(all) < 70 {
		t.Fatalf("only %d functions: %s", len(all), names)
	}
	for _, name := range append(all, "require") {
		what := reaches[name]
		if what == "" {
			if !known[name] {
				t.Errorf("%s is in none of the lists", name)
			}
			continue
		}
		got, _ := c.show("await " + name + `("/etc/hosts", "/etc/x")`)
		if !strings.Contains(got, "Error: EACCES: --sandbox: scripts may not "+strings.Replace(what, "env", "read the variable", 1)) {
			t.Errorf("%s (%s) in a sandbox: %s", name, what, got)
		}
	}
	for source, want := range map[string]string{
		`process.env.PATH`:                         "read the variable PATH of the environment; --allow-env PATH would allow it",
		`Object.keys(process.env)`:                 "[]",
		`process.env.SURELY_NOT_THERE`:             "",
		`new Mongo("mongodb://other:1")`:           "connect to other:1; --allow-net other:1 would allow it",
		`connect("joe:x@other/db")`:                "connect to other; --allow-net other would allow it",
		`new Mongo("mongodb+srv://cluster.other")`: "connect to cluster.other; --allow-net cluster.other",
		`await import("/etc/hosts")`:               "read /etc/hosts; --allow-read /etc/hosts would allow it",
		`load("/etc/hosts")`:                       "read /etc/hosts; --allow-read /etc/hosts would allow it",
		`fs.readFileSync("../x y")`:                `read "../x y"; --allow-read "../x y" would allow it`,
		`require("child_process")`:                 "is not available",
	} {
		if got, _ := c.show(source); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s in a sandbox: %s", source, got)
		}
	}
}

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
	c := connect(t, func(cfg *Config) {
		cfg.Sandbox = &sandbox.Rules{Read: []string{"open"}, Code: []string{filepath.Join(dir, "code")},
			Env: []string{"GRANTED"}, Net: []string{"127.0.0.1:1", "granted"}}
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
	} {
		if got, _ := c.show(source); !strings.Contains(got, want) {
			t.Errorf("%s: %s", source, got)
		}
	}
}
