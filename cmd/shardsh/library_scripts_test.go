package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var everyFault = flag.Bool("library.faults", false,
	"run the tests of the library with a fault at every command, too (minutes)")

// The library is tested as its users would test it: by scripts/tests.
func TestLibraryScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("many scripts, one at a time")
	}
	t.Parallel() // most of it is waiting
	args := []string{"test", "../../scripts/tests", "--server-version", "5.0,8.0"}
	if *everyFault {
		args = append(args, "--every-fault")
	}
	code, stdout, stderr := runProgram(t, "", args...)
	if code != exitOK || !strings.Contains(stdout, ", 0 failed") {
		t.Errorf("exit code %d, errors %q\n%s", code, stderr, stdout)
	}
}

// Each script has a test that runs it.
func TestEveryScriptIsTested(t *testing.T) {
	files, err := filepath.Glob("../../scripts/tests/*_test.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	var all bytes.Buffer
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	code, stdout, _ := runProgram(t, "", "run", "--list")
	if code != exitOK {
		t.Fatal(stdout)
	}
	for line := range strings.Lines(stdout) {
		if name := strings.Fields(line)[0]; !bytes.Contains(all.Bytes(), []byte(`run("shardsh:`+name+`"`)) {
			t.Errorf("no test runs %s", name)
		}
	}
}

// Two snapshots, and a snapshot and a cluster, are compared.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	topology := writeFile(t, "topology.json", lopsidedTopology)
	before, after := filepath.Join(dir, "before.snap"), filepath.Join(dir, "after.snap")
	if code, _, stderr := runProgram(t, "", "snapshot", "--mock="+topology, "-o", before); code != exitOK {
		t.Fatal(stderr)
	}
	other := strings.Replace(lopsidedTopology, `{"id": "gamma"}`, `{"id": "gamma", "zones": ["US"]}, {"id": "delta"}`, 1)
	other = strings.Replace(other, `"beta", "max": {"customer": 10}}, {"shard": "alpha"`,
		`"beta", "max": {"customer": 10}}, {"shard": "gamma"`, 1)
	changed := writeFile(t, "changed.json", other)
	if code, _, stderr := runProgram(t, "", "snapshot", "--mock="+changed, "-o", after); code != exitOK {
		t.Fatal(stderr)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"a snapshot and itself":    {[]string{before, before}, exitOK, []string{"They are the same."}},
		"a snapshot and a cluster": {[]string{before, "--mock=" + topology}, exitOK, []string{"They are the same."}},
		"two snapshots": {[]string{before, after}, exitFindings, []string{"shards: delta", "shards: gamma",
			"shop.orders on alpha  100 %         50 %", "shop.orders on gamma  0 %           50 %"}},
		"without sizes": {[]string{before, after, "--no-sizes"}, exitFindings, []string{"2 differences"}},
	} {
		code, stdout, stderr := runProgram(t, "", append([]string{"run", "compare", "--quiet"}, c.args...)...)
		if code != c.code || stderr != "" {
			t.Errorf("%s: exit code %d, %q, %q", name, code, stdout, stderr)
		}
		for _, part := range c.want {
			if !strings.Contains(stdout, part) {
				t.Errorf("%s: %q lacks %q", name, stdout, part)
			}
		}
	}
}
