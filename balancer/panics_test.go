package balancer_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// shaky panics a few times in each of its methods that the engine calls.
type shaky struct {
	*fakeCluster
	mu       *sync.Mutex // of left
	left     map[string]int
	exchange *sync.Mutex
}

func newShaky(f *fakeCluster) shaky {
	return shaky{f, &sync.Mutex{}, map[string]int{"shards": 2, "collections": 2, "sizes": 2, "move": 2, "action": 1},
		&sync.Mutex{}}
}

func (c shaky) trip(where string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left[where] > 0 {
		c.left[where]--
		panic("boom in " + where)
	}
}

func (c shaky) Shards(ctx context.Context) ([]catalog.Shard, error) {
	c.trip("shards")
	return c.fakeCluster.Shards(ctx)
}

func (c shaky) Collections(ctx context.Context) ([]catalog.Collection, error) {
	c.trip("collections")
	return c.fakeCluster.Collections(ctx)
}

func (c shaky) DataSizes(ctx context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64,
	error) {
	c.trip("sizes")
	return c.fakeCluster.DataSizes(ctx, colls)
}

func (c shaky) StartMove(m policy.Migration, done func(error)) {
	c.trip("move")
	c.fakeCluster.StartMove(m, done)
}

func (c shaky) StartAction(a policy.StreamAction, done func(policy.ActionResult)) {
	c.trip("action")
	c.fakeCluster.StartAction(a, done)
}

func (c shaky) Move(_ context.Context, m policy.Migration) error {
	c.trip("move")
	c.exchange.Lock()
	defer c.exchange.Unlock()
	c.moves = append(c.moves, m)
	c.move(m)
	return nil
}

func (c shaky) Act(context.Context, policy.StreamAction) policy.ActionResult {
	c.trip("action")
	return policy.ActionResult{}
}

// With lets one exchange in at a time, for real time.
func (c shaky) With(exchange func(balancer.Cluster)) {
	c.exchange.Lock()
	defer c.exchange.Unlock()
	exchange(c)
}

// What panics inside a round fails that round: the next one comes, and balances.
func TestRoundsSurvivePanics(t *testing.T) {
	var log strings.Builder
	cfg := balancer.Config{Location: time.UTC, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		OnDecisions: func(time.Time, []policy.Decision) {}}
	t.Run("virtual time", func(t *testing.T) {
		f := newShaky(newFake("a", "b", "c"))
		f.add(t, "db.c", 1000, 0, 0)
		f.mergeable = []policy.MergeWork{{Shard: "a", Namespaces: []string{"db.c"}}}
		driver := balancer.NewEventDriver(f.queue, balancer.NewLoop(cfg), f)
		driver.Start()
		f.queue.Advance(start.Add(time.Hour))
		f.rested(t)
		driver.Stop()
	})
	t.Run("real time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newShaky(newFake("a", "b", "c"))
			f.add(t, "db.c", 1000, 0, 0)
			f.left["action"] = 0 // nothing is merged here
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { balancer.Run(ctx, balancer.NewLoop(cfg), f) })
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			f.rested(t)
			cancel()
			running.Wait()
		})
	})
}

// rested demands that everything has panicked that was to, and that the cluster
// was balanced after it.
func (c shaky) rested(t *testing.T) {
	t.Helper()
	for where, left := range c.left {
		if left > 0 {
			t.Errorf("%s has not panicked %d times", where, left)
		}
	}
	if len(c.moves) < 4 {
		t.Errorf("%d moves, want 4", len(c.moves))
	}
}
