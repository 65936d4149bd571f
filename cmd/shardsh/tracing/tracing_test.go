package tracing

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// tick is a clock that goes on by a second with each look.
func tick() func() time.Time {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func options(trace string) Options {
	return Options{Trace: trace, Verb: "drain", Address: "mongodb://h", Now: tick(),
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }}
}

func step(kind apply.EventKind, n int, err error) action.StepEvent {
	return action.StepEvent{Event: apply.Event{Kind: kind, Err: err,
		Step: plan.Step{Number: n, Kind: plan.Move, Namespace: "shop.orders", From: "a", To: "b", Bytes: 10}}}
}

func move(kind runner.EventKind, n int, err error) action.EngineEvent {
	return action.EngineEvent{Event: runner.Event{Kind: kind, Err: err, Move: runner.Move{Number: n, Namespace: "shop.orders", From: "a", To: "b"}}}
}

// spansOf reads requests, a line each.
func spansOf(t testing.TB, text []byte) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		var r struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []map[string]any }
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		list = append(list, r.ResourceSpans[0].ScopeSpans[0].Spans...)
	}
	return list
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A run with steps, moves, waits and notes is a trace whose parts lie inside of each other,
// and every event is a line of the log.
func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.otlp")
	var log bytes.Buffer
	o := options(path)
	o.Log, o.Parent = &log, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	o.Resource = map[string]string{"host.name": "ops1"}
	r, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []action.Event{
		action.Planned{Plan: &plan.Plan{ID: "plan-1"}},
		action.Started{Comment: func() string { return "shardsh 6b0b" }},
		step(apply.Began, 1, nil), step(apply.Retrying, 1, errors.New("busy: hunter2")), step(apply.Ended, 1, nil),
		step(apply.Began, 2, nil), step(apply.Failed, 2, errors.New("no: hunter2")), step(apply.AlreadyDone, 3, nil),
		move(runner.Began, 7, nil), move(runner.Moved, 7, nil),
		action.Wait{Event: pace.Event{Reason: pace.WaitWindow, Text: "the window is closed", WaitEnded: true, Waited: time.Second}},
		action.Note{Text: "to hunter2"}, step(apply.Began, 4, nil),
	} {
		r.Report(e)
	}
	if kept := len(spansOf(t, read(t, path))); kept != 5 {
		t.Errorf("while it runs %d spans are there, want the 5 that have ended", kept)
	}
	if err := r.End(errors.New("stopped: hunter2")); err != nil {
		t.Fatal(err)
	}
	spans := spansOf(t, read(t, path))
	var names []string
	root := spans[len(spans)-1]
	for _, s := range spans {
		names = append(names, s["name"].(string))
		if s["traceId"] != "4bf92f3577b34da6a3ce929d0e0e4736" || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(s["spanId"].(string)) {
			t.Errorf("ids of %v", s)
		}
		parent := root["spanId"]
		if s["name"] == "drain" {
			parent = "00f067aa0ba902b7"
		}
		if s["parentSpanId"] != parent || s["startTimeUnixNano"].(string) > s["endTimeUnixNano"].(string) ||
			s["startTimeUnixNano"].(string) < root["startTimeUnixNano"].(string) || s["endTimeUnixNano"].(string) > root["endTimeUnixNano"].(string) {
			t.Errorf("%v does not lie in its parent", s)
		}
		if s["name"] == "move" && !strings.Contains(string(mustJSON(s)), `{"key":"db.comment","value":{"stringValue":"shardsh 6b0b"}}`) {
			t.Errorf("%v lacks the comment", s)
		}
	}
	if got := strings.Join(names, " "); got != "move move move move wait move drain" {
		t.Errorf("the spans are %s", got)
	}
	if code := spans[1]["status"].(map[string]any)["code"]; code != 2.0 {
		t.Errorf("a step that failed has the status %v", code)
	}
	text := log.String() + string(read(t, path))
	if strings.Contains(text, "hunter2") {
		t.Errorf("a password is in\n%s", text)
	}
	for i, line := range strings.Split(strings.TrimSpace(log.String()), "\n") {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil || l["trace_id"] != "4bf92f3577b34da6a3ce929d0e0e4736" || l["verb"] != "drain" {
			t.Errorf("line %d: %v, %s", i, err, line)
		}
	}
	if n := strings.Count(log.String(), `"comment":"shardsh 6b0b"`); n < 8 {
		t.Errorf("%d lines have the comment\n%s", n, log.String())
	}
}

func mustJSON(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// Each span that begins ends, whatever happens to it and in whichever order.
func TestEverySpanEnds(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, newID(8))
		r, err := New(options(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		open, want := map[string]bool{}, 0
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			n := rapid.IntRange(1, 3).Draw(t, "number")
			if rapid.Bool().Draw(t, "a step") {
				kind := rapid.SampledFrom([]apply.EventKind{apply.Began, apply.Ended, apply.Failed, apply.Retrying, apply.StillRunning, apply.AlreadyDone,
					apply.RouterUnreachable, apply.Replanned}).Draw(t, "kind")
				name := "s" + string(rune('0'+n))
				if kind == apply.Began && open[name] {
					continue // begins once
				}
				switch kind {
				case apply.Began:
					open[name] = true
					want++
				case apply.Ended, apply.AlreadyDone:
					if !open[name] {
						want++
					}
					open[name] = false
				case apply.Failed:
					open[name] = false
				}
				r.Report(step(kind, n, nil))
				continue
			}
			kind := rapid.SampledFrom([]runner.EventKind{runner.Began, runner.Moved, runner.Failed, runner.LeftToServers, runner.Split, runner.Skipped,
				runner.RoundEnded}).Draw(t, "kind")
			name := "m" + string(rune('0'+n))
			if kind == runner.Began {
				if open[name] {
					continue
				}
				open[name] = true
				want++
			} else if kind == runner.Moved || kind == runner.Failed || kind == runner.LeftToServers {
				open[name] = false
			}
			r.Report(move(kind, n, nil))
		}
		if err := r.End(nil); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "\n"); got != want+1 {
			t.Errorf("%d spans, want %d and the run", got, want)
		}
	})
}

// A collector gets all spans, with the headers of the environment.
func TestCollector(t *testing.T) {
	var mu sync.Mutex
	var got []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		got = append(append(got, body...), '\n')
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("api-key") != "a b+c==" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
	}))
	defer server.Close()
	o := options(server.URL)
	o.Headers = "api-key=a%20b+c=="
	r, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 250 {
		r.Report(move(runner.Began, n, nil))
		r.Report(move(runner.Moved, n, nil))
	}
	if err := r.End(nil); err != nil {
		t.Fatal(err)
	}
	if n := len(spansOf(t, got)); n != 251 {
		t.Errorf("%d spans arrived", n)
	}
}

// A collector that is gone or refuses costs a run nothing but a word at the end.
func TestCollectorFails(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refusing.Close()
	for address, want := range map[string]string{refusing.URL: "2 spans lost: the collector answers 403", "http://127.0.0.1:1": "2 spans lost: "} {
		r, err := New(options(address), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Report(move(runner.Began, 1, nil))
		r.Report(move(runner.Moved, 1, nil))
		if err := r.End(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"http://", "http://joe:hunter2@h", filepath.Join(t.TempDir(), "no", "dir")} {
		if _, err := New(options(address), nil); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestTraceParent(t *testing.T) {
	for text, ok := range map[string]bool{
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": true,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": false,
		"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": false,
		"": false, "4bf92f3577b34da6a3ce929d0e0e4736": false,
	} {
		if _, _, got := parseTraceParent(text); got != ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}
