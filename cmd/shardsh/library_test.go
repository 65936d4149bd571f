package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shardsh/scripts"
)

// What is for shardsh is told from what is for the script.
func TestRunLine(t *testing.T) {
	file := writeFile(t, "before.snap", "")
	for name, c := range map[string]struct {
		args    []string
		address string
		script  []string
	}{
		"nothing":                   {nil, "", nil},
		"an address":                {[]string{"h:27018", "--shard", "s1"}, "h:27018", []string{"--shard", "s1"}},
		"a connection string":       {[]string{"--shard", "s1", "mongodb://h"}, "mongodb://h", []string{"--shard", "s1"}},
		"a value is not an address": {[]string{"--ns", "shop.orders"}, "", []string{"--ns", "shop.orders"}},
		"two connection strings":    {[]string{"mongodb://a", "mongodb://b"}, "mongodb://a", []string{"mongodb://b"}},
		"a connection string as a value": {[]string{"--to=mongodb://b", "mongodb://a"}, "mongodb://a",
			[]string{"--to=mongodb://b"}},
		"a file":                  {[]string{file, "--x"}, "", []string{file, "--x"}},
		"options of both":         {[]string{"--username", "joe", "h:1", "--dry-run", "--json", "--tls"}, "h:1", []string{"--dry-run", "--json"}},
		"all behind two dashes":   {[]string{"h:1", "--", "--host", "x"}, "h:1", []string{"--host", "x"}},
		"an option of the mock":   {[]string{"--mock=5", "--keys", "-"}, "", []string{"--keys", "-"}},
		"an unknown short option": {[]string{"-x", "y"}, "", []string{"-x", "y"}},
	} {
		var o libraryFlags
		err := o.splitArgs(c.args)
		if err != nil || o.server.Address != c.address || !slices.Equal(o.args, c.script) {
			t.Errorf("%s: address %q, script %q, %v", name, o.server.Address, o.args, err)
		}
	}
	var o libraryFlags
	if err := o.splitArgs([]string{"--username", "joe", "--tls"}); err != nil || o.server.Username != "joe" || o.server.FirstLiveOption() == "" {
		t.Errorf("%+v, %v", o.server, err)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.js")
	if err := os.WriteFile(mine, []byte("print(process.argv.slice(2).join())"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string // parts
	}{
		"no name":           {nil, exitUsage, "  drain  ", "needs the name of a script"},
		"the list":          {[]string{"--list"}, exitOK, "  zones-from-file  ", ""},
		"the list of what":  {[]string{"--list", "drain"}, exitUsage, "", `--list takes no more words: "drain"`},
		"help":              {[]string{"--help"}, exitOK, "shardsh run NAME [address]", ""},
		"an unknown name":   {[]string{"dran"}, exitUsage, "", "did you mean drain?"},
		"a module":          {[]string{"cli"}, exitUsage, "", `no script "cli"`},
		"no file":           {[]string{"./none.js"}, exitFailure, "", "no such script: ./none.js"},
		"a name with .js":   {[]string{"status.js", "--quiet"}, exitOK, "no sharded collections", ""},
		"a loaded name":     {[]string{"shardsh:status", "--quiet"}, exitOK, "no sharded collections", ""},
		"a path":            {[]string{mine, "--quiet", "--b", "a"}, exitOK, "--b,a\n", ""},
		"help of a script":  {[]string{"drain", "--help"}, exitOK, "--move-primaries", ""},
		"an option missing": {[]string{"drain", "--quiet"}, exitUsage, "", "--shard ID is needed"},
		"a wrong option":    {[]string{"drain", "--quiet", "--shrd", "x"}, exitUsage, "", "did you mean --shard?"},
		"a wrong value":     {[]string{"orphans", "--quiet", "--for", "soon"}, exitUsage, "", "--for takes a time"},
		"an address too late": {[]string{"drain", "--quiet", "--shard", "s", "h:1"}, exitUsage, "",
			"The address comes right after the name"},
		"an error as JSON": {[]string{"drain", "--quiet", "--json", "--shard", "s"}, exitFailure, `{"ok":0,"refused":"no shard s;`,
			"refused: no shard s"},
	} {
		code, stdout, stderr := runProgram(t, "", append([]string{"run"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) ||
			c.stderr == "" && stderr != "" {
			t.Errorf("%s: exit code %d, output %q, errors %q", name, code, stdout, stderr)
		}
	}
	var list []scripts.Script
	code, stdout, _ := runProgram(t, "", "run", "--list", "--json")
	if err := json.Unmarshal([]byte(stdout), &list); code != exitOK || err != nil || len(list) != len(scripts.Names()) {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
}

// A script that forgets that it was to change nothing is stopped, if it is one of the
// library; others know for themselves what --dry-run means to them.
func TestDryRunOfTheLibraryIsReadOnly(t *testing.T) {
	if !asksForDryRun([]string{"--ns", "a.b", "--dry-run"}) || asksForDryRun([]string{"--ns", "--dry-runs"}) {
		t.Error("--dry-run is not found")
	}
	code, stdout, stderr := runProgram(t, "", "run", "drain", "--quiet", "--shard", "shard2", "--dry-run", "--read-only")
	if code != exitOK || !strings.Contains(stdout, "would start draining shard2") || stderr != "" {
		t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
	}
}

// Every script of the library says what it is for, as in the list, without a cluster.
func TestLibraryHelps(t *testing.T) {
	list := scripts.List()
	if len(list) < 15 {
		t.Fatalf("the library has %d scripts only", len(list))
	}
	for _, s := range list {
		code, stdout, stderr := runProgram(t, "", "run", s.Name, "--help")
		if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, s.Name+": "+s.About+"\n") ||
			!strings.Contains(stdout, "--dry-run") {
			t.Errorf("%s: exit code %d, output %q, errors %q", s.Name, code, stdout, stderr)
		}
	}
}
