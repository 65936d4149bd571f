package mock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"shardsh/balancer/mock"
)

func TestVirtualTimeWithAPaceGoesByOnItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		c, err := mock.New(mock.Config{Start: start, ClockSpeed: 60})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if passed := c.Clock().Now().Sub(start).Round(time.Second); passed != 10*time.Minute {
			t.Errorf("ten seconds were %v, want ten minutes", passed)
		}
		if rounds := c.Balancer().Status().Rounds; rounds < 55 {
			t.Errorf("%d rounds in ten minutes, want one every ten seconds", rounds)
		}
	})
}

// A command that comes while nothing happens sees the time it is, and what it
// makes happen does so in time.
func TestPaceWithoutTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		c, err := mock.New(mock.Config{Start: start, ClockSpeed: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m := newModelOn(c)
		time.Sleep(1234 * time.Millisecond)
		if passed := c.Clock().Now().Sub(start).Truncate(time.Millisecond); passed != 2468*time.Millisecond {
			t.Errorf("after 1.234 s %v have passed, want twice as much", passed)
		}
		m.run("admin", d("shardCollection", "db.c", "key", d("k", 1)))
		m.run("db", d("insert", "c", "documents", []any{d("_id", 1, "k", 1)}))
		if _, ok := m.run("admin", d("moveRange", "db.c", "toShard", "shard1", "min", d("k", 1))); !ok {
			t.Fatal("not moved")
		}
		time.Sleep(451 * time.Second) // the orphan of the migration is deleted after 900
		synctest.Wait()
		if n := c.Statistics().RangeDeletionCount("shard0") + c.Statistics().RangeDeletionCount("shard1") + c.Statistics().RangeDeletionCount("shard2"); n != 0 {
			t.Errorf("%d range deletions are left", n)
		}
	})
}
