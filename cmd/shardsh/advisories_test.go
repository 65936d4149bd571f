package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// ownFaults has a fault of all servers that loses data when a chunk moves.
const ownFaults = `mute: [CVE-2026-8053, CVE-2025-14847]
advisories:
  - id: OPS-17
    severity: dataLoss
    affected: [{from: 4.4.0}]
    commands: [move]
    symptom: what moves is lost
    remedy: ask the storage people
`

// A cluster of an old patch has known faults: each verb that looks names the worst, and no
// more than fit a screen.
func TestKnownFaults(t *testing.T) {
	address := serve(t, wellTopology).address
	for line, want := range map[string]string{
		"check --rules advisories": "critical  CVE-2026-8053 of 8.0.10, fixed in 8.0.23: ",
		"why":                      "Known faults of these servers\n  critical  CVE-2026-8053 of 8.0.10",
		"doctor":                   "CVE-2026-8053 of 8.0.10, fixed in 8.0.23",
		"report --quick -o -":      "Known faults of these servers (",
		"why --json":               `"knownFaults": [`,
	} {
		_, stdout, stderr := runProgram(t, "", append(strings.Fields(line), address)...)
		if !strings.Contains(stdout, want) {
			t.Errorf("%s does not say %q: %s%s", line, want, stdout, stderr)
		}
		if lines := strings.Count(stdout, "\n"); lines > 40 && !strings.Contains(line, "report") && !strings.Contains(line, "json") {
			t.Errorf("%s has %d lines", line, lines)
		}
	}
	file := writeFile(t, "own.yaml", ownFaults)
	for _, line := range []string{"check --rules advisories", "why", "doctor", "report --quick -o -"} {
		_, stdout, stderr := runProgram(t, "", append(strings.Fields(line), address, "--advisories", file)...)
		if strings.Contains(stdout, "CVE-2026-8053") || stderr != "" && strings.Contains(stderr, "advisor") {
			t.Errorf("%s names what is muted: %s%s", line, stdout, stderr)
		}
	}
}

// What loses data stops a run before anything is sent, in both faces; a wrong file is an
// error that names the line.
func TestAdvisoriesOfRuns(t *testing.T) {
	file := filepath.ToSlash(writeFile(t, "own.yaml", ownFaults))
	wrong := filepath.ToSlash(writeFile(t, "wrong.yaml", strings.Replace(ownFaults, "dataLoss", "awful", 1)))
	const fault = "OPS-17 of 8.0.10: what moves is lost; ask the storage people"
	address := serve(t, heapedTopology).address
	for _, c := range []struct {
		line, call string
		want       string
		code       int
	}{
		{"balance ADDRESS --ns shop.orders --yes --advisories FILE", `sh.balance("shop.orders", { advisories: "FILE" })`, fault,
			exitFailure},
		{"drain ADDRESS --shard a --yes --advisories FILE", `sh.drain("a", { advisories: "FILE" })`, fault, exitFailure},
		{"drain start ADDRESS --shard a --advisories FILE", `sh.job("drain", "start", { shard: "a", advisories: "FILE" }).blocked_by`,
			fault, exitFindings},
		{"defragment start ADDRESS --all --advisories WRONG", `sh.job("defragment", "start", { all: true, advisories: "WRONG" })`,
			"wrong.yaml: line 4: ", exitUsage},
		{"plan ADDRESS --advisories FILE", `sh.plan({ advisories: "FILE" })`, "Known fault: " + fault + ".", exitOK},
		{"plan ADDRESS --advisories WRONG", `sh.plan({ advisories: "WRONG" })`, `wrong.yaml: line 4: there is no severity "awful"`,
			exitUsage},
		{"why ADDRESS --advisories WRONG", `sh.why({ advisories: "WRONG" })`, `wrong.yaml: line 4: there is no severity "awful"`,
			exitUsage},
		{"drain ADDRESS --shard a --advisories WRONG", `sh.drain("a", { advisories: "WRONG" })`, "wrong.yaml: line 4: ", exitUsage},
		{"check ADDRESS --advisories WRONG", "", "wrong.yaml: line 4: ", exitUsage},
		{"report ADDRESS -o - --advisories WRONG", "", "wrong.yaml: line 4: ", exitUsage},
		{"doctor ADDRESS --advisories WRONG", "", "wrong.yaml: line 4: ", exitUsage},
		{"why ADDRESS --advisories /no/such", "", "--advisories: ", exitUsage},
	} {
		put := strings.NewReplacer("ADDRESS", address, "FILE", file, "WRONG", wrong)
		code, stdout, stderr := runProgram(t, "", strings.Fields(put.Replace(c.line))...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit code %d, %s%s", c.line, code, stdout, stderr)
		}
		if c.call == "" {
			continue
		}
		_, stdout, stderr = runProgram(t, "", address, "--quiet", "--eval", put.Replace(c.call))
		if !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: %s%s", c.call, stdout, stderr)
		}
	}
	code, stdout, stderr := runProgram(t, "", "balance", address, "--ns", "shop.orders", "--yes", "--advisories", file,
		"--despite", "knownFault", "--max-moves", "1")
	if code != exitOK || !strings.Contains(stdout+stderr, fault) {
		t.Errorf("despite it: exit code %d, %s%s", code, stdout, stderr)
	}
}
