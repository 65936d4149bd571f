package mock_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// tripwire is a log whose reader panics at a line: a way into the middle of
// whatever logs there.
type tripwire struct {
	slog.Handler
	text  string
	times *int
}

func (t tripwire) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, t.text) && *t.times > 0 {
		*t.times--
		panic("boom at " + t.text)
	}
	return t.Handler.Handle(ctx, r)
}

// tripping returns a logger that panics so many times at a line.
func tripping(log *strings.Builder, text string, times *int) *slog.Logger {
	h := slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})
	return slog.New(tripwire{h, text, times})
}

// A panic in a step of what a command waits for is the command's failure, and
// nobody else's: the lock is free, shards are not busy, and the same can be done
// again.
func TestAPanicInAStepIsTheFailureOfItsCommand(t *testing.T) {
	commands := map[string]bson.D{
		"moveRange":         d("moveRange", ns, "min", d("a", 0), "max", d("a", 20), "toShard", "shard2"),
		"reshardCollection": d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 3),
		"moveCollection":    d("moveCollection", "db.plain", "toShard", "shard2"),
		"unshardCollection": d("unshardCollection", ns, "toShard", "shard2"),
	}
	for name, command := range commands {
		for _, ms := range []int{0, 30, 60, 120, 160, 200, 260} {
			t.Run(name, func(t *testing.T) {
				var log strings.Builder
				m := orders(t, func(cfg *mock.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				m.ok(t, "admin", d("balancerStop", 1))
				m.cluster.Lock()
				m.cluster.Event(time.Duration(ms)*time.Millisecond, m.cluster.CrashUnderWay)
				m.cluster.Unlock()
				reply, ok := m.run("admin", command)
				if code, _ := reply.Lookup("code").AsInt64OK(); !ok && code != 1 {
					t.Errorf("after %dms it answers %s, want code 1", ms, reply)
				}
				if !ok && !strings.Contains(log.String(), "export_test.go") {
					t.Errorf("the log does not say where: %s", log.String())
				}
				m.holdsAll(t, 122)
				m.sleep(10 * time.Second) // the donor recovers
				m.ok(t, "admin", command)
				m.sleep(2 * time.Hour)
				m.holdsAll(t, 122)
			})
		}
	}
}

// A migration that panics just after the config server has committed it is
// committed: its recovery finds out.
func TestAPanicAfterTheCommit(t *testing.T) {
	var log strings.Builder
	times := 0
	m := orders(t, func(cfg *mock.Config) { cfg.Logger = tripping(&log, "migration committed", &times) })
	m.ok(t, "admin", d("balancerStop", 1))
	for _, to := range []string{"shard2", "shard1", "shard0"} {
		times = 1
		m.run("admin", d("moveRange", ns, "min", d("a", 0), "max", d("a", 20), "toShard", to))
		if times != 0 {
			t.Fatal("nothing has panicked")
		}
		m.holdsAll(t, 122)
		m.sleep(2 * time.Hour)
		m.holdsAll(t, 122)
		if n := m.count(t, "chunks", d("min", d("a", 0), "shard", to)); n != 1 {
			t.Errorf("the range is not on %s", to)
		}
	}
}

// The balancer survives what panics in its rounds, in the events of a cluster on
// virtual time and in the goroutines of one on real time.
func TestTheBalancerSurvivesPanics(t *testing.T) {
	for name, realTime := range map[string]bool{"virtual time": false, "real time": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				times := 5
				c, err := mock.New(mock.Config{RealTime: realTime, Topology: mock.DefaultTopology(3),
					Logger: tripping(&log, "the balancer sends a command", &times)})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				m := newModelOn(c)
				m.ok(t, "config", d("update", "settings", "updates", bson.A{d("q", d("_id", "chunksize"), "u",
					d("$set", d("value", 1)), "upsert", true)}))
				m.ok(t, "admin", d("shardCollection", ns, "key", d("k", 1)))
				for k := range 100 {
					m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", k, "k", k, "pad", make([]byte, 100_000))}))
				}
				c.Lock()
				c.Event(0, func() { panic("an event of nobody's") })
				c.Unlock()
				m.sleep(time.Hour)
				synctest.Wait()
				if n := m.count(t, "changelog", d("what", "moveChunk.commit")); n == 0 {
					t.Error("the balancer has moved nothing")
				}
				if n := strings.Count(log.String(), "the program has panicked"); n != 6 {
					t.Errorf("the log tells of %d panics, want 6", n)
				}
				c.Lock()
				defer c.Unlock()
				if err := c.CheckInvariants(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What is done again and again is done again after a panic.
func TestWhatIsPeriodicSurvivesPanics(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	calls := []int{}
	m.cluster.Lock()
	m.cluster.Every(time.Second, func() bool {
		calls = append(calls, len(calls))
		if len(calls) == 2 {
			panic("boom")
		}
		return len(calls) < 4
	})
	m.cluster.Unlock()
	m.sleep(time.Minute)
	if !slices.Equal(calls, []int{0, 1, 2, 3}) {
		t.Errorf("it was called %v", calls)
	}
}
