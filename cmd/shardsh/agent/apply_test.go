package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var today = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func fixed() time.Time { return today }

// A plan is carried out if a person has approved it, and no other one.
func TestApplyNeedsApproval(t *testing.T) {
	plans := &Plans{Dir: t.TempDir(), ApprovalCommand: "shardsh mcp --approve", Now: fixed}
	w := newWorld(t, heaped, plans)
	before := w.metadata()
	a, refusal := w.call("plan", nil)
	if refusal != "" || a.Hash == "" {
		t.Fatal(refusal, a)
	}
	arguments := map[string]any{"hash": a.Hash}
	if _, refusal := w.call("apply", arguments); !strings.Contains(refusal, "is not approved") ||
		!strings.Contains(refusal, "shardsh mcp --approve "+a.Hash) {
		t.Errorf("refused with %q", refusal)
	}
	if w.metadata() != before || len(w.reads()) > 0 {
		t.Fatalf("something was changed: %q", w.reads())
	}
	if err := plans.Approve(a.Hash); err != nil {
		t.Fatal(err)
	}
	other, _ := w.call("plan", map[string]any{"max_moves": 1})
	if _, refusal := w.call("apply", map[string]any{"hash": other.Hash}); !strings.Contains(refusal, "is not approved") {
		t.Errorf("another plan is refused with %q", refusal)
	}
	done, refusal := w.call("apply", arguments)
	if refusal != "" {
		t.Fatal(refusal)
	}
	if after := w.metadata(); strings.Count(after, " b\n") != 1 {
		t.Errorf("after %s\n%s", done.Answer, after)
	}
	if again, refusal := w.call("apply", arguments); refusal != "" || !strings.Contains(again.Answer, "moved by earlier runs, nothing by this one") {
		t.Errorf("again: %s%s", again.Answer, refusal)
	}
}

// Approvals end, are of whole plans as they were read, and are no way to other files.
func TestApprovals(t *testing.T) {
	now := today
	plans := &Plans{Dir: t.TempDir(), ApprovalCommand: "approve", Now: func() time.Time { return now }}
	w := newWorld(t, heaped, plans)
	a, _ := w.call("plan", nil)
	apply := func() string {
		_, refusal := w.call("apply", map[string]any{"hash": a.Hash, "for": "1ms"})
		return refusal
	}
	if err := plans.Approve(a.Hash); err != nil {
		t.Fatal(err)
	}
	now = today.Add(ApprovalLifetime + time.Second)
	if refusal := apply(); !strings.Contains(refusal, "not approved any more") {
		t.Errorf("after a day it is refused with %q", refusal)
	}
	now = today.Add(-time.Hour)
	if refusal := apply(); !strings.Contains(refusal, "not approved any more") {
		t.Errorf("an approval of the future is refused with %q", refusal)
	}
	now = today
	file := plans.planPath(a.Hash)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), `"to":"b"`, `"to":"a"`, 1)
	if edited == string(text) {
		t.Fatal("nothing was edited")
	}
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if refusal := apply(); refusal == "" {
		t.Error("an edited plan is carried out")
	}
	for _, hash := range []string{
		"", "../" + a.Hash[3:], a.Hash[:32], strings.ToUpper(a.Hash), a.Hash + "/../x", strings.Repeat("0", 63) + "\x00",
	} {
		if _, refusal := w.call("apply", map[string]any{"hash": hash}); !strings.Contains(refusal, "hash") {
			t.Errorf("%q is refused with %q", hash, refusal)
		}
	}
	for _, ending := range []string{"0s", "-1m", "2h", "soon"} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, refusal := w.call("apply", map[string]any{"hash": a.Hash, "for": ending}); !strings.Contains(refusal, "for takes") {
			t.Errorf("for %s is refused with %q", ending, refusal)
		}
	}
	if names, err := filepath.Glob(filepath.Join(plans.Dir, "*.journal")); err != nil || len(names) > 0 {
		t.Errorf("journals %q, %v", names, err)
	}
}
