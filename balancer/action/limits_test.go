package action

import (
	"fmt"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// small is a topology of many small chunks on one of two shards.
func small(chunks int) string {
	var b strings.Builder
	b.WriteString(`{"shards": [{"id": "s0"}, {"id": "s1"}], "settings": {` + stopped + `},
		"databases": [{"name": "db", "primary": "s1"}, {"name": "app", "primary": "s1"}],
		"collections": [{"ns": "db.c0", "key": {"x": 1}, "chunks": [`)
	for i := range chunks {
		fmt.Fprintf(&b, `%s{"shard": "s0", "bytes": 1024, "docs": 1`, comma(i))
		if i < chunks-1 {
			fmt.Fprintf(&b, `, "max": {"x": %d}`, i+1)
		}
		b.WriteString("}")
	}
	b.WriteString("]}]}")
	return b.String()
}

// A run whose limits nobody has named ends at the default ones, and says how to raise them.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("thousands of moves, in one goroutine")
	}
	for given, want := range map[int]int{0: DefaultMaxMoves, 7: 7} {
		w := newWorld(t, small(DefaultMaxMoves+10), catalog.Release50, 1) // which moves whole chunks
		o := RunOptions{Pace: Pace{Parallel: 1, MaxMoves: given}, NoJournal: true}
		r, err := Drain{Shard: "s0", RunOptions: o}.Run(t.Context(), w.actionCluster(), nil)
		if err != nil || r.MovesDone != want || r.Finished {
			t.Errorf("max-moves %d: %d moves, stopped: %q, %v", given, r.MovesDone, r.Stopped, err)
		}
		if raises := strings.Contains(r.Stopped, "the limit of 1,000 moves is reached, the default (raise it with --max-moves or maxMoves)"); raises != (given == 0) {
			t.Errorf("max-moves %d: stopped: %q", given, r.Stopped)
		}
	}
}

func TestParseLimits(t *testing.T) {
	for text, want := range map[string]int{"none": NoLimit, "NONE": NoLimit, "0": NoLimit, "5": 5, "-1": -1, "x": 0} {
		if n, err := ParseMaxMoves(text); n != want || (err == nil) != (want != 0) {
			t.Errorf("%s moves: %d, %v", text, n, err)
		}
	}
	for text, want := range map[string]int64{"none": NoLimit, "0": NoLimit, "0GB": NoLimit, "5GB": 5e9, "-1": 0, "x": 0} {
		if n, err := ParseMaxBytes(text); n != want || (err == nil) != (want != 0) {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	p := Pace{Parallel: 1}
	if p.mayEndAtLimit(plan.Totals{Moves: DefaultMaxMoves, Bytes: DefaultMaxBytes}) || !p.mayEndAtLimit(plan.Totals{Moves: DefaultMaxMoves + 1}) ||
		!p.mayEndAtLimit(plan.Totals{Bytes: DefaultMaxBytes + 1}) {
		t.Error("a default limit is one only where it is reached")
	}
	if got := p.withPlanLimits(plan.Limits{Moves: 3, Bytes: 1 << 50}); got.maxMoves() != 3 || got.maxBytes() != DefaultMaxBytes {
		t.Errorf("%+v", got)
	}
	p.MaxMoves, p.MaxBytes = NoLimit, NoLimit
	if p.maxMoves() != 0 || p.maxBytes() != 0 { // none, to the gate
		t.Errorf("%d moves, %d bytes", p.maxMoves(), p.maxBytes())
	}
	if got := p.withPlanLimits(plan.Limits{Moves: 3}); got.maxMoves() != 3 || got.maxBytes() != 0 || p.mayEndAtLimit(plan.Totals{Moves: 1e6}) {
		t.Errorf("%+v", got)
	}
}
