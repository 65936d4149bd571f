package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/action"
	"shardsh/balancer/mock/wire"
)

const heapedTopology = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"stopped": true}},
 "collections": [{"ns": "shop.orders", "key": {"x": 1}, "chunks": [
 {"shard": "a", "max": {"x": 1000}, "bytes": "120MiB", "docs": 1200}, {"shard": "a", "max": {"x": 2000}, "bytes": "120MiB", "docs": 1200},
 {"shard": "a", "max": {"x": 3000}, "bytes": "120MiB", "docs": 1200}, {"shard": "a", "max": {"x": 4000}, "bytes": "120MiB", "docs": 1200},
 {"shard": "a", "max": {"x": 5000}, "bytes": "120MiB", "docs": 1200}, {"shard": "a", "max": {"x": 6000}, "bytes": "120MiB", "docs": 1200},
 {"shard": "a", "bytes": "120MiB", "docs": 1200}]}]}`

// owners prints who has which chunk.
const owners = `print(sh.chunks("shop.orders").toArray().map(c => c.shard).join(""))`

func ownersOf(t *testing.T, address string) string {
	t.Helper()
	code, stdout, stderr := runProgram(t, "", address, "--quiet", "--eval", owners)
	if code != exitOK {
		t.Fatal(stderr)
	}
	return strings.TrimSpace(stdout)
}

// heaped is a cluster on a port, and a plan for it in a file.
func heaped(t *testing.T, settings ...func(*setting)) (address, plan string) {
	t.Helper()
	address = serve(t, heapedTopology, settings...).address
	plan = filepath.Join(t.TempDir(), "plan.json")
	if code, _, stderr := runProgram(t, "", "plan", address, "--json", "-o", plan); code != exitOK {
		t.Fatal(stderr)
	}
	return address, plan
}

func TestApply(t *testing.T) {
	address, plan := heaped(t)
	journal := strings.TrimSuffix(plan, ".json") + ".journal"
	const heap, spread = "aaaaaaa", "bcbaaaa"
	for _, step := range []struct {
		args           []string
		code           int
		stdout, stderr string // parts
		owners         string // afterwards
	}{
		{[]string{plan, address, "--dry-run"}, exitOK, `would send to admin: {"moveRange":"shop.orders","toShard":"b"`, "", heap},
		{[]string{plan, address}, exitUsage, "", "no terminal to confirm on: use --yes", heap},
		{[]string{plan, address, "--yes", "--verify=lots"}, exitUsage, "", "--verify", heap},
		{[]string{plan, address, "--yes", "--max-moves", "1"}, exitOK, "was stopped: the limit of 1 move is reached; 1 of 3 steps",
			"shardsh apply --resume " + journal, "baaaaaa"},
		{[]string{plan, address, "--yes"}, exitFailure, "", "exists already: resume it (--resume)", "baaaaaa"},
		{[]string{"--resume", journal, address, "-y", "--quiet", "--verify"}, exitOK, "is applied: 3 steps and 360 MiB moved", "", spread},
		{[]string{"--undo", journal, address, "-y", "--json"}, exitOK, `"finished": true`, "", heap},
		{[]string{"--undo", journal, address, "-y"}, exitFailure, "", "there is nothing to undo", heap},
		{[]string{plan, address, "-y", "--journal", journal + "2", "--pause-balancing", "--parallel", "2"}, exitOK, "is applied",
			"Balancing of shop.orders is paused.", spread},
		{[]string{plan, address, "-y", "--journal", journal + "3"}, exitOK, "is applied", "", spread}, // all is done already
	} {
		code, stdout, stderr := runProgram(t, "", append([]string{"apply"}, step.args...)...)
		if code != step.code || !strings.Contains(stdout, step.stdout) || !strings.Contains(stderr, step.stderr) {
			t.Fatalf("%v: exit code %d, output %q, errors %q", step.args, code, stdout, stderr)
		}
		if got := ownersOf(t, address); got != step.owners {
			t.Fatalf("%v: %s, want %s", step.args, got, step.owners)
		}
		// What donors gave away is deleted, and can come back.
		runProgram(t, "", address, "--quiet", "--eval", `db.adminCommand({ mockAdvance: 3600000 })`)
	}
	if _, err := os.Stat(journal + "3"); !os.IsNotExist(err) {
		t.Error("a journal of nothing stayed")
	}
}

// A plan can be tried on a picture of the cluster first.
func TestApplyRehearsal(t *testing.T) {
	address, plan := heaped(t)
	file := filepath.Join(t.TempDir(), "c.snap")
	if code, _, stderr := runProgram(t, "", "snapshot", address, "-o", file); code != exitOK {
		t.Fatal(stderr)
	}
	code, stdout, stderr := runProgram(t, "", "apply", plan, "--snapshot", file, "--yes", "--json")
	var report struct {
		Finished  bool
		StepsDone int
	}
	if err := json.Unmarshal([]byte(stdout), &report); code != exitOK || err != nil || !report.Finished || report.StepsDone != 3 {
		t.Errorf("exit code %d, %v, %s%s", code, err, stdout, stderr)
	}
	if got := ownersOf(t, address); got != "aaaaaaa" {
		t.Errorf("the cluster itself has changed: %s", got)
	}
}

// The cluster has moved on: that is told before anything moves, or another plan
// is made.
func TestApplyMovedOn(t *testing.T) {
	address, plan := heaped(t)
	runProgram(t, "", address, "--quiet", "--eval", `sh.moveRange("shop.orders", "c", { x: MinKey }, { x: 1000 })`)
	code, _, stderr := runProgram(t, "", "apply", plan, address, "--yes")
	if code != exitFailure || !strings.Contains(stderr, "the cluster has changed, step 1 can't be done") ||
		ownersOf(t, address) != "caaaaaa" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	code, stdout, stderr := runProgram(t, "", "apply", plan, address, "--yes", "--on-change", "replan")
	if code != exitOK || !strings.Contains(stdout, "after 1 new plan") || !strings.Contains(stderr, "takes over") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	code, stdout, _ = runProgram(t, "", "plan", address)
	if code != exitOK || !strings.HasPrefix(stdout, "nothing to do") {
		t.Errorf("left: %s", stdout)
	}
}

// interruptedAtAMove presses Ctrl-C, as it ends a context, when a move is asked for.
func interruptedAtAMove(cancel context.CancelCauseFunc) func(*setting) {
	return func(s *setting) {
		s.around = func(next wire.Handler) wire.Handler {
			return handlerFunc(func(c context.Context, r wire.Request) bson.Raw {
				if r.Command == "moveRange" {
					cancel(signalError{os.Interrupt})
				}
				return next.Handle(c, r)
			})
		}
	}
}

// Ctrl-C, as the context that a signal ends: the step under way ends, and how to
// go on is told.
func TestApplyInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	address, plan := heaped(t, interruptedAtAMove(cancel))
	var out, errs strings.Builder
	env := environment{
		args:    []string{"apply", plan, address, "--yes"},
		streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &errs},
		getenv:  func(string) (string, bool) { return "", false },
	}
	code := env.run(ctx)
	if code != exitSIGINT || !strings.Contains(out.String(), "was stopped: interrupted; 1 of 3 steps are done") ||
		!strings.Contains(errs.String(), "To continue: shardsh apply --resume ") || ownersOf(t, address) != "baaaaaa" {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
}

func TestApplyLine(t *testing.T) {
	plan := writeFile(t, "plan.json", "{}")
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"nothing":          {nil, exitUsage, "apply needs the file of a plan"},
		"no cluster":       {[]string{plan}, exitUsage, "apply needs the address of a cluster"},
		"the wrong order":  {[]string{"mongodb://h", plan}, exitUsage, "the file of a plan before the address"},
		"two addresses":    {[]string{plan, "h1", "h2"}, exitUsage, "one address"},
		"both ways":        {[]string{"--resume", "x", "--undo", "y", "--mock"}, exitUsage, "--resume and --undo exclude each other"},
		"two journals":     {[]string{"--resume", "x", "--journal", "y", "--mock"}, exitUsage, "--journal is for a new plan"},
		"read only":        {[]string{plan, "--mock", "--read-only"}, exitUsage, "--read-only and apply exclude each other"},
		"an unknown way":   {[]string{plan, "--mock", "--on-change", "go"}, exitUsage, "--on-change must be refuse or replan"},
		"none at once":     {[]string{plan, "--mock", "--parallel", "0"}, exitUsage, "--parallel must be at least 1, not 0"},
		"no plan":          {[]string{plan, "--mock", "--yes"}, exitFailure, "it is not a plan"},
		"no file":          {[]string{"/nowhere/plan.json", "--mock", "--yes"}, exitFailure, "/nowhere/plan.json"},
		"no journal":       {[]string{"--resume", plan, "--mock", "--yes"}, exitFailure, "not a journal of shardsh apply"},
		"a journal that's": {[]string{"--undo", "/nowhere/j", "--mock", "--yes"}, exitFailure, "/nowhere/j"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"apply"}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
}

// A run says at its end what became of the documents, and that they differ with its exit code,
// also where it failed.
func TestRunSaysThatDocumentsDiffer(t *testing.T) {
	different := &action.VerifyResult{Verdict: "different", Collections: []action.VerifyCollection{
		{Namespace: "shop.orders", Verdict: "different", Docs: 6, DocsBefore: 7}}}
	same := &action.VerifyResult{Verdict: "same", Collections: []action.VerifyCollection{{Namespace: "shop.orders", Verdict: "same"}}}
	for _, step := range []struct {
		verify *action.VerifyResult
		err    error
		code   int
		stdout string // a part
	}{
		{different, nil, exitFindings, "shop.orders: DIFFERENT"},
		{different, errors.New("the shard is down"), exitFindings, "it had 7 documents, and has 6"},
		{same, nil, exitOK, "shop.orders: the same"},
		{same, errors.New("the shard is down"), exitFailure, "shop.orders: the same"},
		{nil, nil, exitOK, "plan-1 is applied"},
	} {
		var out strings.Builder
		err := new(planActionFlags).showResult(t.Context(), environment{streams: streams{stdout: &out, stderr: io.Discard}}, action.PlanResult{
			PlanID: "plan-1", Steps: 1, Finished: step.err == nil, Verify: step.verify}, step.err)
		if code := exitCode(t.Context(), err); code != step.code || !strings.Contains(out.String(), step.stdout) {
			t.Errorf("%+v: exit code %d, %q", step, code, out.String())
		}
	}
}
