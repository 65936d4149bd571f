package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kept is a line of a transcript.
type kept struct {
	Shardsh, DB, Command, Error, Mode string
	N                                 int
	Arguments                         []string
	Ms                                *float64
	Sent, Reply                       map[string]any
}

func readKept(t *testing.T, path string) (lines []kept, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var k kept
		if err := json.Unmarshal([]byte(line), &k); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		lines = append(lines, k)
	}
	return lines, string(data)
}

// A transcript has every command with its answer, changes before they are sent, too;
// no password, and nothing that is without end.
func TestTranscript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept.jsonl")
	script := writeFile(t, "a.js", `db.c.insertOne({ _id: 1, pwd: "hunter2", pad: "x".repeat(100000) });
db.c.findOne(); try { db.c.insertOne({ _id: 1 }) } catch (e) { } try { db.runCommand({ nope: 1 }) } catch (e) { }`)
	p := startServe(t)
	code, _, stderr := runProgram(t, "", "--quiet", "--transcript", path, p.uri, script, "--", "--password=hunter2")
	if code != 0 {
		t.Fatal(stderr)
	}
	lines, text := readKept(t, path)
	if strings.Contains(text, "hunter2") || len(text) > 100000 {
		t.Errorf("%d bytes, or a password: %.500s", len(text), text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if lines[0].Shardsh == "" || len(lines[0].Arguments) == 0 {
		t.Errorf("begins with %+v", lines[0])
	}
	begun, ended := map[int]kept{}, map[string]kept{}
	for _, k := range lines[1:] {
		switch {
		case k.Ms == nil:
			begun[k.N] = k
		case k.Command == "": // the answer of what was begun
			ended[begun[k.N].Command] = k
		default:
			ended[k.Command] = k
		}
	}
	if len(begun) != 3 || begun[ended["insert"].N].Command != "insert" {
		t.Errorf("before they were sent there were %v", begun)
	}
	if ended["find"].Sent["find"] != "c" || ended["find"].Reply["ok"] != 1.0 {
		t.Errorf("find is %+v", ended["find"])
	}
	if list, _ := ended["insert"].Reply["writeErrors"].([]any); len(list) != 1 {
		t.Errorf("the second insert is %+v", ended["insert"])
	}
	if !strings.Contains(ended["nope"].Error, "no such command") {
		t.Errorf("nope is %+v", ended["nope"])
	}

	// The next run goes on in the same file, unless others may read that.
	if code, _, stderr := runProgram(t, "", "--quiet", "--dry-run", "--transcript", path, p.uri, "--eval", "1"); code != 0 {
		t.Error(stderr)
	}
	again, _ := readKept(t, path)
	if len(again) <= len(lines) || again[len(lines)].Mode != "dry-run" {
		t.Errorf("after %d lines there are %d", len(lines), len(again))
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runProgram(t, "", "--transcript", path, "--eval", "1"); code != exitUsage ||
		!strings.Contains(stderr, "chmod 600") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// Subcommands that change something keep one, too.
func TestTranscriptOfSubcommands(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	path := filepath.Join(t.TempDir(), "kept.jsonl")
	topology := writeFile(t, "topology.json", strings.Replace(unbalanced, `"noBalance": true, `, "", 1))
	t.Chdir(t.TempDir())
	if code, _, stderr := runProgram(t, "", "drain", "--mock="+topology, "--shard", "b", "--yes", "--take-over", "--quiet", "--transcript", path,
		"--journal", "j"); code != 0 {
		t.Fatal(stderr)
	}
	lines, text := readKept(t, path)
	if len(lines) < 10 || !strings.Contains(text, `"moveRange":"shop.`) {
		t.Errorf("%d lines: %.500s", len(lines), text)
	}
}

// Nobody to ask: --confirm says what else there is, and sends nothing.
func TestConfirmNeedsATerminal(t *testing.T) {
	if isTerminalAvailable() {
		t.Skip("there is a terminal")
	}
	code, _, stderr := runProgram(t, "", "--confirm", "--eval", "db.c.insertOne({})")
	if code != exitUsage || !strings.Contains(stderr, "no terminal to confirm on: --dry-run shows") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, _, stderr := runProgram(t, "", "--confirm", "--dry-run", "--eval", "1"); code != exitUsage ||
		!strings.Contains(stderr, "exclude each other") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
