package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"shardsh/balancer/action"
	"shardsh/balancer/placement"
)

// Both faces find the same, and tell by the exit code how it ended. A virtual document is
// counted by its shard, which does not have it.
func TestAuditFacesAgree(t *testing.T) {
	const counted = `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "app.c", "key": {"x": 1}, "chunks": [
		{"shard": "a", "docs": 10, "bytes": 1000, "max": {"x": 50}}, {"shard": "b"}]}]}`
	topology := writeFile(t, "topology.json", counted)
	for _, c := range []struct {
		name, verdict string
		exit, unseen  int
		args          []string
	}{
		{"healthy", action.AuditClean, exitOK, 0, []string{"--mock=2"}},
		{"a count that differs", action.AuditFindings, exitFindings, 0, []string{"--mock=" + topology}},
		{"metadata alone", action.AuditClean, exitOK, 0, []string{"--mock=" + topology, "--metadata"}},
		{"no way to the members", action.AuditUnknown, exitFailure, 2, []string{serve(t, heapedTopology).address, "--metadata"}},
	} {
		args := append([]string{"audit", "--json", "--quiet", "--settle-pause", "1ms"}, c.args...)
		exit, out, errs := runProgram(t, "", args...)
		var r action.AuditResult
		if err := json.Unmarshal([]byte(out), &r); err != nil || exit != c.exit || r.Verdict != c.verdict {
			t.Errorf("%s: exit %d, %v: %s%s", c.name, exit, err, out, errs)
		}
		if len(r.Unchecked) < c.unseen || c.unseen == 0 && len(r.Unchecked) > 0 {
			t.Errorf("%s: %q", c.name, r.Unchecked)
		}
		if c.exit == exitFindings && (len(r.Findings) != 1 || r.Findings[0].Kind != placement.CountDiffers) {
			t.Errorf("%s: %+v", c.name, r.Findings)
		}
		call := `sh.audit({ settlePause: 1, progress: false, metadata: ` + strconv.FormatBool(len(c.args) > 1) + ` }).verdict`
		if exit, out, errs := runProgram(t, "", c.args[0], "--quiet", "--eval", call); exit != exitOK || strings.TrimSpace(out) != c.verdict {
			t.Errorf("%s: the helper has %s%s, want %s", c.name, out, errs, c.verdict)
		}
	}
	exit, out, errs := runProgram(t, "", "audit", "--mock="+topology)
	if exit != exitFindings || !strings.Contains(out, "count-differs  app.c: a reports 10 documents, but has 0") ||
		!strings.Contains(out, `runCommand({validate: "c"})`) || !strings.Contains(errs, "Reads about 10 documents of 1 collection") {
		t.Errorf("exit %d: %s%s", exit, out, errs)
	}
}

func TestAuditVerbRefuses(t *testing.T) {
	for line, reason := range map[string]string{
		"audit":                                  "needs the address",
		"audit --mock --ns no.such":              "no.such does not exist",
		"audit --mock --ns .x":                   "takes DB or DB.COLLECTION",
		"audit --mock --settle 0":                "--settle must be at least 1",
		"audit --mock --metadata --sample 5":     "--metadata exclude each other",
		"audit --mock --metadata --export saved": "--metadata exclude each other",
	} {
		exit, _, errs := runProgram(t, "", strings.Fields(line)...)
		if exit != exitUsage || !strings.Contains(errs, reason) {
			t.Errorf("%s: exit %d, %s", line, exit, errs)
		}
	}
}
