package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
	"shardsh/balancer/runner"
)

// heaped has two collections of 12 chunks of 32 MiB, all on a. state is that of the
// cluster's balancer.
func heaped(state string) string {
	var chunks []string
	for i := range 11 {
		chunks = append(chunks, fmt.Sprintf(`{"shard": "a", "max": {"x": %d}, "bytes": "32MiB", "docs": 32768}`, i+1))
	}
	chunks = append(chunks, `{"shard": "a", "bytes": "32MiB", "docs": 32768}`)
	coll := `{"ns": "%s", "key": {"x": 1}, "chunkSizeMB": 32, "chunks": [` + strings.Join(chunks, ",") + `]}`
	return `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"chunkSizeMB": 32, "balancer": ` + state + `},
		"databases": [{"name": "shop", "primary": "a"}],
		"collections": [` + fmt.Sprintf(coll, "shop.orders") + `, ` + fmt.Sprintf(coll, "shop.carts") + `]}`
}

const (
	stopped = `{"stopped": true}`
	running = `{"stopped": false}`
	// atNight is shut at noon.
	atNight = `{"activeWindow": {"start": "02:00", "stop": "04:00"}}`
)

func (w *world) options(names ...string) runner.Options {
	return runner.Options{Namespaces: names, Clock: w.cluster.Clock()}
}

// only compares which collections moves were of.
func (w *world) only(ns string, moves int) {
	w.Helper()
	list := w.moves("moveChunk.commit")
	if len(list) != moves {
		w.Errorf("%d moves, want %d", len(list), moves)
	}
	for _, m := range list {
		if !strings.HasPrefix(m, ns+" ") {
			w.Errorf("not of %s: %s", ns, m)
		}
	}
}

// Sizes and numbers of chunks can be evened out on every release, whatever the
// cluster's own balancer would do there; and nothing else is touched.
func TestGoals(t *testing.T) {
	even := map[catalog.ShardID]int{"a": 4, "b": 4, "c": 4}
	for _, release := range []catalog.Release{
		catalog.Release44, catalog.Release50, catalog.Release60, catalog.Release70, catalog.Release80, catalog.Release83,
	} {
		for _, goal := range []runner.BalanceGoal{runner.GoalSize, runner.GoalChunks} {
			t.Run(fmt.Sprintf("%s, %s", release, goal), func(t *testing.T) {
				w := newWorld(t, heaped(stopped), release, 1)
				o := w.options("shop.orders")
				o.Goal = goal
				r, err := runner.Run(t.Context(), w.free(), o)
				if err != nil || !r.Reached || len(r.Left) > 0 {
					t.Fatalf("%+v, %v", r, err)
				}
				got := w.counts("shop.orders")
				numbers := slices.Sorted(maps.Values(got))
				if goal == runner.GoalSize {
					if len(numbers) < 3 || numbers[2]-numbers[0] >= 3 {
						t.Errorf("chunks %v", got)
					}
				} else if !maps.Equal(got, even) {
					t.Errorf("chunks %v, want %v", got, even)
				}
				w.only("shop.orders", r.Done.Moves)
			})
		}
	}
}

// A limit stops before the first move that would pass it.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		rules pace.Rules
		moves int
		why   string
	}{
		"moves":  {pace.Rules{MaxMoves: 3}, 3, "moves"},
		"bytes":  {pace.Rules{MaxBytes: 100 << 20}, 3, "limit of 100 MiB"},
		"at all": {pace.Rules{MaxBytes: 31 << 20}, 0, "limit of 31 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, heaped(stopped), catalog.Release80, 1)
			o := w.options("shop.*")
			o.Gate = pace.NewGate(c.rules, o.Clock)
			o.Parallel = 4
			r, err := runner.Run(t.Context(), w.free(), o)
			if err != nil || r.Reached || !strings.Contains(r.Stopped, c.why) || r.Done.Moves != c.moves {
				t.Errorf("%+v, %v", r, err)
			}
			if made := len(w.moves("moveChunk.start")); made != c.moves {
				t.Errorf("%d moves were made, want %d", made, c.moves)
			}
		})
	}
}

// While the cluster's own balancer may touch the collections nothing moves; the
// refusal names one command, which helps.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		state   string
		names   []string
		command string
	}{
		"one collection":      {running, []string{"shop.orders"}, `sh.disableBalancing("shop.orders")`},
		"two":                 {running, []string{"shop.*"}, "sh.stopBalancer()"},
		"all":                 {running, nil, "sh.stopBalancer()"},
		"a window that opens": {atNight, []string{"shop.orders"}, `sh.disableBalancing("shop.orders")`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, heaped(c.state), catalog.Release80, 1)
			before := len(w.moves("moveChunk.start")) // the balancer's own
			_, err := runner.Run(t.Context(), w.free(), w.options(c.names...))
			if !errors.As(err, new(*runner.BalancerActiveError)) || !errors.As(err, new(*apply.BalancerConflictError)) ||
				strings.Count(err.Error(), "sh.") != 1 || !strings.Contains(err.Error(), c.command) {
				t.Errorf("%v", err)
			}
			if c.state == atNight && len(w.moves("moveChunk.start")) != before {
				t.Error("something has moved")
			}
			if c.command == "sh.stopBalancer()" {
				w.command(bson.D{{Key: "balancerStop", Value: 1}})
			} else if err := w.free().SetBalancing(t.Context(), []string{"shop.orders"}, false); err != nil {
				t.Fatal(err)
			}
			if r, err := runner.Run(t.Context(), w.free(), w.options(c.names...)); err != nil || !r.Reached {
				t.Errorf("afterwards: %+v, %v", r, err)
			}
		})
	}
}

// With a window that opens later than the run lasts there is no need to refuse.
func TestNotRefused(t *testing.T) {
	w := newWorld(t, heaped(atNight), catalog.Release80, 1)
	o := w.options("shop.orders")
	o.MaxTime = time.Hour
	if r, err := runner.Run(t.Context(), w.free(), o); err != nil || !r.Reached || r.Done.Moves == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is taken over is switched off and noted, and on again at the end; after a
// kill by whoever is next. Others stay as they are.
func TestTakeOver(t *testing.T) {
	w := newWorld(t, heaped(atNight), catalog.Release80, 1)
	turn := w.mustTake()
	o := w.options("shop.orders")
	o.PauseBalancing = true
	ctx, kill := context.WithCancel(t.Context())
	o.MovesContext = ctx
	o.OnEvent = func(e runner.Event) {
		if e.Kind != runner.Moved || e.Done.Moves != 2 {
			return
		}
		kill()
	}
	r, err := runner.Run(t.Context(), turn, o)
	if r.Reached || r.Done.Moves < 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if off := w.off(); !slices.Equal(off, []string{"shop.orders"}) {
		t.Fatalf("off are %v", off)
	}
	// It is dead: nothing is given back. Another one waits for the lease to run out.
	if _, err := w.take(); !errors.As(err, new(*live.HeldError)) {
		t.Errorf("while it is held: %v", err)
	}
	w.command(bson.D{{Key: "mockAdvance", Value: (2 * time.Minute).Milliseconds()}})
	next := w.mustTake()
	again, err := runner.Run(t.Context(), next, w.options("shop.*")) // which does not name it
	if err == nil || !strings.Contains(err.Error(), `sh.disableBalancing("shop.carts")`) {
		t.Errorf("what is left over is not the only one: %+v, %v", again, err)
	}
	if again, err = runner.Run(t.Context(), next, w.options("shop.orders")); err != nil || !again.Reached {
		t.Errorf("going on: %+v, %v", again, err)
	}
	if err := next.RestoreAndRelease(t.Context()); err != nil || len(w.off()) > 0 {
		t.Errorf("at the end: off %v, %v", w.off(), err)
	}
	w.only("shop.orders", r.Done.Moves+again.Done.Moves)
	if err := turn.Move(t.Context(), policy.Migration{Namespace: "shop.orders"}); !errors.Is(err, live.ErrLeaseLost) {
		t.Errorf("the dead one moves: %v", err)
	}
}

// A collection that is switched off on purpose is left alone by a pattern, and told
// of; by its name it is meant.
func TestSwitchedOff(t *testing.T) {
	w := newWorld(t, heaped(stopped), catalog.Release80, 1)
	if err := w.free().SetBalancing(t.Context(), []string{"shop.orders"}, false); err != nil {
		t.Fatal(err)
	}
	r, err := runner.Run(t.Context(), w.free(), w.options("shop.*"))
	if err != nil || !r.Reached || len(r.Left) != 1 || r.Left[0].Code != policy.BalancingOff {
		t.Errorf("%+v, %v", r, err)
	}
	w.only("shop.carts", r.Done.Moves)
}

// A run that is interrupted ends what is under way, and begins nothing more.
func TestInterrupted(t *testing.T) {
	w := newWorld(t, heaped(stopped), catalog.Release80, 1)
	ctx, interrupt := context.WithCancel(t.Context())
	o := w.options("shop.orders")
	o.OnEvent = func(e runner.Event) {
		if e.Kind == runner.Began {
			interrupt()
		}
	}
	r, err := runner.Run(ctx, w.free(), o)
	if err != nil || r.Reached || r.Stopped != "interrupted" || r.Done.Moves != 1 ||
		len(w.moves("moveChunk.commit")) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Rounds follow each other at once: the pace is the operator's, and the pauses that the
// cluster's own balancer makes are not kept, whatever its release.
func TestRunsDoNotRest(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release80} {
		w := newWorld(t, heaped(stopped), release, 1)
		o := w.options("shop.orders")
		var moving time.Duration
		o.OnEvent = func(e runner.Event) {
			if e.Kind == runner.Moved {
				moving += e.Move.Took
			}
		}
		r, err := runner.Run(t.Context(), w.free(), o)
		if err != nil || !r.Reached || r.Done.Moves < 6 {
			t.Fatalf("%s: reached %v, %d moves, %v", release, r.Reached, r.Done.Moves, err)
		}
		if took := r.Ended.Sub(r.Began); took > moving*11/10+time.Second {
			t.Errorf("%s: it took %s, of which %s for moves", release, took, moving)
		}
	}
}
