package bindings_test

import (
	"strings"
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/shelltest"
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

// harmless are the rest: what they answer is not from a file, a variable or another machine.
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
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Sandbox = &sandbox.Rules{} })
	known := map[string]bool{}
	for name := range strings.FieldsSeq(harmless) {
		known[name] = true
	}
	names, _ := c.Show(`[["fs", fs], ["fs.promises", fs.promises], ["path", path], ["os", os], ["crypto", crypto], ["url", url],
		["util", util], ["timers", timers], ["process", process]].flatMap(([at, m]) =>
			Object.keys(m).filter(k => typeof m[k] === "function").map(k => at + "." + k)).join(" ")`)
	all := strings.Fields(strings.Trim(names, "'"))
	for _, g := range c.NodeWorld().FileGlobals() {
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
		got, _ := c.Show("await " + name + `("/etc/hosts", "/etc/x")`)
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
		if got, _ := c.Show(source); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s in a sandbox: %s", source, got)
		}
	}
}
