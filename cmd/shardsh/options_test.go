package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Spellings, values and mistakes of options (rules/04-command-line-and-prompt §1.1).
func TestOptions(t *testing.T) {
	rc := writeFile(t, "a.js", "1")
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string // a part; nothing at all when empty and the code is 0
	}{
		{"values keep their quotes", []string{"--eval", `"a"+"b"`}, 0, "ab\n", ""},
		{"quotes around all of it", []string{"--eval", `'str'`}, 0, "str\n", ""},
		{"a value that begins with a dash", []string{"--eval", "-1"}, 0, "-1\n", ""},
		{"an option is not a value", []string{"--eval", "--quiet"}, 2, "", "--eval needs a value"},
		{"kebab case", []string{"--deep-inspect", "--eval", "1"}, 0, "1\n", ""},
		{"camel case", []string{"--deepInspect=false", "--readOnly", "--eval", "1"}, 0, "1\n", ""},
		{"switched off", []string{"--no-quiet", "--quiet=false", "--quiet", "false", "--eval", "1"}, 0, "1\n", ""},
		{"neither on nor off", []string{"--quiet=maybe", "--eval", "1"}, 2, "", `--quiet takes true or false, not "maybe"`},
		{"no- with a value", []string{"--no-quiet=true", "--eval", "1"}, 2, "", "--no-quiet takes no value"},
		{"only switches can be switched off", []string{"--no-eval", "1"}, 2, "", "unknown option --no-eval"},
		{"json in two words", []string{"--json", "relaxed", "--eval", "NumberLong('1')"}, 0, "1\n", ""},
		{"a mistyped option", []string{"--evall", "1"}, 2, "", "did you mean --eval?"},
		{"one dash", []string{"-quiet"}, 2, "", "did you mean --quiet?"},
		{"after -- all words are arguments", []string{"--eval", "process.argv.slice(1).concat(scriptArgs).join()", "--",
			"--eval", "-x"}, 0, "--eval,-x,--eval,-x\n", ""},
		{"taken back, and --mock in two words", []string{"--eval", "sh.listShards().length", "--nodb", "--no-nodb", "--mock",
			"1", "--quiet"}, 0, "1\n", ""},
		{"verbose tells of files", []string{"--verbose", rc}, 0, "", "Loading file: " + rc},
		{"strings", []string{"--set", "a=1", "--set", "b==x", "--eval", "[a, b]"}, 0, "[ '1', '=x' ]\n", ""},
		{"EJSON", []string{"--setJSON", `a={"n":{"$numberLong":"9007199254740993"},"l":[1]}`, "--eval",
			"a.n.toString() + a.l"}, 0, "9007199254740993" + "1\n", ""},
		{"the last one wins", []string{"--set", "a=1", "--set", "a=2", "--eval", "a"}, 0, "2\n", ""},
		{"a name of the shell", []string{"--set", "db=1", "--eval", "1"}, 2, "", "--set: the shell itself has a db"},
		{"no name", []string{"--set", "1a=1", "--eval", "1"}, 2, "", `"1a" can't be the name of a variable`},
		{"no value", []string{"--set", "a", "--eval", "1"}, 2, "", "--set takes NAME=VALUE"},
		{"no EJSON", []string{"--setJSON", "a={", "--eval", "1"}, 2, "", "--setJSON a: the value is not valid extended JSON"},
		{"json lines", []string{"--jsonl", "--eval", "[1, {a: 2}]"}, 0, "1\n{\"a\":2}\n", ""},
		{"an error as a line", []string{"--jsonl", "--eval", "throw new Error('x')"}, 1,
			"{\"ok\":0,\"name\":\"Error\",\"message\":\"x\",\"at\":\"eval:1:7\"}\n", ""},
		{"a limit below", []string{"--limit", "-1", "--eval", "1"}, 2, "", "expected a non-negative integer"},
		{"sandbox", []string{"--sandbox", "--eval", "fs.writeFileSync('x', 'y')"}, 1, "", "may not write files"},
		{"sandbox, reading", []string{"--sandbox", "--eval", "cat('/etc/hosts')"}, 1, "",
			"may not read /etc/hosts; --allow-read /etc/hosts would allow it"},
		{"sandbox, granted", []string{"--sandbox", "--allow-read", "/etc", "--allow-env=PATH", "--eval",
			"cat('/etc/hosts').length > 0 && Object.keys(process.env)"}, 0, "[ 'PATH' ]\n", ""},
		{"sandbox, a link to a cluster", []string{"--sandbox", "--eval", "new Mongo('h:1')"}, 1, "",
			"may not connect to h:1; --allow-net h:1 would allow it"},
		{"grants without a sandbox", []string{"--allow-net", "h", "--eval", "1"}, 2, "", "are for --sandbox only"},
		{"a time that is none", []string{"--timeout", "soon", "--eval", "1"}, 2, "", `--timeout: "soon" is not a time`},
		{"no time", []string{"--timeout", "0", "--eval", "1"}, 2, "", "is not a time above 0"},
		{"stopped", []string{"--timeout", "20ms", "--eval", "try { for (;;); } catch (e) {} finally { print('no') }"}, 1, "",
			"not finished within --timeout 20ms"},
		{"stopped, as JSON", []string{"--timeout", "20ms", "--jsonl", "--eval", "for (;;);"}, 1,
			"{\"ok\":0,\"name\":\"Timeout\",\"message\":\"not finished within --timeout 20ms; the run was stopped\"}\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := tt.args
			if !strings.Contains(strings.Join(args, " "), "nodb") {
				args = append([]string{"--nodb"}, args...)
			}
			code, stdout, stderr := runProgram(t, "", args...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) ||
				tt.code == 0 && tt.stderr == "" && stderr != "" {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestOldNamesAreWarnedOf(t *testing.T) {
	_, _, stderr := runProgram(t, "", "127.0.0.1:1", "--ssl", "--sslAllowInvalidHostnames", "--eval", "1")
	for _, line := range []string{
		"WARNING: argument --ssl is deprecated and will be removed. Use --tls instead.\n",
		"WARNING: argument --sslAllowInvalidHostnames is deprecated and will be removed. Use " +
			"--tlsAllowInvalidHostnames instead.\n",
	} {
		if strings.Count(stderr, line) != 1 {
			t.Errorf("stderr %q lacks %q", stderr, line)
		}
	}
}

// A pipe that says nothing is not waited for longer than --timeout.
func TestTimeoutOfASilentPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := writer.Close(); err != nil {
			t.Error(err)
		}
	})
	var errs strings.Builder
	env := environment{
		args: []string{"--nodb", "--timeout", "20ms"}, streams: streams{stdin: reader, stdout: &strings.Builder{}, stderr: &errs},
		getenv: func(string) (string, bool) { return "", false },
	}
	if code := env.run(t.Context()); code != exitFailure || !strings.Contains(errs.String(), "--timeout 20ms") {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}

// The shell on a pipe (rules/04-command-line-and-prompt §1.9): prompts, errors are shown and the run
// goes on, and it ends with 0.
func TestInteractiveOnAPipe(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	tests := []struct {
		name, stdin string
		code        int
		stdout      string
	}{
		{"results", "1+1\n", 0, "> 2\n> "},
		{"errors", "throw new Error(\"a\")\n2\n", 0, "> Uncaught Error: a\n> 2\n> "},
		{"several lines", "function f(){\nreturn 5\n}\nf()\n", 0, "> ... ... [Function: f]\n> 5\n> "},
		{"an unfinished block", "if (true) {\n", 0, "> ... "},
		{"quit", "quit(6)\n7\n", 6, "> "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, tt.stdin, "--nodb", "--quiet", "--interactive")
			if code != tt.code || strings.TrimSuffix(stdout, "\n") != tt.stdout || stderr != "" {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %q", code, stdout, stderr, tt.stdout)
			}
		})
	}
}

// The file of the user's own helpers (rules/04-command-line-and-prompt §2.11).
func TestRCFile(t *testing.T) {
	run := func(t *testing.T, stdin, rc string, args ...string) (int, string) {
		t.Helper()
		home := t.TempDir()
		t.Setenv("HOME", home)
		for name, text := range map[string]string{".shardshrc.js": rc, ".mongoshrc.js": "print('mongosh')"} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, stdout, _ := runProgram(t, stdin, append([]string{"--nodb", "--quiet"}, args...)...)
		return code, stdout
	}
	tests := []struct {
		name, rc, stdin string
		args            []string
		code            int
		stdout          string
	}{
		{"before the first prompt", "var mine = 7", "mine\n", []string{"--interactive"}, 0, "> 7\n> "},
		{"after scripts", "print(made)", "", []string{"--eval", "var made = 'there'; undefined", "--interactive"}, 0,
			"there\n> "},
		{"not with --norc", "print('rc')", "", []string{"--interactive", "--norc"}, 0, "> "},
		{"not for scripts", "print('rc')", "", []string{"--eval", "1"}, 0, "1\n"},
		{"not for a pipe", "print('rc')", "print(1)\n", nil, 0, "1\n"},
		{"it knows its own name", "print(__filename.split('/').pop())", "", []string{"--interactive"}, 0,
			".shardshrc.js\n> "},
		{"an error in it", "throw new Error('oops')", "1\n", []string{"--interactive"}, 0,
			"~Error while running ~/.shardshrc.js:\nError: oops"},
		{"it may leave", "quit(4)", "1\n", []string{"--interactive"}, 4, ""},
		{"mongosh's own, when it is wanted", "", "", []string{"--eval", "config.set('loadMongoshrc', true); undefined",
			"--interactive"}, 0, "mongosh\n> "},
		{"mongosh's own is not for us", "", "", []string{"--interactive"}, 0, "> "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout := run(t, tt.stdin, tt.rc, tt.args...)
			part, isPart := strings.CutPrefix(tt.stdout, "~")
			if code != tt.code || isPart && !strings.Contains(stdout, part) || !isPart && stdout != tt.stdout {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
		})
	}
}
