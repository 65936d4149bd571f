package pace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// wall is the clock of a bubble of synctest, whose time goes on when all wait.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func (wall) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// bubbled runs a test in which time goes on by itself.
func bubbled(t *testing.T, test func(t *testing.T)) { synctest.Test(t, test) }

func move(from, to catalog.ShardID, bytes int64) Move {
	return Move{Namespace: "db.c", From: from, To: to, Bytes: bytes}
}

func mustEnter(t *testing.T, g *Gate, m Move) (waited time.Duration) {
	t.Helper()
	began := time.Now()
	if err := g.Enter(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

func refused(t *testing.T, g *Gate, m Move, want string) {
	t.Helper()
	err := g.Enter(t.Context(), m)
	if !errors.As(err, new(*RunOverError)) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

var (
	errBusy   = mongoerr.New(mongoerr.ConflictingOperationInProgress, "busy")
	errRaced  = mongoerr.New(mongoerr.StaleConfig, "stale")
	errDenied = mongoerr.New(mongoerr.Unauthorized, "not allowed")
	errClash  = mongoerr.New(mongoerr.DuplicateKey, "twice")
	errTooBig = mongoerr.New(mongoerr.ChunkTooBig, "too big")
	errBroken = errors.New("EOF")
)

func TestLimits(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		g := NewGate(Rules{MaxMoves: 2}, wall{})
		a := move("a", "b", 10)
		mustEnter(t, g, a)
		mustEnter(t, g, a)
		refused(t, g, a, "the limit of 2 moves is reached")
		mustEnter(t, g, Move{From: "a", MovesNothing: true}) // a merge is not a move
		g.Leave(a, ErrNotBegun)                              // as if it had not entered
		mustEnter(t, g, a)
		refused(t, g, a, "2 moves")
		g.Leave(a, errClash) // for certain it has not moved
		mustEnter(t, g, a)
		g.Leave(a, errBroken) // it may have moved
		refused(t, g, a, "2 moves")
		g.Leave(a, nil)
		if got := g.Moved(); got != (MovedAmount{1, 10}) {
			t.Errorf("%+v", got)
		}

		g = NewGate(Rules{MaxBytes: 25}, wall{})
		mustEnter(t, g, a)
		mustEnter(t, g, a)
		refused(t, g, a, "the limit of 25 B is reached")
		mustEnter(t, g, move("a", "b", 5))

		g = NewGate(Rules{MaxTime: time.Minute}, wall{})
		mustEnter(t, g, a)
		time.Sleep(time.Minute)
		refused(t, g, a, "the limit of 1m is reached")
	})
}

// A move waits for range deletions that make room for it, which from 8.2 on begin an hour after the
// move that left them.
func TestRoomAfterDeletions(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		deleted := time.Now().Add(time.Hour + 5*time.Minute)
		volumes := func(context.Context, Move) (VolumeRoom, error) {
			if time.Now().Before(deleted) {
				return VolumeRoom{OrphanDocs: 10, Shortfall: func(bytes int64) int64 { return bytes }}, nil
			}
			return VolumeRoom{Shortfall: func(int64) int64 { return 0 }}, nil
		}
		g := NewGate(Rules{DiskLimit: 0.9}, wall{}, WithRoomReader(volumes))
		if waited := mustEnter(t, g, move("a", "b", 10)); waited < time.Hour {
			t.Errorf("waited %v", waited)
		}
	})
}

// The deletion of orphans makes room on a volume, but does not tell its size.
func TestUnknownVolume(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		lacks := int64(math.MaxInt64)
		g := NewGate(Rules{DiskLimit: 0.9}, wall{}, WithRoomReader(func(context.Context, Move) (VolumeRoom, error) {
			return VolumeRoom{Shortfall: func(int64) int64 { return lacks }, OrphanDocs: 3}, nil
		}))
		began := time.Now()
		refused(t, g, move("a", "b", 1), "the size of the volume of shard b is not known")
		if waited := time.Since(began); waited > 0 {
			t.Errorf("waited %s", waited)
		}
		lacks = 1
		refused(t, g, move("a", "b", 1), "the disk limit of 90% is reached")
		if waited := time.Since(began); waited < time.Hour {
			t.Errorf("waited only %s for the orphans", waited)
		}
	})
}

func TestPause(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		g := NewGate(Rules{PauseBetween: time.Minute}, wall{})
		a := move("a", "b", 1)
		if waited := mustEnter(t, g, a); waited != 0 {
			t.Errorf("the first one waited %s", waited)
		}
		if waited := mustEnter(t, g, move("c", "d", 1)); waited != time.Minute {
			t.Errorf("one beside it waited %s", waited)
		}
		time.Sleep(time.Hour)
		g.Leave(a, nil)
		if waited := mustEnter(t, g, a); waited != time.Minute {
			t.Errorf("one after its end waited %s", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Enter(ctx, a); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// The wait of a pair of shards doubles with its failures in a row, and that of all
// moves one step behind it; a success ends both.
func TestBackOff(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var told []string
		g := NewGate(Rules{MaxFailures: 100}, wall{}, WithEvents(func(e Event) { told = append(told, e.Text) }))
		a, b := move("a", "b", 1), move("c", "d", 1)
		fails := func(m Move, err error) time.Duration {
			waited := mustEnter(t, g, m)
			g.Leave(m, err)
			return waited
		}
		var got []time.Duration
		for range 12 {
			got = append(got, fails(a, errBusy)/time.Second)
		}
		if want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if waited := fails(b, nil); waited != 5*time.Minute {
			t.Errorf("others waited %s", waited)
		}
		if waited := fails(b, errBusy); waited != 0 {
			t.Errorf("after a success it waited %s", waited)
		}
		if waited := fails(a, nil); waited != 0 { // its own wait is over by now, and that of all ended
			t.Errorf("the first pair waited %s", waited)
		}
		if waited := fails(b, nil); waited != time.Second {
			t.Errorf("the other pair waited %s", waited)
		}
		if waited := fails(a, errRaced) + fails(a, errRaced); waited != 0 {
			t.Errorf("a race waited %s", waited)
		}
		if waited := fails(a, nil); waited != time.Second {
			t.Errorf("two races waited %s", waited)
		}
		if len(told) == 0 || told[0] != "waiting 16s after 5 failures in a row: busy" || told[1] != "continuing after 16s" {
			t.Errorf("told %q", told)
		}
		if s := g.Stats(); s.Waited[WaitFailures] < 20*time.Minute || s.Moves != 4 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAsks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		times int
		want  string
	}{
		{"what never passes", errDenied, 1, "not allowed. The user lacks privileges. Grant the role"},
		{"what passes, never", errBusy, 10, "stopped after 10 failures in a row, the last one: busy. A shard takes part"},
		{"ranges that can't move", errClash, 10, "stopped after 10 failures in a row"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				g := NewGate(Rules{}, wall{})
				for range tt.times {
					m := move("a", "b", 1)
					mustEnter(t, g, m)
					g.Leave(m, tt.err)
				}
				err := g.Enter(t.Context(), move("c", "d", 1))
				if !errors.As(err, new(*OperatorNeededError)) || !errors.Is(err, tt.err) || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
	bubbled(t, func(t *testing.T) {
		g := NewGate(Rules{}, wall{})
		for range 100 { // what is too big is split, or left alone
			mustEnter(t, g, move("a", "b", 1))
			g.Leave(move("a", "b", 1), errTooBig)
		}
		mustEnter(t, g, move("a", "b", 1))
	})
}

// Whatever the rules and the failures, there is never more than the limits allow,
// nothing begins in a shut window or within the pause, and every Enter ends.
func TestGateKeepsItsRules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := Rules{
			MaxMoves: rapid.IntRange(0, 8).Draw(rt, "moves"), MaxBytes: rapid.Int64Range(0, 40).Draw(rt, "bytes"),
			MaxTime:      time.Duration(rapid.IntRange(0, 40).Draw(rt, "hours")) * time.Hour,
			PauseBetween: time.Duration(rapid.IntRange(0, 90).Draw(rt, "pause")) * time.Second,
		}
		if rapid.Bool().Draw(rt, "window") {
			r.Window = &Window{Location: time.UTC, timeZoneName: "UTC"}
			r.Window.Start = catalog.TimeOfDay(rapid.IntRange(0, 1439).Draw(rt, "start"))
			r.Window.Stop = (r.Window.Start + catalog.TimeOfDay(rapid.IntRange(1, 1439).Draw(rt, "length"))) % 1440
		}
		errs := rapid.SliceOfN(rapid.SampledFrom([]error{nil, nil, nil, errBusy, errRaced, errClash, errBroken, errTooBig}), 1, 20).
			Draw(rt, "failures")
		workers := rapid.IntRange(1, 4).Draw(rt, "at once")
		var wrong []string
		bubbled(t, func(*testing.T) { wrong = crowd{r, errs, workers}.run() })
		if len(wrong) > 0 {
			rt.Fatalf("%+v: %q", r, wrong)
		}
	})
}

// crowd are some who move until the Gate lets none in any more.
type crowd struct {
	r       Rules
	errs    []error
	workers int
}

// run returns which rules were broken.
func (c crowd) run() (wrong []string) {
	g := NewGate(c.r, wall{})
	began := time.Now()
	var mu sync.Mutex
	var entered []time.Time
	check := func(broken bool, format string, args ...any) {
		if broken {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	var running sync.WaitGroup
	for w := range c.workers {
		running.Go(func() {
			m := Move{From: catalog.ShardID(rune('a' + w)), To: "x", Bytes: int64(3 + w)}
			for i := range 30 {
				err := g.Enter(context.Background(), m)
				now := time.Now()
				mu.Lock()
				if err != nil {
					check(!errors.As(err, new(*RunOverError)) && !errors.As(err, new(*OperatorNeededError)), "it ended with %v", err)
					mu.Unlock()
					return
				}
				check(c.r.Window != nil && !c.r.Window.Contains(now.UTC()), "a move began at %s, outside of the window", now)
				check(c.r.MaxTime > 0 && now.Sub(began) >= c.r.MaxTime, "a move began after %s", now.Sub(began))
				entered = append(entered, now)
				mu.Unlock()
				time.Sleep(time.Duration(1+w) * 7 * time.Minute)
				g.Leave(m, c.errs[(i+w)%len(c.errs)])
			}
		})
	}
	running.Wait()
	for i, at := range append(entered[:len(entered):len(entered)], time.Now()) {
		apart := at.Sub(append([]time.Time{began}, entered...)[i])
		check(i > 0 && i < len(entered) && apart < c.r.PauseBetween, "a move began %s after another", apart)
		check(apart > 25*time.Hour, "nothing began for %s", apart)
	}
	done := g.Moved()
	check(c.r.MaxMoves > 0 && done.Moves > c.r.MaxMoves || c.r.MaxBytes > 0 && done.Bytes > c.r.MaxBytes, "%+v moved", done)
	return wrong
}

// A move that was claimed while the run was interrupted has begun: otherwise nobody would give it back.
func TestInterruptedClaim(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &endingClock{end: cancel}
	c.gate = NewGate(Rules{}, c)
	if err := c.gate.Enter(ctx, move("a", "b", 10)); err != nil || ctx.Err() == nil {
		t.Errorf("%v, interrupted: %v", err, ctx.Err())
	}
}

// endingClock interrupts a run while a move is claimed.
type endingClock struct {
	wall
	gate *Gate
	end  func()
}

func (c *endingClock) Now() time.Time {
	if c.gate != nil && c.gate.claimed.Moves > 0 {
		c.end()
	}
	return time.Now()
}
