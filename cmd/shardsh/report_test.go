package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	file := filepath.Join(t.TempDir(), "report.html")
	code, stdout, stderr := runProgram(t, "", "report", "--mock="+topology, "-o", file)
	text, err := os.ReadFile(file)
	if code != exitOK || stdout != "" || err != nil || !strings.Contains(stderr, file+": shop.orders is not balanced") {
		t.Fatalf("exit code %d, output %q, errors %q, %v", code, stdout, stderr, err)
	}
	for _, want := range []string{
		"<!DOCTYPE html>", "shop.orders is not balanced", "sh.startBalancer()", "<b>4 GiB</b>", "</html>",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	code, stdout, stderr = runProgram(t, "", "report", "--mock="+topology, "-o", "-", "--quiet")
	if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, "<!DOCTYPE html>") {
		t.Errorf("exit code %d, output %.40q, errors %q", code, stdout, stderr)
	}
	code, stdout, _ = runProgram(t, "", "report", "--mock="+topology, "--json")
	var overview struct {
		Totals struct{ Bytes, Chunks int64 }
		Why    struct{ Causes []struct{ Code string } }
	}
	if err := json.Unmarshal([]byte(stdout), &overview); code != exitOK || err != nil || overview.Totals.Bytes != 4<<30 ||
		overview.Totals.Chunks != 3 || overview.Why.Causes[0].Code != "balancerOff" {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
}

func TestReportQuick(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	code, stdout, stderr := runProgram(t, "", "report", "--mock="+topology, "--quick", "--json", "--quiet")
	var overview struct {
		Forecasts []any
		Planned   any
		Shards    []any
	}
	if err := json.Unmarshal([]byte(stdout), &overview); code != exitOK || stderr != "" || err != nil ||
		len(overview.Forecasts) != 0 || overview.Planned != nil || len(overview.Shards) != 3 {
		t.Errorf("exit code %d, errors %q, %v: %s", code, stderr, err, stdout)
	}
}

// What turns a text around is spelled out on the page, too.
func TestReportShowsHiddenCharacters(t *testing.T) {
	topology := writeFile(t, "topology.json", `{"shards": [{"id": "a"}], "collections": [
		{"ns": "shop.\u202egnp.exe", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": "1MiB", "docs": 5}]}]}`)
	code, stdout, stderr := runProgram(t, "", "report", "--mock="+topology, "-o", "-", "--quiet")
	if code != exitOK || strings.Contains(stdout, "\u202e") || !strings.Contains(stdout, `shop.\u202Egnp.exe`) {
		t.Errorf("exit code %d, errors %q", code, stderr)
	}
}

func TestReportRedacted(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	code, stdout, stderr := runProgram(t, "", "report", "--mock="+topology, "--redact", "-o", "-", "--quiet")
	if code != exitOK || stderr != "" || strings.Contains(stdout, "orders") || strings.Contains(stdout, "alpha") ||
		!strings.Contains(stdout, "4 GiB") {
		t.Errorf("exit code %d, errors %q: %.2000s", code, stderr, stdout)
	}
}

func TestReportLine(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no file":           {nil, exitUsage, "-o FILE, or -o - for standard output"},
		"an unknown format": {[]string{"--output", "pdf"}, exitUsage, "--output takes html, json"},
		"a file nowhere":    {[]string{"-o", "/nowhere/x"}, exitUsage, "/nowhere/x"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"report", "--mock"}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
	code, _, stderr := runProgram(t, "", "report", "-o", "x.html")
	if code != exitUsage || !strings.Contains(stderr, "--mock") {
		t.Errorf("exit code %d, errors %q", code, stderr)
	}
}
