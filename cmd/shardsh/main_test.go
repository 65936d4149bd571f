package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/bindings/script"
)

// program is one run of the whole program inside the test.
type program struct {
	stdin string
	env   map[string]string
	args  []string
	clock script.Clock // of runs on clusters with an address; nil for the system's
}

func (p program) run(t *testing.T) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := environment{
		args: p.args, streams: streams{stdin: strings.NewReader(p.stdin), stdout: &out, stderr: &errs},
		getenv:  func(name string) (string, bool) { v, ok := p.env[name]; return v, ok },
		process: process{clock: p.clock},
	}
	code = env.run(context.Background())
	return code, out.String(), errs.String()
}

func runProgram(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return program{stdin: stdin, args: args}.run(t)
}

// isTerminalAvailable reports whether the test itself runs on a terminal.
func isTerminalAvailable() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	return tty.Close() == nil
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// manyDocuments returns a cursor of more than a page.
const manyDocuments = "for (let i = 0; i < 25; i++) db.c.insertOne({_id: i}); db.c.find()"

func TestCommandLine(t *testing.T) {
	script := writeFile(t, "hello.js", `print("hello " + process.argv.slice(2).join(","))`)
	failing := writeFile(t, "failing.js", "const a = 1;\nthrow new Error('broken')\n")
	syntax := writeFile(t, "syntax.js", "print('never');\nlet x = ;\n")
	topology := writeFile(t, "topology.json",
		`{"shards": [{"id": "a"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "b"}]}]}`)
	tests := []struct {
		name   string
		stdin  string
		args   []string
		code   int
		stdout string // whole, unless it begins with ~: then a part
		stderr string // a part
	}{
		{"an eval prints its result", "", []string{"--nodb", "--eval", "1+1"}, 0, "2\n", ""},
		{"only the last eval prints", "", []string{"--nodb", "--eval", "1", "--eval", "2"}, 0, "2\n", ""},
		{"undefined prints nothing", "", []string{"--nodb", "--eval", "undefined"}, 0, "", ""},
		{"script arguments", "", []string{"--nodb", script, "--", "a", "b"}, 0, "hello a,b\n", ""},
		{"a verb with a slip", "", []string{"chek", "--mock=3"}, 2, "", "did you mean shardsh check?"},
		{"letters that changed places", "", []string{"drian", "--mock=3"}, 2, "", "did you mean shardsh drain?"},
		{"a database, nothing like a verb", "", []string{"orders", "--mock=3", "--eval", "db.getName()"}, 0, "orders\n", ""},
		{"a scheme of something else", "", []string{"mongo://localhost"}, 2, "",
			"mongo:// does not begin a connection string: use mongodb://"},
		{"no database, and an address", "", []string{"--nodb", "localhost:2", "--eval", "1"}, 2, "",
			`"localhost:2" is not a script that exists`},
		{"a page of a cursor", "", []string{"--mock=3", "--eval", manyDocuments}, 0, "~Type \"it\" for more\n", ""},
		{"a whole cursor", "", []string{"--mock=3", "--limit", "0", "--eval", manyDocuments}, 0, "~  { _id: 24 }\n]\n", ""},
		{"two of a cursor", "", []string{"--mock=3", "--limit=2", "--eval", manyDocuments}, 0, "[ { _id: 0 }, { _id: 1 } ]\n", ""},
		{"a limit below 0", "", []string{"--limit=-1", "--eval", "1"}, 2, "", "expected a non-negative integer"},
		{"quit gives the exit code", "", []string{"--nodb", "--eval", "quit(6)"}, 6, "", ""},
		{"process.exitCode counts", "", []string{"--nodb", "--eval", "process.exitCode = 9; undefined"}, 9, "", ""},
		{"process.exitCode is 0 to 255", "", []string{"--nodb", "--eval", "process.exitCode = 256; undefined"}, 1, "",
			"process.exitCode 256 is not between 0 and 255"},
		{"process.exitCode may be text", "", []string{"--nodb", "--eval", "process.exitCode = '7'; undefined"}, 7, "", ""},
		{"quit is 0 to 255", "", []string{"--nodb", "--eval", "quit(256)"}, 1, "", "exit code 256 is not between 0 and 255"},
		{"atExit runs", "", []string{"--nodb", "--eval", "atExit(() => print('bye')); undefined"}, 0, "bye\n", ""},
		{"shipped scripts load by name", "", []string{"--quiet", "--eval", "load('shardsh:status.js')"}, 0,
			"~no sharded collections", ""},
		{"a pipe is a script", "print(1+2)\n", []string{"--nodb"}, 0, "3\n", ""},
		{"json", "", []string{"--nodb", "--json=relaxed", "--eval", "({a: NumberLong('5')})"}, 0, "{\n  \"a\": 5\n}\n", ""},
		{"canonical json", "", []string{"--nodb", "--json", "--eval", "({a: NumberLong('5')})"}, 0,
			"{\n  \"a\": {\n    \"$numberLong\": \"5\"\n  }\n}\n", ""},
		{"json of a reply", "", []string{"--quiet", "--json=relaxed", "--eval", "db.adminCommand({ping: 1})"}, 0,
			"{\n  \"ok\": 1\n}\n", ""},
		{"json of an error", "", []string{"--quiet", "--json", "--eval", "db.adminCommand({nope: 1})"}, 1,
			"~\"errmsg\": \"no such command", ""},
		{"the mock says that it is one", "", []string{"--eval", "db.getName()"}, 0, "test\n",
			"No address given: using the embedded mock, 3 shards, virtual time."},
		{"at a prompt the banner says it, in two lines", ".exit\n", []string{"--interactive", "--norc"}, 0,
			"~Connected to mongodb://mock:27017/ (MongoDB 8.0.10, mock, 3 shards, real time)\nshardsh 0", ""},
		{"one shard", ".exit\n", []string{"--interactive", "--norc", "--mock=1"}, 0, "~mock, 1 shard, real time", ""},
		{"quiet", "", []string{"--quiet", "--eval", "db.getName()"}, 0, "test\n", ""},
		{"a number of shards", "", []string{"--quiet", "--mock=5", "--eval", "sh.listShards().length"}, 0, "5\n", ""},
		{"an error has its place", "", []string{"--nodb", failing}, 1, "", "failing.js:2:"},
		{"a syntax error shows the line", "", []string{"--nodb", syntax}, 1, "", "let x = ;"},
		{"a syntax error has its place", "", []string{"--nodb", syntax}, 1, "", "syntax.js:2:"},
		{"a server error has its code name", "", []string{"--quiet", "--eval", "sh.moveChunk('no.where', {x: 1}, 'shard0')"},
			1, "", "NamespaceNotFound"},
		{"a missing script", "", []string{"--nodb", "nowhere.js"}, 1, "", "nowhere.js"},
		{"an unknown option", "", []string{"--nope"}, 2, "", "--nope"},
		{"a bad value", "", []string{"--json=xml", "--eval", "1"}, 2, "", "canonical or relaxed"},
		{"an unknown parameter", "", []string{"--set-parameter", "nope=1", "--eval", "1"}, 2, "", `"nope"`},
		{"a parameter out of range", "", []string{"--set-parameter", "transactionLifetimeLimitSeconds=0", "--eval", "1"}, 2,
			"", "transactionLifetimeLimitSeconds"},
		{"mock options without the mock", "", []string{"--nodb", "--seed", "1", "--eval", "1"}, 2, "", "--seed"},
		{"a topology with an error names the field", "", []string{"--mock=" + topology, "--eval", "1"}, 2, "",
			"collections[0].chunks[0].shard"},
		{"version", "", []string{"--version"}, 0, "~0", ""},
		{"help", "", []string{"--help"}, 0, "~Usage:", ""},
		{"help names the verbs", "", []string{"--help"}, 0, "~\n  check        check that clusters", ""},
		{"help as a word", "", []string{"help"}, 0, "~Usage:", ""},
		{"help of nothing", "", []string{"help", "nothing"}, 0, "~Usage:", ""},
		{"json of a pipe", "1", []string{"--json", "-"}, 2, "", "need a script in a file"},
		{"help of a subcommand", "", []string{"help", "check"}, 0, "~Checks by rules that clusters are healthy", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, tt.stdin, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, tt.code, stdout, stderr)
			}
			if part, isPart := strings.CutPrefix(tt.stdout, "~"); isPart && !strings.Contains(stdout, part) ||
				!isPart && stdout != tt.stdout {
				t.Errorf("stdout %q, want %q", stdout, tt.stdout)
			}
			if !strings.Contains(stderr, tt.stderr) {
				t.Errorf("stderr %q lacks %q", stderr, tt.stderr)
			}
			if tt.code == 0 && tt.stderr == "" && stderr != "" {
				t.Errorf("stderr %q, want nothing", stderr)
			}
		})
	}
}

// A URI that can't be reached fails with one line, without a stack and
// without the password.
func TestUnreachable(t *testing.T) {
	code, stdout, stderr := runProgram(t, "", "mongodb://joe:secret@127.0.0.1:1/db", "--eval", "1")
	if code != exitFailure || stdout != "" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	if strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "secret") || !strings.Contains(stderr, "127.0.0.1:1") {
		t.Errorf("stderr %q", stderr)
	}
}

func TestQuickstart(t *testing.T) {
	code, stdout, stderr := runProgram(t, "", "--quiet", "../../scripts/quickstart.js")
	if code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, part := range []string{"chunksImbalance", "balancerCompliant: true", "shard2", "every order is still there"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the report lacks %q:\n%s", part, stdout)
		}
	}
}

const unbalanced = `{
  "shards": [{"id": "a"}, {"id": "b"}],
  "collections": [
    {"ns": "shop.even", "key": {"k": 1}, "chunks": [
      {"shard": "a", "max": {"k": 0}, "bytes": "10GB", "docs": 1000000},
      {"shard": "b", "bytes": "10GB", "docs": 1000000}]},
    {"ns": "shop.odd", "key": {"k": 1}, "noBalance": true, "chunks": [
      {"shard": "a", "max": {"k": 0}, "bytes": "10GB", "docs": 1000000},
      {"shard": "b", "bytes": "1GB", "docs": 100000}]}
  ]
}`

func TestStatusScript(t *testing.T) {
	path := writeFile(t, "topology.json", unbalanced)
	code, stdout, _ := runProgram(t, "", "--quiet", "--mock="+path, "../../scripts/status.js")
	if code != 1 || !strings.Contains(stdout, "shop.odd") || !strings.Contains(stdout, "chunksImbalance") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if code, stdout, _ := runProgram(t, "", "--quiet", "../../scripts/status.js"); code != 0 ||
		!strings.Contains(stdout, "no sharded collections") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

func TestReadOnlyAndDryRun(t *testing.T) {
	code, _, stderr := runProgram(t, "", "--quiet", "--read-only", "--eval", "sh.stopBalancer()")
	if code != 1 || !strings.Contains(stderr, "--read-only refuses the command balancerStop") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	code, stdout, stderr := runProgram(t, "", "--quiet", "--dry-run", "--eval",
		"db.c.insertOne({a: 1}); db.c.countDocuments()")
	if code != 0 || !strings.Contains(stdout, "would send to test: insert c: 1 document, ") || !strings.HasSuffix(stdout, "1\n") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
