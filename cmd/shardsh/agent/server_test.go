package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The protocol's own client lists the tools, and each of them answers, with where that
// comes from.
func TestEveryTool(t *testing.T) {
	approvals := &Plans{Dir: t.TempDir(), ApprovalCommand: "approve", Now: fixed}
	w := newWorld(t, heaped, approvals)
	var people []any
	for i := range 300 {
		people = append(people, bson.D{{Key: "x", Value: i % 7}, {Key: "customer", Value: fmt.Sprint("c", i)}})
	}
	if _, err := w.client.Database("crm").Collection("people").InsertMany(t.Context(), people); err != nil {
		t.Fatal(err)
	}
	plan, refusal := w.call("plan", nil)
	if refusal != "" {
		t.Fatal(refusal)
	}
	if err := approvals.Approve(plan.Hash); err != nil {
		t.Fatal(err)
	}
	type called struct {
		tool      string
		arguments map[string]any
		part      string // of the answer
		next      string // of a next step
	}
	calls := []called{
		{"why", nil, "shop.orders", "plan {}"},
		{"why", map[string]any{"ns": "shop.orders", "key": `{"x": 1500}`}, "1000", ""},
		{"check", nil, "shop.orders", `why {"ns": "shop.orders"}`},
		{"plan", map[string]any{"max_moves": 1, "why": true}, "1 move", "approve "},
		{"forecast", map[string]any{"goal": "drain=b"}, "b", "why"},
		{"simulate", map[string]any{"alternatives": []string{"addShard 2"}}, "addShard 2", "plan"},
		{"snapshot", nil, "a: 572.2 MiB, 6 chunks", "why"},
		{"diff", map[string]any{"from": "snapshot-1"}, "othing", ""},
		{"advise", map[string]any{"ns": "crm.people", "keys": []string{`{"customer": 1}`}}, "customer", ""},
		{"docs", map[string]any{"query": "notBalancedHeld"}, "sh.enableBalancing", ""},
		{"apply", map[string]any{"hash": plan.Hash}, "is applied: 1 step", "check {}"},
	}
	listed, err := w.agent.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		if !slices.ContainsFunc(calls, func(c called) bool { return c.tool == tool.Name }) {
			t.Errorf("%s is not called", tool.Name)
		}
		if (tool.Name == "apply") == tool.Annotations.ReadOnlyHint {
			t.Errorf("%s says that it only reads: %v", tool.Name, tool.Annotations.ReadOnlyHint)
		}
	}
	for _, c := range calls {
		t.Run(c.tool, func(t *testing.T) {
			a, refusal := w.call(c.tool, c.arguments)
			switch {
			case refusal != "":
				t.Fatal(refusal)
			case !strings.Contains(a.Answer, c.part):
				t.Errorf("no %q in %s", c.part, a.Answer)
			case len(a.Sources) == 0:
				t.Error("the answer has no sources")
			case !strings.Contains(strings.Join(a.NextSteps, "\n"), c.next):
				t.Errorf("no %q in %q", c.next, a.NextSteps)
			}
		})
	}
}

// What is wrong with a call is said in the words of the tool.
func TestRefusals(t *testing.T) {
	w := newWorld(t, heaped, nil)
	long := strings.Repeat("x", maxText+1)
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		reason    string
	}{
		{"why", map[string]any{"shard": "a", "zone": "b"}, "ns, shard and zone exclude each other"},
		{"why", map[string]any{"shard": "A"}, `no shard "A"`},
		{"why", map[string]any{"ns": "shop.orders", "key": "{x"}, "key is not valid extended JSON"},
		{"why", map[string]any{"address": "mongodb://other:27017"}, "address"},
		{"plan", map[string]any{"goal": "rebalance"}, `"rebalance" is not a valid goal`},
		{"plan", map[string]any{"max_moves": -1}, "max_moves is -1"},
		{"plan", map[string]any{"max_bytes": "lots"}, "max_bytes"},
		{"plan", map[string]any{"disk_limit": "200%"}, "disk_limit"},
		{"plan", map[string]any{"ns": []string{"shop.nothing"}}, "shop.nothing"},
		{"simulate", map[string]any{"alternatives": []string{"addShards 2"}}, "addShard"},
		{"simulate", map[string]any{"alternatives": []string{}}, "such as addShard 2"},
		{"snapshot", map[string]any{"ns": []string{"shop.nothing"}}, "no sharded collection shop.nothing"},
		{"diff", map[string]any{"from": "snapshot-7"}, "there is no snapshot"},
		{"diff", map[string]any{"from": "1d"}, "there is no history here"},
		{"diff", map[string]any{"from": "../x"}, "there is no snapshot"},
		{"advise", map[string]any{"ns": "orders"}, "DB.COLLECTION"},
		{"docs", map[string]any{"query": " "}, "query is empty"},
		{"docs", map[string]any{"query": long}, "longer than 4096 characters"},
		{"check", map[string]any{"ns": slices.Repeat([]string{"a.b"}, maxItems+1)}, "at most 100"},
		{"apply", map[string]any{"hash": strings.Repeat("0", 64)}, "unknown tool"},
		{"shell", nil, "unknown tool"},
	} {
		t.Run(c.tool+" "+c.reason, func(t *testing.T) {
			if _, refusal := w.call(c.tool, c.arguments); !strings.Contains(refusal, c.reason) {
				t.Errorf("refused with %q", refusal)
			}
		})
	}
	if others := w.reads(); len(others) > 0 {
		t.Errorf("sent %q", others)
	}
}

// A message that is too long ends the session, with a reason; memory does not grow with it.
func TestMessageIsTooLong(t *testing.T) {
	w := newWorld(t, heaped, nil)
	_, _ = w.input.Write([]byte(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"`)) // the end shows what came of it
	for range maxMessageBytes / 1024 {
		if _, err := fmt.Fprintf(w.input, "%01024d", 0); err != nil {
			break
		}
	}
	err := <-w.ended
	if err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("ended with %v", err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	s := New(Options{})
	long := s.limitAnswer(Answer{
		Answer: strings.Repeat("é", maxAnswerLength+5), Sources: slices.Repeat([]string{strings.Repeat("s", 900)}, 40),
	})
	if !long.Truncated || !strings.HasSuffix(long.Answer, fmt.Sprintf("first %d of %d characters", maxAnswerLength, maxAnswerLength+5)) {
		t.Errorf("%v, %s", long.Truncated, long.Answer[len(long.Answer)-80:])
	}
	if len(long.Sources) != maxEntries+1 || len(long.Sources[0]) > maxEntryLength+len("…") ||
		long.Sources[maxEntries] != "… and 28 more" {
		t.Errorf("%d sources, the last %q", len(long.Sources), long.Sources[len(long.Sources)-1])
	}
	if short := s.limitAnswer(Answer{Answer: "fine\n"}); short.Truncated || short.Answer != "fine" {
		t.Errorf("%+v", short)
	}
}

// A password at the end of the room is not cut before it is hidden.
func TestPasswordsAreHiddenBeforeTheCut(t *testing.T) {
	s := New(Options{Redact: func(text string) string { return strings.ReplaceAll(text, "secret", "xxx") }})
	if got := s.clean("mongodb://u:secret@h", 14); got != "mongodb://u:xx…" {
		t.Error(got)
	}
}

// What people would not see is spelled out, so that a name can't hide words in an answer.
func TestHiddenCharactersAreSpelledOut(t *testing.T) {
	s := New(Options{Redact: func(text string) string { return strings.ReplaceAll(text, "secret", "xxx") }})
	for text, want := range map[string]string{
		"zone \x1b[2J":            `zone \x1B[2J`,
		"a\u202eb":                `a\u202Eb`,
		"a\U000E0049\U000E0067b":  `a\u{E0049}\u{E0067}b`,
		"a\u200bb":                `a\u{200B}b`,
		"a\ufe0fb":                `a\u{FE0F}b`,
		"plain, ünïcode, 漢字\n\tx": "plain, ünïcode, 漢字\n\tx",
		"mongodb://u:secret@h":    "mongodb://u:xxx@h",
	} {
		if got := s.clean(text, 100); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

// What was moved since a snapshot of the session, or one of the history, is told.
func TestDiff(t *testing.T) {
	w := newWorld(t, heaped, nil)
	for range maxSnapshots + 2 {
		if a, refusal := w.call("snapshot", nil); refusal != "" || !strings.HasPrefix(a.Answer, "snapshot-") {
			t.Fatal(a, refusal)
		}
	}
	move := bson.D{{Key: "moveRange", Value: "shop.orders"}, {Key: "min", Value: bson.D{{Key: "x", Value: 1000}}},
		{Key: "toShard", Value: "b"}}
	if err := w.client.Database("admin").RunCommand(t.Context(), move).Err(); err != nil {
		t.Fatal(err)
	}
	if _, refusal := w.call("diff", map[string]any{"from": "snapshot-2"}); !strings.Contains(refusal, "snapshot-3, snapshot-4") {
		t.Errorf("one that went is refused with %q", refusal)
	}
	a, refusal := w.call("diff", map[string]any{"from": "snapshot-3"})
	if refusal != "" || !strings.Contains(a.Answer, "shop.orders") || !strings.Contains(a.Answer, "a to b") {
		t.Errorf("%s%s", a.Answer, refusal)
	}
}
