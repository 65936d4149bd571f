package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/action"
	"shardsh/balancer/verify"
)

// Both faces find the same: nothing after a move, a write for what it is, and what is gone
// after a restore.
func TestVerifyOfBothFaces(t *testing.T) {
	address, dir := serve(t, heapedTopology).address, t.TempDir()
	eval := func(code string) string {
		t.Helper()
		exit, out, errs := runProgram(t, "", address, "--quiet", "--eval", code)
		if exit != exitOK {
			t.Fatal(code, out, errs)
		}
		return strings.TrimSpace(out)
	}
	before := filepath.Join(dir, "before")
	compared := func(want verify.Verdict, code int) action.VerifyResult {
		t.Helper()
		exit, out, errs := runProgram(t, "", "verify", address, "--against", before, "--settle-pause", "1ms", "--json", "--quiet")
		var r action.VerifyResult
		if err := json.Unmarshal([]byte(out), &r); err != nil || exit != code || r.Verdict != string(want) {
			t.Fatalf("exit %d, want %d with %s: %v, %s%s", exit, code, want, err, out, errs)
		}
		call := `sh.verify("app.c", { against: "` + filepath.ToSlash(before) + `", settlePause: 1, progress: false }).verdict`
		if got := eval(call); got != string(want) {
			t.Fatalf("the helper has %s, want %s", got, want)
		}
		return r
	}
	eval(`sh.shardCollection("app.c", { x: 1 }); sh.splitAt("app.c", { x: 50 });
		db.getSiblingDB("app").c.insertMany(Array.from({ length: 200 }, (_, i) => ({ _id: i, x: i, d: i / 7 })))`)
	exit, out, errs := runProgram(t, "", "verify", "start", address, "--ns", "app.c", "-o", before)
	if exit != exitOK || !strings.Contains(out, "app.c: 200 documents") || !strings.Contains(errs, "Reads about 200 documents") {
		t.Fatalf("exit %d: %s%s", exit, out, errs)
	}
	if exit, _, errs := runProgram(t, "", "verify", "start", address, "--ns", "app.c", "-o", before); exit != exitUsage {
		t.Errorf("exit %d, though the digest would be overwritten: %s", exit, errs)
	}
	eval(`const at = sh.chunks("app.c").toArray().at(-1).shard;
		sh.moveRange("app.c", db.getSiblingDB("config").shards.findOne({ _id: { $ne: at } })._id, { x: 50 })`)
	compared(verify.Same, exitOK)
	eval(`db.getSiblingDB("app").c.updateOne({ _id: 7 }, { $set: { d: 5 } })`)
	compared(verify.Explained, exitOK)
	eval(`db.getSiblingDB("app").c.updateMany({ _id: { $lt: 9 } }, { $set: { d: 5 } })`)
	compared(verify.Written, exitFailure)
	eval(`const all = db.getSiblingDB("app").c.find().toArray(); db.getSiblingDB("app").c.drop();
		db.getSiblingDB("app").c.insertMany(all.filter(d => d._id !== 100))`)
	r := compared(verify.Different, exitFindings)
	if c := r.Collections[0]; c.Docs != 199 || c.DocsBefore != 200 || len(c.Notes) != 2 || c.Differing[verify.Different] != 2 {
		t.Errorf("%+v", c)
	}
	differences := filepath.Join(dir, "differences")
	exit, out, _ = runProgram(t, "", "verify", address, "--against", before, "--settle", "0", "--differences", differences)
	if exit != exitFindings || !strings.Contains(out, "app.c: DIFFERENT") || !strings.Contains(out, "lost: a document with the hash ") {
		t.Errorf("exit %d: %s", exit, out)
	}
	if text, err := os.ReadFile(differences); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestVerifyRefuses(t *testing.T) {
	for line, reason := range map[string]string{
		"verify --mock":                                "needs the word start",
		"verify start --mock --ns a.b":                 "needs -o FILE",
		"verify start --mock -o x":                     "--ns is missing",
		"verify start --mock --ns a.b --against x":     "leave --against out",
		"verify --against x":                           "needs the address",
		"verify --mock --against x --settle -1":        "--settle",
		"verify start --mock --ns a.b -o x one two":    "takes one address",
		"verify start --mock --ns a.b -o /no/such/dir": "there is no directory",
	} {
		exit, _, errs := runProgram(t, "", strings.Fields(line)...)
		if exit != exitUsage || !strings.Contains(errs, reason) {
			t.Errorf("%s: exit %d, %s", line, exit, errs)
		}
	}
}
