package main

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// hurriedClock is a clock on which waiting takes no time.
type hurriedClock struct{ slept atomic.Int64 }

func (c *hurriedClock) Now() time.Time { return time.Now().Add(time.Duration(c.slept.Load())) }

func (c *hurriedClock) Sleep(ctx context.Context, d time.Duration) error {
	c.slept.Add(int64(d))
	return ctx.Err()
}

// hurried runs the program with a hurriedClock.
func hurried(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return program{args: args, clock: new(hurriedClock)}.run(t)
}

// standingClock is a hurriedClock on which the waits after the first few don't end: a process that has it
// stands where it is to be killed.
type standingClock struct {
	hurriedClock
	left atomic.Int64 // waits that end
}

func (c *standingClock) Sleep(ctx context.Context, d time.Duration) error {
	if c.left.Add(-1) < 0 {
		<-ctx.Done()
	}
	return c.hurriedClock.Sleep(ctx, d)
}

// waitsOfChild is for a process of this binary that is the program: how many of its waits end.
const waitsOfChild = "SHARDSH_TEST_WAITS"

// runStanding is the program with a standingClock.
func runStanding(waits int) {
	clock := new(standingClock)
	clock.left.Store(int64(waits))
	env := environment{
		args: os.Args[1:], streams: streams{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, getenv: os.LookupEnv,
		process: process{exit: os.Exit, clock: clock},
	}
	os.Exit(env.main())
}
