package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/placement"
)

// killed runs an audit until it has looked at its limits so many times; it dies without a
// chance to keep its progress, or with one. It returns whether it came to its end before.
func (w *audited) killed(a Audit, looks int, atOnce bool) (AuditResult, bool) {
	w.Helper()
	ctx, kill := context.WithCancel(w.Context())
	defer kill()
	var kept []byte
	var keptErr error
	result, err := a.Run(ctx, w.cluster(), reporterFunc(func(e Event) {
		if _, is := e.(AuditProgress); !is {
			return
		}
		if looks--; looks == 0 {
			kept, keptErr = os.ReadFile(a.CheckpointFile)
			kill()
		}
	}))
	if err == nil {
		return result, true
	}
	if !errors.Is(err, context.Canceled) {
		w.Fatal(err)
	}
	switch {
	case !atOnce:
		if result.ResumeFile != a.CheckpointFile {
			w.Errorf("it can't go on: %+v", result)
		}
	case keptErr == nil:
		w.must(os.WriteFile(a.CheckpointFile, kept, 0o600))
	default:
		if err := os.Remove(a.CheckpointFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.Fatal(err)
		}
	}
	return result, false
}

// However often an audit is killed, it comes to the result of one that was not, reads little
// twice, and takes its checkpoint away.
func TestAuditGoesOnAfterKills(t *testing.T) {
	t.Parallel()
	kills := 0
	for seed := range 12 {
		w := newAudited(t, releases()[seed%len(releases())], uint64(seed))
		w.move()
		for _, id := range w.mock.ShardIDs() { // one of which owns the key
			w.must(w.mock.Corrupter().Insert(id, "db.c", w.raw(w.doc("lone on "+string(id), 10))))
		}
		w.must(w.mock.Corrupter().Insert("s0", "db.pair", w.raw(bson.D{{Key: "_id", Value: 1}, {Key: "a", Value: 1}, {Key: "b", Value: 1}})))
		want := w.audit(anAudit(), w.cluster())
		if len(want.Findings) < 2 {
			t.Fatalf("%+v", want)
		}
		a := anAudit()
		a.CheckpointFile, a.stepBytes, a.MaxBytesPerSecond = filepath.Join(t.TempDir(), "kept"), 1, 100
		var got AuditResult
		for done := false; !done; kills++ {
			got, done = w.killed(a, 1+w.r.IntN(90), w.r.IntN(2) == 0)
			if kills > 1000 {
				t.Fatal("it does not get on")
			}
		}
		got.MS, want.MS = 0, 0
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n%+v, want\n%+v", seed, got, want)
		}
		if _, err := os.Stat(a.CheckpointFile); !errors.Is(err, os.ErrNotExist) {
			t.Error("the checkpoint stays")
		}
	}
	if kills < 24 {
		t.Errorf("%d runs only", kills)
	}
}

// What was saved before a kill stays, and what is mended meanwhile is not a finding any more.
func TestAuditGoesOnAfterMending(t *testing.T) {
	w := newAudited(t, catalog.Release80, 1)
	for i := range 3 {
		w.must(w.mock.Corrupter().Insert("s2", "db.c", w.raw(w.doc(fmt.Sprintf("lone%d", i), 10+i))))
	}
	a := anAudit()
	a.Namespaces, a.ExportDir, a.CheckpointFile, a.stepBytes = []string{"db.c"}, t.TempDir(), filepath.Join(t.TempDir(), "kept"), 1
	if _, done := w.killed(a, 122, false); done { // which is after the last one of them
		t.Fatal("it was not killed")
	}
	name := filepath.Join(a.ExportDir, "db.c."+string(placement.Lone)+".s2")
	saved := "what an earlier run has saved"
	w.must(os.WriteFile(name+".json", []byte(saved), 0o600))
	w.must(w.mock.Corrupter().Delete("s2", "db.c", w.raw(bson.D{{Key: "_id", Value: "lone1"}}).Lookup("_id")))
	result := w.audit(a, w.cluster())
	if len(result.Findings) != 1 || result.Findings[0].Count != 2 || result.Findings[0].File != name+".2.json" {
		t.Errorf("%+v", result.Findings)
	}
	if text, err := os.ReadFile(name + ".json"); err != nil || string(text) != saved {
		t.Errorf("%q, %v", text, err)
	}
}

// An audit that goes on reaches its total as one that was not killed.
func TestAuditProgressAfterAKill(t *testing.T) {
	w := newAudited(t, catalog.Release80, 1)
	a := anAudit()
	a.Namespaces, a.CheckpointFile, a.stepBytes = []string{"db.c"}, filepath.Join(t.TempDir(), "kept"), 1
	missing := func() (n int64) {
		_, err := a.Run(w.Context(), w.cluster(), reporterFunc(func(e Event) {
			if p, is := e.(AuditProgress); is {
				n = p.Total - p.Docs
			}
		}))
		w.must(err)
		return n
	}
	want := missing()
	if _, done := w.killed(a, 60, false); done {
		t.Fatal("it was not killed")
	}
	if got := missing(); got != want {
		t.Errorf("%d documents are missing in the end, and %d without a kill", got, want)
	}
}

// A checkpoint of something else is refused, and nothing is read.
func TestAuditRefusesCheckpoints(t *testing.T) {
	w := newAudited(t, catalog.Release80, 2)
	path := filepath.Join(t.TempDir(), "kept")
	for text, reason := range map[string]string{
		`{"format": "shardsh audit 1", "namespaces": ["db.other"], "done": []}`: "of other collections",
		`{"format": "shardsh verify"}`:                                          "is not the checkpoint of an audit",
		"":                                                                      "is not the checkpoint of an audit",
	} {
		w.must(os.WriteFile(path, []byte(text), 0o600))
		a := anAudit()
		a.CheckpointFile = path
		if _, err := a.Run(t.Context(), w.cluster(), nil); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
