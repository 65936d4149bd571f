package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/audit"
)

// auditTopology has something to move, and no balancer that does.
var auditTopology = heapedTopology

// what keeps of the records what two runs have in common.
func what(records []audit.Record) (list []string) {
	for _, r := range records {
		list = append(list, strings.Join([]string{r.Verb, string(r.Kind), string(r.Outcome), string(r.Command),
			strings.Join(r.Namespaces, " ")}, " "))
	}
	return list
}

// Both faces write down the same, to a file and to the cluster, and read the same of it.
func TestAuditOfBothFaces(t *testing.T) {
	for _, destination := range []string{"file", audit.ClusterDestination} {
		var seen [2][]string
		for face := range 2 {
			address, dir := serve(t, auditTopology).address, t.TempDir()
			to := destination
			if to == "file" {
				to = filepath.Join(dir, "audit.jsonl")
			}
			run := []string{"drain", address, "--shard", "a", "--move-primaries", "--yes", "--quiet", "--audit", to,
				"--journal", filepath.Join(dir, "j")}
			if face == 1 {
				run = []string{address, "--quiet", "--audit", to, "--eval",
					`sh.drain("a", { movePrimaries: true, journal: null, progress: false }).finished`}
			}
			if exit, out, errs := runProgram(t, "", run...); exit != exitOK {
				t.Fatal(out, errs)
			}
			exit, out, errs := runProgram(t, "", "history", address, "--audit", to, "--json", "--last", "0")
			var list []audit.Record
			if err := json.Unmarshal([]byte(out), &list); err != nil || exit != exitOK {
				t.Fatal(err, out, errs)
			}
			if len(list) < 3 || !list[0].IsRun() || list[0].Verb != "drain" || list[0].Plan == "" {
				t.Errorf("%+v", list)
			}
			for _, r := range list {
				if r.Outcome != audit.Done || r.User == "" || r.Host == "" || r.PID != os.Getpid() {
					t.Errorf("%+v", r)
				}
			}
			seen[face] = what(list)
			call := `EJSON.stringify(sh.history({ audit: "` + filepath.ToSlash(to) + `", last: 0 }))`
			exit, again, errs := runProgram(t, "", address, "--quiet", "--eval", call)
			var called []audit.Record
			if err := json.Unmarshal([]byte(again), &called); err != nil || exit != exitOK ||
				strings.Join(what(called), "\n") != strings.Join(seen[face], "\n") {
				t.Errorf("%v, %s, %s", err, again, errs)
			}
			exit, text, _ := runProgram(t, "", "history", address, "--audit", to, "--last", "2", "--ns", "shop.*")
			if exit != exitOK || strings.Count(text, "\n") != 2 || !strings.Contains(text, "done, ") {
				t.Errorf("exit %d: %s", exit, text)
			}
			exit, text, _ = runProgram(t, "", "history", address, "--audit", to, "--verb", "apply")
			if exit != exitOK || text != "The audit has no entries.\n" {
				t.Errorf("exit %d: %s", exit, text)
			}
		}
		if a, b := strings.Join(seen[0], "\n"), strings.Join(seen[1], "\n"); a != b {
			t.Errorf("%s: the subcommand writes\n%s\nthe helper\n%s", destination, a, b)
		}
	}
}

// A kill leaves what was about to be sent.
func TestHistoryAfterKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	lines := `{"id":"5","run":"5","what":"began","at":"2026-03-02T12:00:00Z","user":"jane","host":"h","pid":7,"verb":"balance"}
{"id":"5-1","run":"5","what":"sending","at":"2026-03-02T12:00:01Z","user":"jane","host":"h","pid":7,"verb":"balance",` +
		`"ns":["shop.orders"],"database":"admin","command":{"moveRange":"shop.orders","toShard":"b","min":{"k":1}}}
{"id":"5-1","run":"5","wh`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, out, errs := runProgram(t, "", "history", "--audit", path)
	for _, want := range []string{
		"2026-03-02 12:00:00Z  jane  h on balance", "run: all collections", "unknown: the audit has no entry for its end",
		`moveRange shop.orders {"toShard":"b","min":{"k":1}}`, "1 line can't be read",
	} {
		if want = strings.Replace(want, "h on ", "on h  ", 1); !strings.Contains(out, want) || exit != exitOK {
			t.Errorf("%q is not in exit %d: %s%s", want, exit, out, errs)
		}
	}
}

func TestHistoryRefuses(t *testing.T) {
	for line, reason := range map[string]string{
		"history":                       "history needs --audit FILE, or the address of a cluster",
		"history --audit syslog":        "journalctl -t shardsh",
		"history --mock --last -1":      "--last can't be negative",
		"history --mock --ns [":         "is not a valid pattern",
		"history --audit /no/such/file": "no such file",
	} {
		exit, _, errs := runProgram(t, "", strings.Fields(line)...)
		if exit == exitOK || !strings.Contains(errs, reason) {
			t.Errorf("%s: exit %d, %s", line, exit, errs)
		}
	}
}
