package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func line(id string, what EntryKind, at int) Entry {
	return Entry{ID: id, Run: "r", Kind: what, At: noon.Add(time.Duration(at) * time.Second), Actor: CurrentActor(), Verb: "drain"}
}

func open(t *testing.T, path string) Sink {
	t.Helper()
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Lines of several runs and goroutines stay whole, also after one that a kill has torn.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(path, []byte(`{"id":"torn","wh`), 0o600); err != nil {
		t.Fatal(err)
	}
	const runs, lines = 4, 50
	var all sync.WaitGroup
	for run := range runs {
		s := open(t, path)
		for i := range lines {
			all.Go(func() {
				e := line(fmt.Sprintf("%d-%d", run, i), Sending, i)
				e.Error = strings.Repeat("x", 5000)
				if err := s.Write(t.Context(), e); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	list, torn, err := ReadFile(path)
	if err != nil || torn != 1 || len(list) != runs*lines {
		t.Errorf("%d lines, %d torn, %v", len(list), torn, err)
	}
}

func TestFileRefuses(t *testing.T) {
	dir := t.TempDir()
	writable := filepath.Join(dir, "writable")
	if err := os.WriteFile(writable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(writable, 0o622); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none", "audit"), writable, os.DevNull} {
		if path == writable && os.PathSeparator != '/' {
			continue
		}
		if _, err := Open(t.Context(), path, nil); !errors.As(err, new(*Error)) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A command is written down with its bounds, and without what is nobody's business.
func TestCommandOf(t *testing.T) {
	x := bson.D{{Key: "x", Value: 5}}
	for want, command := range map[string]bson.D{
		`{"moveRange":"db.c","toShard":"b","min":{"x":5}}`: {
			{Key: "moveRange", Value: "db.c"}, {Key: "toShard", Value: "b"}, {Key: "min", Value: x},
			{Key: "lsid", Value: "secret"}, {Key: "comment", Value: "secret"}, {Key: "writeConcern", Value: x},
		},
		`{"update":"collections","updates":[{"_id":"db.c","noBalance":true}]}`: {
			{Key: "update", Value: "collections"}, {Key: "updates", Value: bson.A{bson.D{
				{Key: "q", Value: bson.D{{Key: "_id", Value: "db.c"}}},
				{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "noBalance", Value: true}, {Key: "x", Value: "secret"}}}}},
			}}},
		},
		`{"insert":"tags"}`:    {{Key: "insert", Value: "tags"}, {Key: "documents", Value: bson.A{bson.D{{Key: "x", Value: "secret"}}}}},
		`{"addShard":"rs/h1"}`: {{Key: "addShard", Value: "rs/h1"}, {Key: "pwd", Value: "secret"}},
	} {
		if got, err := CommandOf(command); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

func TestRecords(t *testing.T) {
	done := line("r-1", Answered, 3)
	done.Outcome, done.Millis = Done, 2000
	lost := line("r-0", Answered, 1)
	lost.Outcome, lost.Millis = Failed, 5000
	list := Records([]Entry{lost, line("r", Began, 0), line("r-1", Sending, 1), line("r-2", Sending, 2), done})
	want := []struct {
		id      string
		outcome Outcome
		open    bool
		at      int
	}{{"r-0", Failed, false, -4}, {"r", Unknown, true, 0}, {"r-1", Done, false, 1}, {"r-2", Unknown, true, 2}}
	if len(list) != len(want) {
		t.Fatalf("%+v", list)
	}
	for i, w := range want {
		if r := list[i]; r.ID != w.id || r.Outcome != w.outcome || r.Until.IsZero() != w.open ||
			!r.At.Equal(noon.Add(time.Duration(w.at)*time.Second)) || r.IsRun() != (w.id == "r") {
			t.Errorf("%+v, want %+v", r, w)
		}
	}
	// r-1 began before, and ended since.
	list[2].Namespaces = []string{"shop.orders"}
	list[3].Namespaces = []string{"crm.x"}
	for n, f := range map[int]Filter{
		4: {}, 3: {Namespaces: []string{"shop.*"}}, 1: {Last: 1}, 2: {Since: noon.Add(2 * time.Second)}, 0: {Verb: "apply"},
	} {
		if got := f.Select(list); len(got) != n {
			t.Errorf("%+v: %d records", f, len(got))
		}
	}
	// A run that was given a pattern is found by each collection that it covers.
	for ns, want := range map[string]bool{"shop.orders": true, "shop.*": true, "crm.x": false, "*": true} {
		r := Record{Entry: Entry{Namespaces: []string{"shop.*"}}}
		if got := (Filter{Namespaces: []string{ns}}).Select([]Record{r}); (len(got) == 1) != want {
			t.Errorf("%s: %d records", ns, len(got))
		}
	}
}

// What is written comes back.
func TestEntryRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	e := line("r-1", Sending, 0)
	e.Command, e.Namespaces, e.Database = `{"moveRange":"db.c","min":{"x":{"$minKey":1}}}`, []string{"db.c"}, "admin"
	if err := open(t, path).Write(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	list, torn, err := ReadFile(path)
	if err != nil || torn > 0 || len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(e) {
		t.Errorf("%v, %v", list, err)
	}
	doc, err := bson.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var again Entry
	if err := bson.Unmarshal(doc, &again); err != nil || again.Command != e.Command || again.Host != e.Host || !again.At.Equal(e.At) {
		t.Errorf("%v, %v", again, err)
	}
}
