package main

import (
	"encoding/json"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/bindings/plaintext"
)

// hostile is a name that a terminal would obey.
const hostile = "h\x1b[31mx\x1b[2J\x1b]0;t\a\r\u009b8m\u0085\u202eevil\u2066\u2028\u200f"

// hostileTopology is a file of a cluster with such names, and much to say about.
func hostileTopology(t *testing.T) string {
	t.Helper()
	field := func(v any) map[string]any { return map[string]any{"f" + hostile: v} }
	text, err := json.Marshal(map[string]any{
		"shards": []any{
			map[string]any{"id": "s" + hostile, "zones": []string{"z" + hostile}}, map[string]any{"id": "plain"},
			map[string]any{"id": "third" + hostile, "draining": true},
		},
		"databases": []any{map[string]any{"name": "shop", "primary": "s" + hostile}},
		"collections": []any{map[string]any{
			"ns": "shop." + hostile, "key": field(1), "noBalance": true, "chunks": []any{
				map[string]any{"shard": "plain", "max": field("m" + hostile), "jumbo": true, "dataSize": "2GB"},
				map[string]any{"shard": "third" + hostile, "dataSize": "1GB"},
			},
			"zones": []any{map[string]any{"zone": "z" + hostile, "min": field(map[string]any{"$minKey": 1}), "max": field("m" + hostile)}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "topology.json", string(text))
}

// What a pipe or the log of a CI run gets of a cluster's names and a server's
// errors is text there, too.
func TestOutputsAreVisible(t *testing.T) {
	mock := "--mock=" + hostileTopology(t)
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	escaped := string(quoted[1 : len(quoted)-1])
	h := "const H = " + string(quoted) + "; db = db.getSiblingDB('shop'); "
	broken := writeFile(t, "broken.js", "let a = '"+hostile[:3]+"\u009b\u202e' +* 1")
	for _, args := range [][]string{
		{"check", mock}, {"check", mock, "--json"}, {"why", mock}, {"why", mock, "--json"},
		{"why", mock, "--ns", "shop." + hostile}, {"why", mock, "--ns", "shop." + hostile, "--json"},
		{"why", mock, "--ns", "nope." + hostile}, {"why", mock, "--shard", "s" + hostile}, {"why", mock, "--zone", "z" + hostile},
		{"why", mock, "--ns", "shop." + hostile, "--key", `{"f` + escaped + `": "a"}`}, {"why", mock, "--shard", hostile},
		{"map", mock, "--ns", "shop." + hostile}, {"map", mock, "--ns", "shop." + hostile, "--json"}, {"map", mock, "--ns", hostile},
		{mock, "--eval", h + "db.getCollection(H).insertOne({ a: 1, _id: H })"},
		{mock, "--json", "--eval", h + "db.getCollection(H).insertOne({ ['f' + H]: H, [H]: H }); db.getCollection(H).findOne()"},
		{mock, "--jsonl", "--eval", h + "sh.chunks('shop.' + H)"}, {mock, "--json=relaxed", "--eval", h + "({ [H]: H })"},
		{mock, "--json", "--eval", h + "db.runCommand({ [H]: 1 })"}, {mock, "--jsonl", "--eval", h + "throw new Error(H)"},
		{mock, "--dry-run", "--eval", h + "db.getCollection(H).insertOne({ [H]: H })"},
		{mock, "--read-only", "--eval", h + "db.runCommand({ [H]: 1 })"},
		{mock, "--eval", h + "sh.status()"}, {mock, "--eval", h + "show collections"}, {mock, "--eval", h + "H"},
		{mock, "--eval", h + "throw H"}, {mock, "--eval", h + "throw { [H]: H }"}, {mock, "--eval", h + "null[H].x"},
		{mock, "--eval", h + "sh.moveRange('shop.' + H, H, { a: 1 })"}, {mock, "--eval", h + "sh.balancerSummary()"},
		{mock, "--eval", "let a = '\u009b\u202e' +* 1"}, {mock, broken}, {mock, "nowhere" + hostile + ".js"},
		{"--" + hostile}, {"mongodb://" + hostile, "--timeout", "1s"}, {"h" + hostile + ":1", "--timeout", "1s", "--eval", "1"},
		{"check", "x://" + hostile, "--timeout", "1s"},
		{mock, "--set", hostile + "=1", "--eval", "1"}, {"--mock=" + hostile, "--eval", "1"}, {"serve", "--auth", hostile},
		{"serve", "--topology", hostile}, {mock, "--interactive", "--norc", "--eval", h + "prompt = H"},
	} {
		_, stdout, stderr := runProgram(t, "show collections\ndb.getCollection('x').nope()\n", append(args, "--quiet")...)
		for name, text := range map[string]string{"stdout": stdout, "stderr": stderr} {
			if i := strings.IndexFunc(text, plaintext.IsControl); i >= 0 {
				t.Errorf("%.200q: %s has %q", args, name, text[max(0, i-50):min(len(text), i+50)])
			}
		}
		if stdout+stderr == "" {
			t.Errorf("%.200q said nothing", args)
		}
	}
}

// A script's own text is as it is: it may paint.
func TestScriptsMayPaint(t *testing.T) {
	const red = "\x1b[31mred\x1b[0m"
	for _, script := range []string{
		`print("\x1b[31mred\x1b[0m")`, `console.log("\x1b[31mred\x1b[0m")`, `process.stdout.write("\x1b[31mred\x1b[0m\n")`,
		`print(["red"].map(c => "\x1b[31m" + c + "\x1b[0m")[0])`,
	} {
		if _, stdout, stderr := runProgram(t, "", "--nodb", "--quiet", "--eval", script); !strings.HasPrefix(stdout, red+"\n") {
			t.Errorf("%s: %q, %q", script, stdout, stderr)
		}
	}
	if _, stdout, _ := runProgram(t, "", "--nodb", "--quiet", "--eval", `print({ a: "\x1b[31mred" })`); stdout != "{ a: '\\x1B[31mred' }\n" {
		t.Errorf("in a document: %q", stdout)
	}
}

// Whoever connects can't write into the log what a terminal obeys.
func TestLogsAreVisible(t *testing.T) {
	for _, form := range [][]string{nil, {"--log-json"}} {
		p := startServe(t, append([]string{"--log-level", "debug", "--auth", "me:" + writeFile(t, "password", "secret\n")}, form...)...)
		client := p.driver(p.uri, func(o *options.ClientOptions) {
			o.SetAppName("a" + hostile).SetAuth(options.Credential{Username: "u" + hostile, Password: "x", AuthSource: "d" + hostile,
				AuthMechanism: "SCRAM-SHA-256"})
		})
		if err := client.Database("x"+hostile).RunCommand(t.Context(), bson.D{{Key: "find", Value: "c" + hostile}}).Err(); err == nil {
			t.Error("logged in")
		}
		if log := p.log.String(); strings.ContainsFunc(log, plaintext.IsControl) || !strings.Contains(log, "evil") {
			t.Errorf("the log is %q", log)
		}
	}
}
