package runner_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
	"shardsh/balancer/runner"
)

// failing is a cluster whose moves fail as told.
type failing struct {
	*free
	mu   sync.Mutex
	fail func(m policy.Migration) error // nil lets it pass
}

func (f *failing) Move(ctx context.Context, m policy.Migration) error {
	f.mu.Lock()
	err := f.fail(m)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.free.Move(ctx, m)
}

// What lost a race is tried again, what is busy later; both end balanced.
func TestFailuresThatPass(t *testing.T) {
	for name, code := range map[string]mongoerr.Code{
		"a race": mongoerr.StaleConfig, "a busy shard": mongoerr.ConflictingOperationInProgress,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, heaped(stopped), catalog.Release80, 1)
			left := 3
			c := &failing{free: w.free(), fail: func(policy.Migration) error {
				if left--; left >= 0 {
					return mongoerr.New(code, "%s", name)
				}
				return nil
			}}
			r, err := runner.Run(t.Context(), c, w.options("shop.orders"))
			if err != nil || !r.Reached || r.Failed != 3 || len(r.Left) > 0 || r.Done.Moves != len(w.moves("moveChunk.commit")) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// A cluster that is too busy to balance is waited for: far more refusals than a range, a
// pair of shards and a run may have of any other kind are not failures.
func TestOverload(t *testing.T) {
	w := newWorld(t, heaped(stopped), catalog.Release80, 1)
	left := 60
	c := &failing{free: w.free(), fail: func(policy.Migration) error {
		if left--; left >= 0 {
			return mongoerr.New(mongoerr.IngressRequestRateLimitExceeded, "slow down")
		}
		return nil
	}}
	r, err := runner.Run(t.Context(), c, w.options("shop.orders"))
	if err != nil || !r.Reached || r.Failed != 0 || len(r.Left) > 0 || r.Done.Moves != len(w.moves("moveChunk.commit")) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A range that can't be moved is left alone, and told of with its reason; the others
// move.
func TestRangesLeftAlone(t *testing.T) {
	w := newWorld(t, heaped(stopped), catalog.Release80, 1)
	tried := map[string]int{}
	var stubborn catalog.Key
	c := &failing{free: w.free(), fail: func(m policy.Migration) error {
		tried[m.Min.String()]++
		if stubborn.IsZero() {
			stubborn = m.Min
		}
		if m.Min.Equal(stubborn) {
			return mongoerr.New(mongoerr.DuplicateKey, "there is one already")
		}
		return nil
	}}
	r, err := runner.Run(t.Context(), c, w.options("shop.orders"))
	if err != nil || !r.Reached || r.Done.Moves == 0 || tried[stubborn.String()] != 1 {
		t.Fatalf("%+v, tried %v, %v", r, tried, err)
	}
	if len(r.Left) != 1 || r.Left[0].Code != policy.RangeSkipped || !strings.Contains(r.Left[0].Text, "there is one already") ||
		!strings.Contains(r.Left[0].Text, stubborn.String()) {
		t.Errorf("left: %+v", r.Left)
	}
}

// What has to be asked ends the run at once, with what was to be done.
func TestAsks(t *testing.T) {
	w := newWorld(t, heaped(stopped), catalog.Release80, 1)
	c := &failing{free: w.free(), fail: func(policy.Migration) error {
		return mongoerr.New(mongoerr.Unauthorized, "not authorized")
	}}
	r, err := runner.Run(t.Context(), c, w.options("shop.orders"))
	if err == nil || !strings.Contains(err.Error(), "not authorized") || !strings.Contains(err.Error(), "shop.orders") ||
		r.Failed != 1 || r.Reached {
		t.Errorf("%+v, %v", r, err)
	}
}

// A range that was moved is not moved again while it cools down, not even off a shard
// that begins to drain; without that it is.
func TestCoolDown(t *testing.T) {
	for coolDown, stays := range map[time.Duration]bool{0: false, 24 * time.Hour: true} {
		w := newWorld(t, heaped(stopped), catalog.Release80, 1)
		o := w.options("shop.orders")
		o.CoolDown = coolDown
		var first runner.Move
		o.OnEvent = func(e runner.Event) {
			if e.Kind == runner.Moved && e.Move.Number == 1 {
				first = e.Move
				w.command(bson.D{{Key: "removeShard", Value: string(first.To)}})
			}
		}
		r, err := runner.Run(t.Context(), w.free(), o)
		if err != nil || !r.Reached {
			t.Fatalf("%+v, %v", r, err)
		}
		if got := w.counts("shop.orders")[first.To]; (got == 1) != stays || (got == 0) == stays {
			t.Errorf("with %s the drained shard has %d chunks", coolDown, got)
		}
		told := slices.ContainsFunc(r.Left, func(l runner.Leftover) bool {
			return strings.Contains(l.Text, first.Min.String()) && strings.Contains(l.Text, "it was moved recently")
		})
		if told != stays {
			t.Errorf("with %s left are %+v", coolDown, r.Left)
		}
	}
}

// A chunk that is too large is split, and moves in parts; one that can't be is left
// alone, without a flag in the catalog.
func TestTooLarge(t *testing.T) {
	const topology = `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"chunkSizeMB": 8, "balancer": {"stopped": true}},
		"collections": [{"ns": "shop.orders", "key": {"x": 1}, "chunks": [
		{"shard": "a", "max": {"x": 1}, "bytes": "1MiB", "docs": 1},
		{"shard": "a", "max": {"x": 100000}, "bytes": "100MiB", "docs": 100000},
		{"shard": "a", "bytes": "1MiB", "docs": 1000}]}]}`
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release80} {
		w := newWorld(t, topology, release, 1)
		tried := 0
		c := &failing{free: w.free(), fail: func(m policy.Migration) error {
			if !strings.Contains(m.Min.String(), "MinKey") {
				return nil
			}
			tried++
			return mongoerr.New(mongoerr.ChunkTooBig, "too big")
		}}
		o := w.options("shop.orders")
		o.Goal = runner.GoalChunks
		r, err := runner.Run(t.Context(), c, o)
		if err != nil || !r.Reached || r.Splits == 0 || r.Failed < 2 || tried != 1 {
			t.Errorf("%s: %+v, tried %d times, %v", release, r, tried, err)
		}
		if n := w.counts("shop.orders"); max(n["a"]-n["b"], n["b"]-n["a"]) > 1 {
			t.Errorf("%s: %v", release, n)
		}
		if len(r.Left) != 1 || r.Left[0].Code != policy.JumboFlag ||
			!strings.Contains(r.Left[0].Text, "all its documents have the same shard key; force it") {
			t.Errorf("%s: left are %+v", release, r.Left)
		}
		flagged, err := w.client.Database("config").Collection("chunks").
			CountDocuments(t.Context(), bson.D{{Key: "jumbo", Value: true}})
		if err != nil || flagged != 0 {
			t.Errorf("%s: %d chunks are flagged, %v", release, flagged, err)
		}
	}
}
