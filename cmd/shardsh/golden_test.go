package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// goldenParameters are those the recorded cluster ran with: ranges can move
// back at once and merges are allowed at once.
var goldenParameters = []string{
	"--set-parameter", "orphanCleanupDelaySecs=0",
	"--set-parameter", "minSnapshotHistoryWindowInSeconds=0",
	"--set-parameter", "transactionLifetimeLimitSeconds=1",
	"--set-parameter", "reshardingMinimumOperationDurationMillis=0",
}

// knownDifferences are steps that do not match the recording, with the reason.
var knownDifferences = map[string]string{
	"08-catalog: getShardDistribution": "mongosh wraps the result as {type, value}; shardsh gives the value itself",
	"09-drain: addShard back": "mongosh does not catch the error of a call that is returned inside try; " +
		"shardsh does, and the step sees the same code as a value",
}

// renamedSteps are steps whose name has a Long in it: mongosh's relaxed EJSON rounds
// it, shardsh's keeps it.
var renamedSteps = map[string]string{
	`arithmetic 35 {"$multiply":[9223372036854776000,2]}`: `arithmetic 35 ` +
		`{"$multiply":[{"$numberLong":"9223372036854775807"},2]}`,
	`comparison 15 {"$cmp":[9007199254740992,9007199254740992]}`: `comparison 15 ` +
		`{"$cmp":[{"$numberLong":"9007199254740993"},9007199254740992]}`,
}

// before are the scenarios that ran on the recorded cluster earlier and left
// something behind that shows: shards whose zones were taken away.
var before = map[string][]string{"08-catalog": {"03-zones"}, "09-drain": {"03-zones"}}

// recordedStep is one entry of a recording.
type recordedStep struct {
	Step    string `json:"step"`
	Compare string `json:"compare"`
	Reply   any    `json:"reply"`
	Error   any    `json:"error"`
}

// What a real MongoDB 8.0.10 cluster answered, step by step, is what the mock
// answers through the whole program: shell, driver, wire protocol, router.
func TestGoldenScenarios(t *testing.T) {
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) { compareRecording(t, name, runScenario(t, name), knownDifferences) })
	}
}

// scenarios are the recorded ones.
var scenarios = []string{
	"01-commands", "02-initial-chunks", "03-zones", "04-settings", "05-balance-by-size", "06-defrag", "07-jumbo",
	"08-catalog",
	"09-drain", "10-expressions", "11-queries",
}

// compareRecording compares what was recorded with what came now; a known
// difference must be one.
func compareRecording(t *testing.T, name string, got []recordedStep, known map[string]string) {
	t.Helper()
	byName := map[string]recordedStep{}
	for _, s := range got {
		byName[s.Step] = s
	}
	compared := 0
	for _, w := range readRecording(t, name) {
		if w.Compare == "info" {
			continue
		}
		g, ok := byName[w.Step]
		if !ok {
			g, ok = byName[renamedSteps[w.Step]]
		}
		if !ok {
			t.Errorf("step %q is missing", w.Step)
			continue
		}
		compared++
		same := sameStep(w, g)
		reason, listed := known[name+": "+w.Step]
		switch {
		case !same && !listed:
			t.Errorf("step %q differs\n   want %s\n   got  %s", w.Step, brief(w), brief(g))
		case same && listed:
			t.Errorf("step %q matches and is listed as different: %s", w.Step, reason)
		}
	}
	if compared < 10 {
		t.Errorf("only %d steps were compared", compared)
	}
}

func readRecording(t *testing.T, name string) []recordedStep {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return parseSteps(t, data)
}

func parseSteps(t *testing.T, data []byte) []recordedStep {
	t.Helper()
	from, to := bytes.LastIndex(data, []byte("\n[\n"))+1, bytes.LastIndexByte(data, ']')
	if from < 0 || to < from {
		t.Fatalf("no recording in %q", data)
	}
	var steps []recordedStep
	if err := json.Unmarshal(data[from:to+1], &steps); err != nil {
		t.Fatal(err)
	}
	return steps
}

// runScenario runs a scenario, unchanged, as a user would.
func runScenario(t *testing.T, name string) []recordedStep {
	t.Helper()
	code, stdout, stderr := runProgram(t, "", slices.Concat([]string{"--quiet"}, goldenParameters, scenarioFiles(name))...)
	if code != exitOK {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	return parseSteps(t, []byte(stdout))
}

// scenarioFiles returns the scripts of a scenario, and of those before it.
func scenarioFiles(name string) (files []string) {
	dir := filepath.Join("testdata", "golden")
	for _, script := range append(slices.Clone(before[name]), name) {
		files = append(files, filepath.Join(dir, "lib.js"), filepath.Join(dir, script+".js"))
	}
	return files
}

func sameStep(want, got recordedStep) bool {
	if (want.Error == nil) != (got.Error == nil) {
		return false
	}
	w, g := want.Reply, got.Reply
	if want.Error != nil {
		w, g = want.Error, got.Error
	}
	if want.Compare == "shape" {
		w, g = shape(w), shape(g)
	}
	return reflect.DeepEqual(w, g)
}

// shape keeps keys and types only.
func shape(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shape(v[0])}
	case map[string]any:
		shapes := map[string]any{}
		for k, x := range v {
			shapes[k] = shape(x)
		}
		return shapes
	}
	return fmt.Sprintf("%T", v)
}

func brief(s recordedStep) string {
	text, err := json.Marshal(map[string]any{"reply": s.Reply, "error": s.Error})
	if err != nil {
		return err.Error()
	}
	return string(text[:min(len(text), 1500)])
}

func TestShape(t *testing.T) {
	a := map[string]any{"x": 1.0, "y": []any{"a", "b"}}
	b := map[string]any{"x": 2.0, "y": []any{"c"}}
	if !reflect.DeepEqual(shape(a), shape(b)) {
		t.Error("values of one shape differ")
	}
	if reflect.DeepEqual(shape(a), shape(map[string]any{"x": "1", "y": []any{"a"}})) {
		t.Error("values of two shapes are the same")
	}
}
