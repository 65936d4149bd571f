package main

import (
	"bufio"
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// balancedHeap is how many chunks of the heap are elsewhere when all is even by size:
// less than 3 chunk sizes apart.
const balancedHeap = 3

func TestBalance(t *testing.T) {
	const heap = "aaaaaaa"
	address := serve(t, heapedTopology).address
	for _, step := range []struct {
		args           []string
		code           int
		stdout, stderr string // parts
		moved          int    // chunks off a, afterwards
	}{
		{nil, exitOK, "moves in", "Nothing done; pass --yes to run.", 0},
		{[]string{"--dry-run", "--script"}, exitOK, `move(1, "shop.orders", "a", "b"`, "", 0},
		{[]string{"--dry-run", "--json"}, exitOK, `"kind": "balance"`, "", 0},
		{[]string{"--dry-run", "--read-only"}, exitOK, "moves in", "", 0},
		{[]string{"--yes", "--max-moves", "1"}, exitOK, "Stopped: the limit of 1 move is reached; 1 move,", "", 1},
		{[]string{"--yes", "--ns", "shop.nope"}, exitUsage, "", "shop.nope is not a sharded collection of this cluster", 1},
		{[]string{"-y", "--quiet"}, exitOK, " moved shop.orders ", "", balancedHeap},
		{[]string{"-y"}, exitOK, "Balanced; 0 moves", "", balancedHeap},
		{[]string{"--goal", "ops", "--ops-interval", "1"}, exitOK, "shop.orders: ", "Nothing done", balancedHeap},
	} {
		args := append([]string{"balance", address, "--ns", "shop.orders"}, step.args...)
		code, stdout, stderr := runProgram(t, "", args...)
		if code != step.code || !strings.Contains(stdout, step.stdout) || !strings.Contains(stderr, step.stderr) {
			t.Fatalf("%v: exit code %d, output %q, errors %q", step.args, code, stdout, stderr)
		}
		if got := ownersOf(t, address); len(heap)-strings.Count(got, "a") != step.moved {
			t.Fatalf("%v: %s", step.args, got)
		}
	}
	if _, stdout, _ := runProgram(t, "", address, "--quiet", "--eval",
		`db.getSiblingDB("shardsh").leases.countDocuments({})`); strings.TrimSpace(stdout) != "0" {
		t.Errorf("leases stay: %s", stdout)
	}
}

// The cluster's own balancer is on: that is refused with the command that helps, and
// taken over if that is asked for, for as long as the run lasts.
func TestBalanceTakesOver(t *testing.T) {
	address, _ := heaped(t)
	runProgram(t, "", address, "--quiet", "--eval",
		`db.getSiblingDB("config").settings.updateOne({_id: "balancer"}, {$set: {stopped: false, mode: "full",
			activeWindow: {start: "02:00", stop: "02:01"}}}, {upsert: true})`)
	code, stdout, stderr := runProgram(t, "", "balance", address, "--ns", "shop.orders", "--yes")
	if code != exitFailure || !strings.Contains(stderr, `sh.disableBalancing("shop.orders")`) ||
		ownersOf(t, address) != "aaaaaaa" {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = runProgram(t, "", "balance", address, "--ns", "shop.orders")
	if code != exitOK || !strings.Contains(stderr, "Not possible yet: the cluster's balancer is on") {
		t.Errorf("as a dry run: exit code %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = runProgram(t, "", "balance", address, "--ns", "shop.orders", "--yes", "--take-over")
	if code != exitOK || !strings.Contains(stdout, "balancing of shop.orders paused") ||
		!strings.Contains(stderr, "Balancing of shop.orders is on again.") || ownersOf(t, address) == "aaaaaaa" {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	_, stdout, _ = runProgram(t, "", address, "--quiet", "--eval",
		`db.getSiblingDB("config").collections.findOne({_id: "shop.orders"}).noBalance`)
	if strings.TrimSpace(stdout) == "true" {
		t.Error("the collection stays off")
	}
}

// Every line is a document, and the last one is the result, also when it can't be
// done.
func TestBalanceJSON(t *testing.T) {
	address, _ := heaped(t)
	lines := func(args ...string) (events []string, last map[string]any, code int) {
		code, stdout, stderr := runProgram(t, "", append([]string{"balance", address, "--json", "--yes"}, args...)...)
		scanner := bufio.NewScanner(strings.NewReader(stdout))
		for scanner.Scan() {
			last = nil
			if err := json.Unmarshal(scanner.Bytes(), &last); err != nil {
				t.Fatalf("%v in %q, %s", err, scanner.Text(), stderr)
			}
			events = append(events, last["event"].(string))
		}
		return events, last, code
	}
	events, last, code := lines("--ns", "shop.orders")
	if code != exitOK || last["event"] != "result" || last["reached"] != true || last["moves"] != 3.0 ||
		strings.Count(strings.Join(events, " "), "moved") != 3 || strings.Count(strings.Join(events, " "), "began") != 3 {
		t.Errorf("exit code %d, %v, %v", code, events, last)
	}
	if _, last, code = lines("--ns", "shop.nope"); code != exitUsage || last["event"] != "result" ||
		!strings.Contains(last["error"].(string), "shop.nope") {
		t.Errorf("exit code %d, %v", code, last)
	}
}

// Ctrl-C, as the context that a signal ends: the move under way ends.
func TestBalanceInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	address, _ := heaped(t, interruptedAtAMove(cancel))
	var out, errs strings.Builder
	env := environment{
		args:    []string{"balance", address, "--ns", "shop.orders", "--yes"},
		streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &errs},
		getenv:  func(string) (string, bool) { return "", false },
	}
	code := env.run(ctx)
	if code != exitSIGINT || !strings.Contains(out.String(), "Stopped: interrupted; 1 move,") ||
		ownersOf(t, address) != "baaaaaa" {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
}

func TestBalanceLine(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		stderr string
	}{
		"no cluster":           {nil, "balance needs the address of a cluster"},
		"two addresses":        {[]string{"h1", "h2"}, "balance takes one address"},
		"an unknown goal":      {[]string{"--mock", "--goal", "best"}, `--goal: "best" is not a valid goal: use one of size, chunks, ops`},
		"an unknown order":     {[]string{"--mock", "--order", "best"}, `--order: "best" is not a valid order: use one of chosen,`},
		"none at once":         {[]string{"--mock", "--parallel", "0"}, "--parallel must be at least 1, not 0"},
		"negative":             {[]string{"--mock", "--max-moves", "-1"}, "--max-moves can't be negative: -1"},
		"an interval of sizes": {[]string{"--mock", "--ops-interval", "5"}, "--ops-interval is for --goal ops"},
		"read only":            {[]string{"--mock", "--read-only"}, "--read-only and balance exclude each other"},
		"a script of a run":    {[]string{"--mock", "--script", "--yes"}, "--script is for --dry-run"},
		"both":                 {[]string{"--mock", "--dry-run", "--yes"}, "--dry-run and --yes exclude each other"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"balance"}, c.args...)...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
}
