package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shardsh/balancer/mock/mocktest"
)

// A run is a trace and a log of JSON; both name its moves as the servers see them.
func TestTraceOfARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trace, sent := filepath.Join(dir, "run.otlp"), filepath.Join(dir, "sent.jsonl")
	uri := mocktest.Start(t, 3)
	for _, args := range [][]string{
		{uri, "--quiet", "--eval", `sh.stopBalancer(); sh.enableSharding("shop", "shard0"); sh.shardCollection("shop.orders", {x: 1});
			for (const x of [1, 2, 3]) { sh.splitAt("shop.orders", {x}) }`},
		{"drain", uri, "--shard", "shard0", "--yes", "--move-primaries", "--journal", filepath.Join(dir, "j"), "--trace", trace,
			"--log-format", "json", "--transcript", sent},
	} {
		code, stdout, stderr := runProgram(t, "", args...)
		if code != 0 {
			t.Fatalf("%q ends with %d\n%s%s", args, code, stdout, stderr)
		}
		if args[0] != "drain" {
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(stderr), "\n") {
			var l struct {
				Verb    string
				TraceID string `json:"trace_id"`
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.Verb != "drain" || len(l.TraceID) != 32 {
				t.Errorf("%v in %s", err, line)
			}
		}
		if n := strings.Count(stderr, `"msg":"began"`); n != 4 {
			t.Errorf("%d steps began, want 4\n%s", n, stderr)
		}
	}
	commands, err := os.ReadFile(sent)
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`"comment": ?"(shardsh [0-9a-f]{24})"`).FindSubmatch(commands)
	if comment == nil {
		t.Fatalf("no move has a comment in\n%s", commands)
	}
	spans, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(spans), `{"key":"db.comment","value":{"stringValue":"`+string(comment[1])+`"}}`); n != 5 {
		t.Errorf("%d spans have the comment %s, want 4 moves and the run\n%s", n, comment[1], spans)
	}
}

func TestTraceMistakes(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--log-format", "xml"}, {"--trace", filepath.Join(t.TempDir(), "no", "x")}, {"--trace", "http://joe:hunter2@h"},
	} {
		code, stdout, stderr := runProgram(t, "", append([]string{"drain", "--mock", "--shard", "shard2", "--yes"}, args...)...)
		if code != exitUsage || strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%q ends with %d\n%s", args, code, stderr)
		}
	}
}
