package balancer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/policy"
)

// timedCluster lets migrations take real time, as Run's goroutines see it.
type timedCluster struct {
	*fakeCluster
	mu sync.Mutex
}

func (c *timedCluster) Move(ctx context.Context, m policy.Migration) error {
	select {
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moves = append(c.moves, m)
	c.move(m)
	return nil
}

func (c *timedCluster) Act(_ context.Context, a policy.StreamAction) policy.StreamActionResult {
	return policy.StreamActionResult{Err: fmt.Errorf("nobody asked for the action %s", a.Kind)}
}

// With lets one exchange in at a time.
func (c *timedCluster) WithCluster(exchange func(balancer.Cluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	exchange(c.fakeCluster)
}

func TestRunOnRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &timedCluster{fakeCluster: newFake("a", "b", "c")}
		c.add(t, "db.c", 1000, 0, 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		loop := balancer.NewLoop(balancer.Config{Location: time.UTC})
		go func() {
			balancer.Run(ctx, loop, c)
			close(done)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(c.moves) != 4 {
			t.Errorf("%d moves in a minute, want 4", len(c.moves))
		}
		cancel()
		<-done
	})
}

// endedCluster ends its engine in the first exchange, and counts those that come after it.
type endedCluster struct {
	*timedCluster
	end   context.CancelFunc
	after int
}

func (c *endedCluster) WithCluster(exchange func(balancer.Cluster)) {
	c.timedCluster.WithCluster(func(b balancer.Cluster) {
		if c.end == nil {
			c.after++
		} else {
			c.end()
			c.end = nil
		}
		exchange(b)
	})
}

// An engine that is to end begins no other round: that of the next term may be at work.
func TestRunEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &endedCluster{timedCluster: &timedCluster{fakeCluster: newFake("a", "b", "c")}, end: cancel}
		c.add(t, "db.c", 1000, 0, 0)
		loop := balancer.NewLoop(balancer.Config{Location: time.UTC})
		balancer.Run(ctx, loop, c)
		if c.after > 1 { // that of the streams
			t.Errorf("%d exchanges after the end", c.after)
		}
		if len(c.moves) > 0 {
			t.Errorf("%d moves after the end", len(c.moves))
		}
	})
}

func TestQueueRunsEventsInOrder(t *testing.T) {
	q := balancer.NewQueue(start)
	var got []int
	add := func(d time.Duration, n int) *balancer.Event { return q.After(d, func() { got = append(got, n) }) }
	add(2*time.Second, 3)
	add(time.Second, 1)
	add(time.Second, 2)
	add(time.Second, 9).Cancel()
	q.After(0, func() { add(3*time.Second, 4) })
	q.Advance(start.Add(2 * time.Second))
	if want := []int{1, 2, 3}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("ran %v, want %v", got, want)
	}
	if due, ok := q.NextDue(); !ok || !due.Equal(start.Add(3*time.Second)) {
		t.Errorf("next event at %v", due)
	}
	if !q.RunNext() || q.RunNext() {
		t.Error("one event should have been left")
	}
	if !q.Now().Equal(start.Add(3 * time.Second)) {
		t.Errorf("time is %v", q.Now())
	}
}
