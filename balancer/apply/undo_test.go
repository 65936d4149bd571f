package apply_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Undoing leads back to the owners and the bounds that there were, whether the
// plan was carried out to its end or to some moment of it, and wherever the
// undoing itself is killed.
func TestUndo(t *testing.T) {
	undone := 0
	for seed := range several(8, 100) {
		release := releases()[seed%uint64(len(releases()))]
		goal := goals(release)[int(seed)%len(goals(release))]
		t.Run(fmt.Sprintf("%s, %s, seed %d", release, goal.Kind, seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			// Up to 5.0 nothing moves out of its zone, not even back.
			w := newWorld(t, topology(r, false, release.BalancesBySize()), release, seed)
			before := w.layout()
			p := w.plan(goal)
			o := w.options()
			o.PauseBalancing, o.Parallel = seed%3 == 0, 1+int(seed%2)
			if o.Parallel > 1 {
				o.PauseBalancing = false
			}
			path := filepath.Join(t.TempDir(), "journal")
			moment := r.IntN(80)
			if seed%4 == 0 {
				moment = 1 << 30
			}
			if w.life(path, p, o, moment); w.begun(path) {
				undone++
				o.Undo = true
				for most := r.IntN(20); !w.life(path, nil, o, most); most += 5 {
					continue
				}
			}
			w.sameLayout("undone", before)
			w.balancedAgain()
		})
	}
	if undone == 0 {
		t.Error("nothing was undone")
	}
}

func (w *world) history(path string) *apply.ParsedJournal {
	w.Helper()
	h, err := apply.LoadJournal(path)
	if err != nil {
		w.Fatal(err)
	}
	return h
}

// begun reports whether there is something to undo.
func (w *world) begun(path string) bool {
	w.Helper()
	h, err := apply.LoadJournal(path)
	if errors.Is(err, apply.ErrNoJournal) { // it was killed at once
		return false
	}
	if err == nil {
		_, err = apply.UndoPlan(h)
	}
	if err != nil && !errors.Is(err, apply.ErrNothingToUndo) {
		w.Fatal(err)
	}
	return err == nil
}

// What has been undone can't be undone again; it was the last word.
func TestUndoOnce(t *testing.T) {
	w := newWorld(t, even(rand.New(rand.NewPCG(5, 5))), releases()[0], 5)
	path := filepath.Join(t.TempDir(), "journal")
	p := w.plan(plan.Goal{Kind: plan.Balance})
	w.life(path, p, w.options(), 1<<30)
	back, err := apply.UndoPlan(w.history(path))
	if err != nil || back.Goal.Kind != plan.Undo || back.Undoes != path || back.Totals.Moves != p.Totals.Moves ||
		back.Totals.Bytes != p.Totals.Bytes {
		t.Fatalf("%+v, %v", back, err)
	}
	o := w.options()
	o.Undo = true
	w.life(path, nil, o, 1<<30)
	h := w.history(path)
	if !h.Finished() || !slices.Equal(h.Plan().Goal.Namespaces, back.Goal.Namespaces) || h.Plan().ID != back.ID {
		t.Errorf("finished %v, %s, want %s", h.Finished(), h.Plan().ID, back.ID)
	}
	if _, err := apply.UndoPlan(h); !errors.Is(err, apply.ErrNothingToUndo) {
		t.Error(err)
	}
}

// What servers refuse is found before the first step is taken back.
func TestUndoAgainstZones(t *testing.T) {
	w := newWorld(t, `{"shards": [{"id": "a"}, {"id": "b", "zones": ["EU"]}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "zones": [{"zone": "EU", "min": {"x": 0}, "max": {"x": 9}}],
		"chunks": [{"shard": "a", "max": {"x": 0}}, {"shard": "a", "max": {"x": 9}}, {"shard": "a"}]}]}`,
		catalog.Release50, 1)
	path := filepath.Join(t.TempDir(), "journal")
	p := w.plan(plan.Goal{Kind: plan.Zones})
	w.life(path, p, w.options(), 1<<30)
	after := w.layout()
	back, err := apply.UndoPlan(w.history(path))
	if err != nil {
		t.Fatal(err)
	}
	_, err = apply.Run(t.Context(), w.steps, back, w.options())
	if !errors.As(err, new(*apply.BlockedError)) || !strings.Contains(err.Error(), "zone EU") {
		t.Errorf("got %v", err)
	}
	w.sameLayout("refused", after)
}
