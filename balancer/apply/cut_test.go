package apply_test

import (
	"strings"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// tooLarge has a chunk of 400 MiB on a, where a chunk size is 64 MiB: shards up to 5.0 let
// up to 1.3 times as many documents go at once.
func tooLarge(t *testing.T) *world {
	return newWorld(t, `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "chunkSizeMB": 64, "chunks": [
			{"shard": "a", "bytes": 419430400, "docs": 409600, "max": {"x": 1000}},
			{"shard": "b", "bytes": 41943040, "docs": 40960}]}]}`, catalog.Release44, 1)
}

// Where the router does not say where a donor would cut, that splits in half what is too
// large to be moved, until it is not: 400 MiB in halves, quarters and eighths, but for what is small
// enough. They become one chunk again.
func TestHalves(t *testing.T) {
	w := tooLarge(t)
	p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "a"})
	halves := 0
	c := &counting{Cluster: w.steps, around: func(c apply.Command, send func() error) error {
		if c.Halve {
			halves++
		}
		return send()
	}}
	o := w.options()
	if r, err := apply.Run(t.Context(), c, p, o); err != nil || !r.Finished || r.Progress.MovesThisRun != halves+1 {
		t.Errorf("%+v, %v", r.Progress, err)
	}
	if halves < 3 || halves > 7 {
		t.Errorf("%d chunks were split in half", halves)
	}
	if got := w.layout(); len(got) != 2 || !strings.HasSuffix(got[0], "[1000] on b") {
		t.Error(got)
	}
}

// A dry run has nothing split.
func TestDryRunHalvesNothing(t *testing.T) {
	w := tooLarge(t)
	p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "a"})
	before := w.layout()
	o := w.options()
	o.DryRun = true
	printed := &counting{Cluster: w.steps, around: func(apply.Command, func() error) error { return nil }}
	if _, err := apply.Run(t.Context(), printed, p, o); err != nil {
		t.Error(err)
	}
	w.sameLayout("dry run", before)
}
