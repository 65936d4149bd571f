package store

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The clock of these tests is what a thread has computed: others that use the
// machine don't count.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// Whatever computes ends soon after its context, wherever that is.
func TestEverythingEndsWithItsContext(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	s := sizeFor(t, 100_000)
	collectNoGarbage(t)
	for _, use := range everyUse() {
		t.Run(use.of, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			run := use.task(t, s)
			var late time.Duration
			for range 8 { // some other work of the runtime may come in between
				ctx := &timedContext{Context: t.Context(), t: t, at: cpuTime(t) + 5*time.Millisecond}
				if err := run(ctx); err != nil && !errors.Is(err, errTimed) {
					t.Fatal(err)
				}
				if late = cpuTime(t) - ctx.at; late <= endsWithin {
					return
				}
			}
			t.Errorf("ended %v after its context", late)
		})
	}
}

// collectNoGarbage keeps the collector, whose work a thread that allocates has a share
// of, from the rest of a test: it comes only when there is a lot more to collect.
func collectNoGarbage(t *testing.T) {
	const more = 1 << 30
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	limit := debug.SetMemoryLimit(int64(now.Sys) + more)
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
}

// timedContext ends at a time of the thread's clock.
type timedContext struct {
	context.Context
	t  *testing.T
	at time.Duration
}

var errTimed = errors.New("this is the cause")

func (c *timedContext) Err() error {
	if cpuTime(c.t) >= c.at {
		return errTimed
	}
	return nil
}
