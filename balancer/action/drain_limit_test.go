package action

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

func (w *world) drain(d Drain) (PlanResult, error) {
	w.Helper()
	d.Parallel, d.PauseBalancing = 1, true
	return d.Run(w.Context(), w.actionCluster(), nil)
}

func (w *world) draining() bool {
	w.Helper()
	s, _ := w.snapshot().Shard("s0")
	return s.Draining
}

func (w *world) on(shard catalog.ShardID) (chunks int64) {
	for _, c := range w.snapshot().Collections() {
		if strings.HasPrefix(c.Namespace, "db.") {
			chunks += c.CountOn(shard).Chunks
		}
	}
	return chunks
}

// At a limit nothing goes on: the shard is not marked as draining, so the cluster's own
// balancer, which is on again, does not move the rest.
func TestDrainEndsAtItsLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, release := range releases() {
		w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), release, 1)
		before := w.on("s0")
		path := filepath.Join(t.TempDir(), "journal")
		r, err := w.drain(Drain{Shard: "s0", Remove: true, MovePrimaries: true, RunOptions: RunOptions{
			Pace: Pace{MaxMoves: 2}, Journal: path,
		}})
		if err != nil || r.Finished || r.MovesDone != 2 || r.Warning != "" || r.NotUndoable {
			t.Fatalf("%s: %+v, %v", release, r, err)
		}
		if w.draining() {
			t.Errorf("%s: the shard is marked", release)
		}
		if now := w.on("s0"); now == 0 || now >= before {
			t.Errorf("%s: s0 had %d chunks and has %d", release, before, now)
		}
		if _, err := w.drain(Drain{Shard: "s0", Remove: true, MovePrimaries: true, RunOptions: RunOptions{ResumeJournal: path}}); err != nil {
			t.Fatalf("%s: %v", release, err)
		}
		if _, there := w.snapshot().Shard("s0"); there {
			t.Errorf("%s: the shard is there", release)
		}
	}
}

// A shard that somebody else has marked stays marked, and the run says what goes on.
func TestDrainOfAMarkedShard(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release80, catalog.Release83} {
		w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), release, 1)
		w.admin(live.StartDrainCommand(release, "s0"))
		r, err := w.drain(Drain{Shard: "s0", Remove: true, RunOptions: RunOptions{Pace: Pace{MaxMoves: 1}, NoJournal: true}})
		if err != nil || !w.draining() || !strings.Contains(r.Warning, "still marked as draining") ||
			!strings.Contains(r.Warning, "sh.stopBalancer()") || !r.NotUndoable {
			t.Errorf("%s: %+v, %v", release, r, err)
		}
		if strings.Contains(r.Warning, "sh.stopDrain") != (release == catalog.Release83) {
			t.Errorf("%s: %s", release, r.Warning)
		}
	}
}

// Undoing takes the mark of a killed run back first, where a command does; else it says
// what to do.
func TestUndoOfAMarkedDrain(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release80, catalog.Release83} {
		w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), release, 1)
		before := w.on("s0")
		path := filepath.Join(t.TempDir(), "journal")
		if _, err := w.drain(Drain{Shard: "s0", Remove: true, RunOptions: RunOptions{
			Pace: Pace{MaxMoves: 1}, Journal: path,
		}}); err != nil {
			t.Fatal(err)
		}
		w.admin(bson.D{{Key: "mockAdvance", Value: (2 * time.Hour).Milliseconds()}}) // what s0 gave away is deleted
		w.admin(live.StartDrainCommand(release, "s0"))                               // as if the run had been killed
		journal, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = journal.WriteString(`{"what":"marked","at":"2026-03-02T12:00:00Z","shard":"s0"}` + "\n")
		}
		if err = errors.Join(err, journal.Close()); err != nil {
			t.Fatal(err)
		}
		undo := Apply{UndoJournal: path, RunOptions: RunOptions{Pace: Pace{Parallel: 1}}}
		dry := undo
		dry.DryRun = true
		if r, err := dry.Run(t.Context(), w.actionCluster(), nil); release == catalog.Release83 &&
			(err != nil || !r.Applicable || !slices.ContainsFunc(r.Commands, func(c UnsentCommand) bool {
				return c.Body.Lookup("stopShardDraining").StringValue() == "s0"
			})) || !w.draining() {
			t.Errorf("%s: %+v, %v", release, r, err)
		}
		r, err := undo.Run(t.Context(), w.actionCluster(), nil)
		if release == catalog.Release80 {
			if !errors.As(err, new(*apply.BlockedError)) || !strings.Contains(err.Error(), "$unset: { draining: 1 }") {
				t.Errorf("%s: %+v, %v", release, r, err)
			}
			continue
		}
		if err != nil || !r.Finished || w.draining() || w.on("s0") != before {
			t.Errorf("%s: %+v, %v; s0 has %d chunks, had %d", release, r, err, w.on("s0"), before)
		}
	}
}

// What has left the cluster is not offered to be undone, and undoing says why it can't.
func TestUndoOfARemoval(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), catalog.Release80, 1)
	path := filepath.Join(t.TempDir(), "journal")
	r, err := w.drain(Drain{Shard: "s0", Remove: true, MovePrimaries: true, RunOptions: RunOptions{Journal: path}})
	if err != nil || !r.Finished || !r.NotUndoable {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err = Apply{UndoJournal: path, RunOptions: RunOptions{Pace: Pace{Parallel: 1}}}.Run(t.Context(), w.actionCluster(), nil)
	if !errors.As(err, new(*apply.BlockedError)) || !strings.Contains(err.Error(), "sh.addShard") {
		t.Errorf("got %v", err)
	}
}
