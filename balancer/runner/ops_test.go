package runner_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/runner"
)

// asBusyError is a clock in whose minutes clients read, each key of heaped as often as told.
type asBusyError struct {
	pace.Clock
	w     *world
	reads func(key int) int
}

func (b asBusyError) Sleep(ctx context.Context, d time.Duration) error {
	if d == time.Minute {
		for key := range 12 {
			for range b.reads(key) {
				err := b.w.client.Database("shop").Collection("orders").FindOne(ctx, bson.D{{Key: "x", Value: key}}).Err()
				if err != nil && !strings.Contains(err.Error(), "no documents") {
					return err
				}
			}
		}
	}
	return b.Clock.Sleep(ctx, d)
}

// Operations are evened out to a tenth of a fair share, whatever sizes are.
func TestOperations(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release60, catalog.Release80} {
		t.Run(release.String(), func(t *testing.T) {
			w := newWorld(t, heaped(stopped), release, 1)
			o := w.options("shop.orders")
			o.Goal = runner.GoalOps
			o.Clock = asBusyError{o.Clock, w, func(int) int { return 3 }}
			r, err := runner.Run(t.Context(), w.free(), o)
			if err != nil || !r.Reached || len(r.Left) > 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if got, want := w.counts("shop.orders"), (map[catalog.ShardID]int{"a": 4, "b": 4, "c": 4}); !maps.Equal(got, want) {
				t.Errorf("chunks %v, want %v", got, want)
			}
			w.only("shop.orders", r.Done.Moves)
		})
	}
}

// Where one key has all operations, moving chunks does not help: the run ends before
// it has moved them all, and says so.
func TestOneHotKey(t *testing.T) {
	w := newWorld(t, heaped(stopped), catalog.Release80, 1)
	o := w.options("shop.orders")
	o.Goal = runner.GoalOps
	o.Clock = asBusyError{o.Clock, w, func(key int) int {
		if key == 11 {
			return 20
		}
		return 0
	}}
	r, err := runner.Run(t.Context(), w.free(), o)
	if err != nil || !r.Reached || r.Done.Moves == 0 || r.Done.Moves > 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(r.Left) == 0 || !strings.Contains(r.Left[0].Text, "a few keys may have most") {
		t.Errorf("left are %+v", r.Left)
	}
}

// Without operations there is nothing to even out, which is told.
func TestNoOperations(t *testing.T) {
	w := newWorld(t, heaped(stopped), catalog.Release80, 1)
	o := w.options("shop.orders")
	o.Goal = runner.GoalOps
	r, err := runner.Run(t.Context(), w.free(), o)
	if err != nil || !r.Reached || r.Done.Moves != 0 || len(r.Left) != 1 ||
		!strings.Contains(r.Left[0].Text, "No operations on shop.orders were counted in 1m") {
		t.Errorf("%+v, %v", r, err)
	}
}

// The moves of a round begin in the order that was asked for.
func TestOrder(t *testing.T) {
	const topology = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}],
		"settings": {"balancer": {"stopped": true}}, "collections": [
		{"ns": "shop.carts", "key": {"x": 1}, "chunkSizeMB": 16, "chunks": [
			{"shard": "c", "max": {"x": 1}, "bytes": "60MiB", "docs": 61440},
			{"shard": "c", "max": {"x": 2}, "bytes": "60MiB", "docs": 61440},
			{"shard": "a", "bytes": "1MiB", "docs": 1024}]},
		{"ns": "shop.orders", "key": {"x": 1}, "chunkSizeMB": 8, "chunks": [
			{"shard": "a", "max": {"x": 1}, "bytes": "30MiB", "docs": 30720},
			{"shard": "a", "max": {"x": 2}, "bytes": "30MiB", "docs": 30720},
			{"shard": "c", "bytes": "1MiB", "docs": 1024}]}]}`
	for order, first := range map[runner.Order]string{
		runner.OrderPolicy: "shop.carts", runner.OrderLargest: "shop.carts", runner.OrderSmallest: "shop.orders",
		runner.OrderHottest: "shop.orders",
	} {
		w := newWorld(t, topology, catalog.Release80, 1)
		for range 5 {
			_ = w.client.Database("shop").Collection("orders").FindOne(t.Context(), bson.D{{Key: "x", Value: 0}}).Err()
		}
		o := w.options("shop.*")
		o.Order = order
		var began []string
		rounds := 0
		o.OnEvent = func(e runner.Event) {
			switch {
			case e.Kind == runner.RoundEnded:
				rounds++
			case e.Kind == runner.Began && rounds == 0:
				began = append(began, e.Move.Namespace)
			}
		}
		if r, err := runner.Run(t.Context(), w.free(), o); err != nil || !r.Reached {
			t.Fatalf("%+v, %v", r, err)
		}
		if len(began) != 2 || began[0] != first {
			t.Errorf("%s begins with %v", order, began)
		}
	}
}
