package action

import (
	"fmt"
	"strings"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// pauses are the events that tell of balancing that was disabled.
type pauses []string

func (p *pauses) Report(e Event) {
	switch e := e.(type) {
	case EngineEvent:
		if e.Kind == runner.BalancingPaused {
			*p = append(*p, strings.Join(e.Namespaces, " "))
		}
	case StepEvent:
		if e.Kind == apply.BalancingPaused {
			*p = append(*p, strings.Join(e.Namespaces, " "))
		}
	}
}

// A run that disables the balancing of many collections says so once, and not once for each.
func TestManyPausedCollectionsAreOneLine(t *testing.T) {
	const many = 12
	var collections []string
	for i := range many {
		collections = append(collections, fmt.Sprintf(`{"ns": "x.y%02d", "key": {"k": 1}, "chunks": [
			{"shard": "a", "max": {"k": 0}, "bytes": "300MiB", "docs": 300}, {"shard": "a", "bytes": "300MiB", "docs": 300}]}`, i))
	}
	topology := `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"chunkSizeMB": 64}, "collections": [` +
		strings.Join(collections, ",") + `]}`
	for verb, run := range map[string]func(*world, Reporter) error{
		"balance": func(w *world, r Reporter) error {
			_, err := Balance{Namespaces: []string{"x.*"}, PauseBalancing: true, Pace: Pace{Parallel: 1, MaxMoves: 1}}.Run(
				t.Context(), w.actionCluster(), r)
			return err
		},
		"apply": func(w *world, r Reporter) error {
			_, err := Apply{Plan: w.plan(plan.Goal{Kind: plan.Balance}), RunOptions: RunOptions{
				PauseBalancing: true, NoJournal: true, Pace: Pace{Parallel: 1, MaxMoves: 1},
			}}.Run(t.Context(), w.actionCluster(), r)
			return err
		},
	} {
		w := newWorld(t, topology, catalog.Release80, 1)
		var told pauses
		if err := run(w, &told); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
		if len(told) != 1 || strings.Count(told[0], "x.y") != many {
			t.Errorf("%s tells %d times: %q", verb, len(told), told)
		}
	}
}
