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

func (s shaky) trip(where string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left[where] > 0 {
		s.left[where]--
		panic("boom in " + where)
	}
}

func (s shaky) Shards(ctx context.Context) ([]catalog.Shard, error) {
	s.trip("shards")
	return s.fakeCluster.Shards(ctx)
}

func (s shaky) Collections(ctx context.Context) ([]catalog.Collection, error) {
	s.trip("collections")
	return s.fakeCluster.Collections(ctx)
}

func (s shaky) DataSizes(ctx context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64,
	error) {
	s.trip("sizes")
	return s.fakeCluster.DataSizes(ctx, colls)
}

func (s shaky) StartMove(m policy.Migration, done func(error)) {
	s.trip("move")
	s.fakeCluster.StartMove(m, done)
}

func (s shaky) StartAction(a policy.StreamAction, done func(policy.StreamActionResult)) {
	s.trip("action")
	s.fakeCluster.StartAction(a, done)
}

func (s shaky) Move(_ context.Context, m policy.Migration) error {
	s.trip("move")
	s.exchange.Lock()
	defer s.exchange.Unlock()
	s.moves = append(s.moves, m)
	s.move(m)
	return nil
}

func (s shaky) Act(context.Context, policy.StreamAction) policy.StreamActionResult {
	s.trip("action")
	return policy.StreamActionResult{}
}

// With lets one exchange in at a time, for real time.
func (s shaky) WithCluster(exchange func(balancer.Cluster)) {
	s.exchange.Lock()
	defer s.exchange.Unlock()
	exchange(s)
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
func (s shaky) rested(t *testing.T) {
	t.Helper()
	for where, left := range s.left {
		if left > 0 {
			t.Errorf("%s has not panicked %d times", where, left)
		}
	}
	if len(s.moves) < 4 {
		t.Errorf("%d moves, want 4", len(s.moves))
	}
}
